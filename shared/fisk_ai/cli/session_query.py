"""``fisk-ai session query``: the calls of a session that fit every filter."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass

from fisk_ai.cli.session_calls import Call, calls_of
from fisk_ai.cli.session_document import deferral
from fisk_ai.cli.session_flags import number_of, parser_of, with_store
from fisk_ai.cli.session_json import machine_text, present
from fisk_ai.cli.session_patterns import Match, match_of
from fisk_ai.cli.session_reading import read_named
from fisk_ai.cli.session_table import label
from fisk_ai.errors import UsageError
from fisk_ai.llm import blocks
from fisk_ai.render.tables import Document
from fisk_ai.text import gojson
from fisk_ai.text.gojson import RawJSON
from fisk_ai.text.sanitise import for_display


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filter:
    tools: frozenset[str]
    iteration: int
    errors: bool
    input_match: Match | None
    output_match: Match | None

    def keeps(self, call: Call) -> bool:
        return (
            (not self.tools or call.use.name in self.tools)
            and self.iteration in (-1, call.iteration)
            and (not self.errors or call.status == "error")
            and (self.input_match is None or self.input_match(_input_text(call)))
            and self._output_fits(call)
        )

    def _output_fits(self, call: Call) -> bool:
        if self.output_match is None:
            return True
        return call.answer is not None and self.output_match(call.answer.result.content)


def query(argv: Sequence[str]) -> int:
    """Print the calls that the arguments ask for."""
    arguments = _parser().parse_args(argv)
    if arguments.calls_only and arguments.results_only:
        raise UsageError(
            "--calls-only and --results-only exclude each other; pass one of them",
            key="--results-only",
        )
    wanted = _filter(arguments)
    session = with_store(arguments, lambda store: read_named(store, arguments.id))
    found = [call for call in calls_of(session.records) if wanted.keeps(call)]
    if arguments.json:
        calls = [_members(call, arguments) for call in found]
        print(machine_text({"run_id": session.run_id, "calls": calls}))
    elif found:
        pages = (_page(number, call, arguments) for number, call in enumerate(found, start=1))
        print("\n\n".join(pages))
    else:
        print("No matching calls")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("query", "Find calls in a session; filters are combined.")
    parser.add_argument("id", help="the session's id, or its conversation's token")
    parser.value("--tool", "NAME", "calls of this tool; may be repeated", repeatable=True)
    parser.value("--iteration", "N", "calls of this iteration, counted from 0")
    parser.switch("--errors", "calls that ended in an error")
    parser.value("--input-match", "RE", "calls whose arguments match")
    parser.value("--output-match", "RE", "calls whose answer matches")
    parser.switch("--calls-only", "leave out the answers")
    parser.switch("--results-only", "leave out the arguments")
    parser.switch("--json", "print JSON for other programs")
    return parser


def _filter(arguments: argparse.Namespace) -> _Filter:
    return _Filter(
        tools=frozenset(arguments.tool or ()),
        iteration=number_of(arguments.iteration, "--iteration", least=0, default=-1),
        errors=bool(arguments.errors),
        input_match=match_of(arguments.input_match, "--input-match"),
        output_match=match_of(arguments.output_match, "--output-match"),
    )


def _input_text(call: Call) -> str:
    return call.use.input.decode(errors="replace")


def _members(call: Call, arguments: argparse.Namespace) -> dict[str, object]:
    answer = call.answer if not arguments.calls_only else None
    return present(
        iteration=call.iteration,
        tool_use_id=call.use.id,
        tool=call.use.name,
        input=None if arguments.results_only else RawJSON(call.use.input),
        time=call.time,
        answer=blocks.tool_result_to_json(answer.result) if answer is not None else None,
        answer_time=call.answer_time if answer is not None else "",
        deferred=call.deferred is not None,
    )


def _page(number: int, call: Call, arguments: argparse.Namespace) -> str:
    page = Document(f"Call {number}")
    page.item("Tool", label(call.use.name))
    page.item("Call ID", label(call.use.id))
    page.item("Iteration", str(call.iteration))
    page.item("Status", call.status)
    if call.deferred is not None:
        page.item("Deferred", f"yes{deferral(call.deferred)}")
    if not arguments.results_only:
        page.section("Input", _block(_input_text(call)))
    if call.answer is not None and not arguments.calls_only:
        page.section("Answer", _block(call.answer.result.content))
    return page.text()


def _block(text: str) -> list[str]:
    """Return a text in lines, indented where it is JSON."""
    return for_display(_indented(text)).rstrip("\n").split("\n") if text else ["(empty)"]


def _indented(text: str) -> str:
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.dumps(gojson.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
