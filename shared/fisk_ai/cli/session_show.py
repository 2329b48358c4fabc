"""``fisk-ai session show``: one session at a glance, or the whole conversation in it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fisk_ai.cli.arguments import exported
from fisk_ai.cli.session_advice import Advice
from fisk_ai.cli.session_document import document
from fisk_ai.cli.session_flags import parser_of, with_store
from fisk_ai.cli.session_reading import read_named


def show(argv: Sequence[str]) -> int:
    """Show the session that the arguments name."""
    parser = parser_of("show", "Show one session.")
    parser.add_argument("id", help="the session's id, or its conversation's token")
    parser.switch("--transcript", "show the whole conversation")
    parser.switch("--thinking", "with --transcript: show reasoning")
    parser.switch("--no-tui", "with --transcript: leave out what tools gave back")
    arguments = parser.parse_args(argv)
    session = with_store(arguments, lambda store: read_named(store, arguments.id))
    print(document(session, Advice(session, arguments)))
    if not arguments.transcript:
        return 0
    from fisk_ai.cli.session_transcript import Transcript  # noqa: PLC0415 - seldom asked for

    Transcript(
        show_thinking=arguments.thinking or exported(os.environ, "THINKING"),
        show_results=not (arguments.no_tui or exported(os.environ, "NO_TUI")),
        no_color=bool(os.environ.get("NO_COLOR")),
    ).print(session.state.messages, session.state.pending)
    return 0
