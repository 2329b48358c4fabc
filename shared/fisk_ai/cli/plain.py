"""What stands for a character that the encoding of a terminal or a file does not have.

Lines of a table and marks of punctuation have a plain form; anything else becomes ``?``. A result
is never lost for want of a character.
"""

from __future__ import annotations

import codecs
from typing import Final

PLAIN: Final = "fisk-ai.plain"
"""Name of the error handler, for ``errors=`` of a text stream."""

_FORMS = {
    **dict.fromkeys("╭╮╰╯├┤┬┴┼┌┐└┘┏┓┗┛┡┩╇", "+"),
    **dict.fromkeys("─━┄\u2013\u2014", "-"),
    **dict.fromkeys("│┃▌", "|"),
    **dict.fromkeys("\u2018\u2019", "'"),
    **dict.fromkeys("\u201c\u201d", '"'),
    "•": "*",
    "…": "...",
}


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_FORMS.get(char, "?") for char in missing), error.end


codecs.register_error(PLAIN, _replaced)
