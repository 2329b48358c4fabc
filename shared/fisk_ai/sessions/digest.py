"""What an approval is bound to: the exact call a person saw.

Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import hashlib

from fisk_ai.text.gojson import RawJSON, dumps
from fisk_ai.text.sanitise import clean_surrogates


def args_sha256(tool_name: str, raw_args: bytes) -> str:
    """Return the digest of a tool's effective name and arguments, in lower-case hex.

    White space between the arguments' tokens does not count; their order and spelling do. No
    arguments at all count as ``{}``.
    """
    arguments = dumps(RawJSON(raw_args.strip() or b"{}"))
    return hashlib.sha256(clean_surrogates(tool_name).encode() + b"\0" + arguments).hexdigest()
