"""What the guard does to prompts and tool output, in each mode."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fisk_ai.agent.hooks import Hooks, PostToolUse, PromptVerdict, Replacement, UserPrompt
from fisk_ai.agent.pii import guard as module
from fisk_ai.agent.pii.guard import guarded
from fisk_ai.agent.pii.scanner import TEXT_LIMIT_BYTES, build
from fisk_ai.toolkit.contract import Advisory

Guard = Callable[..., Any]
MAIL = "a@example.com"
BOTH = f"{MAIL} +442071838750"


async def test_a_clean_prompt_and_a_clean_output_pass_as_they_are(guard: Guard) -> None:
    run = guard()
    assert await run.prompt("hello") is None
    assert await run.result("fine") is None
    assert run.advisories == []


async def test_redact_rewrites_a_prompt(guard: Guard) -> None:
    run = guard()
    verdict = await run.prompt(f"mail {MAIL}")
    assert verdict == PromptVerdict(rewrite="mail [EMAIL-REDACTED]")
    assert run.advisories == [
        Advisory(kind="pii_redacted", name="the prompt", count=1, params=("EMAIL",))
    ]


async def test_the_context_beside_a_prompt_is_scanned_as_well(guard: Guard) -> None:
    assert await guard().prompt(MAIL, context=True) == PromptVerdict(rewrite="[EMAIL-REDACTED]")
    verdict = await guard("reject").prompt(MAIL, context=True)
    assert verdict is not None
    assert verdict.deny


@pytest.mark.parametrize("is_error", [True, False])
async def test_redact_replaces_output_and_keeps_its_error_mark(
    guard: Guard, *, is_error: bool
) -> None:
    run = guard()
    replaced = await run.result(f"found {MAIL}", is_error=is_error)
    assert replaced == Replacement(output="found [EMAIL-REDACTED]", is_error=is_error)
    assert run.advisories == [
        Advisory(kind="pii_redacted", name="show", count=1, params=("EMAIL",))
    ]


async def test_reject_refuses_a_prompt_and_names_the_types_alone(guard: Guard) -> None:
    run = guard("reject")
    verdict = await run.prompt(BOTH)
    assert verdict is not None
    assert verdict.deny
    assert "(EMAIL, PHONE)" in verdict.reason
    assert "harness.pii.mode is reject" in verdict.reason
    assert MAIL not in verdict.reason
    assert run.advisories == [
        Advisory(kind="pii_withheld", name="the prompt", count=2, params=("EMAIL", "PHONE"))
    ]


async def test_reject_withholds_output_and_marks_it_as_an_error(guard: Guard) -> None:
    replaced = await guard("reject").result(BOTH)
    assert replaced is not None
    assert replaced.is_error
    assert "withheld" in replaced.output
    assert "(EMAIL, PHONE)" in replaced.output
    assert "reject" in replaced.output
    assert MAIL not in replaced.output


@pytest.mark.parametrize("mode", ["redact", "reject"])
async def test_what_cannot_be_scanned_is_withheld_and_its_cause_is_for_people(
    guard: Guard, mode: str
) -> None:
    run = guard(mode)
    large = "x" * (TEXT_LIMIT_BYTES + 1)
    verdict = await run.prompt(large)
    assert verdict == PromptVerdict(deny=True, reason=module.UNSCANNED_PROMPT)
    replaced = await run.result(large)
    assert replaced == Replacement(output=module.UNSCANNED_RESULT, is_error=True)
    assert "bytes" not in module.UNSCANNED_PROMPT + module.UNSCANNED_RESULT
    (advisory,) = run.advisories
    assert (advisory.kind, advisory.name, advisory.count) == ("pii_withheld", "the prompt", 0)
    assert str(TEXT_LIMIT_BYTES) in advisory.error


async def test_a_closed_scanner_withholds(guard: Guard) -> None:
    run = guard()
    run.scanner.close()
    assert (await run.result("fine")) == Replacement(output=module.UNSCANNED_RESULT, is_error=True)


async def test_an_empty_text_is_not_scanned(guard: Guard) -> None:
    run = guard()
    assert await run.prompt("") is None
    assert await run.result("") is None
    assert run.scanner.texts == []


async def test_off_leaves_the_hooks_alone() -> None:
    async def warn(advisory: Advisory) -> None:
        raise AssertionError(advisory)

    hooks = Hooks()
    assert guarded(hooks, "off", build(), warn) is hooks


async def test_other_hooks_stay() -> None:
    async def turn_end(_: object) -> None:
        return

    async def warn(_: Advisory) -> None:
        return

    assert guarded(Hooks(turn_end=turn_end), "redact", build(), warn).turn_end is turn_end


async def test_the_caller_sees_the_text_first_and_its_rewrite_is_scanned(guard: Guard) -> None:
    seen: list[str] = []

    async def rewrite(event: UserPrompt) -> PromptVerdict:
        seen.append(event.text)
        return PromptVerdict(rewrite="ask +442071838750")

    run = guard(hooks=Hooks(user_prompt_submit=rewrite))
    verdict = await run.prompt(MAIL)
    assert seen == [MAIL]
    assert run.scanner.texts == ["ask +442071838750"]
    assert verdict == PromptVerdict(rewrite="ask [PHONE-REDACTED]")


async def test_a_clean_rewrite_of_the_caller_stands(guard: Guard) -> None:
    async def rewrite(_: UserPrompt) -> PromptVerdict:
        return PromptVerdict(rewrite="")

    run = guard(hooks=Hooks(user_prompt_submit=rewrite))
    assert await run.prompt(MAIL) == PromptVerdict(rewrite="")
    assert run.advisories == []


async def test_the_callers_refusal_stands_and_nothing_is_scanned(guard: Guard) -> None:
    async def deny(_: UserPrompt) -> PromptVerdict:
        return PromptVerdict(deny=True, reason="not today")

    run = guard(hooks=Hooks(user_prompt_submit=deny))
    assert await run.prompt(MAIL) == PromptVerdict(deny=True, reason="not today")
    assert run.scanner.texts == []


async def test_the_callers_error_stands_and_nothing_is_scanned(guard: Guard) -> None:
    async def fail(_: object) -> None:
        raise ValueError("mine")

    run = guard(hooks=Hooks(user_prompt_submit=fail, post_tool_use=fail))
    with pytest.raises(ValueError, match="mine"):
        await run.prompt(MAIL)
    with pytest.raises(ValueError, match="mine"):
        await run.result(MAIL)
    assert run.scanner.texts == []


async def test_the_callers_replacement_of_output_is_scanned(guard: Guard) -> None:
    async def replace(event: PostToolUse) -> Replacement:
        return Replacement(output=event.output + " +442071838750", is_error=True)

    run = guard(hooks=Hooks(post_tool_use=replace))
    assert await run.result("fine") == Replacement(output="fine [PHONE-REDACTED]", is_error=True)


async def test_a_clean_replacement_of_output_stands(guard: Guard) -> None:
    async def replace(_: PostToolUse) -> Replacement:
        return Replacement(output="", is_error=True)

    run = guard(hooks=Hooks(post_tool_use=replace))
    assert await run.result(MAIL) == Replacement(output="", is_error=True)


async def test_forty_hits_warn_once_and_are_all_logged(
    guard: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    run = guard()
    with caplog.at_level(logging.INFO, logger="fisk_ai.agent.pii"):
        for number in range(40):
            await run.result(BOTH, tool=f"tool{number}")
    assert [advisory.name for advisory in run.advisories] == ["tool0"]
    assert len(caplog.messages) == 40
    assert "tool39" in caplog.messages[-1]
    assert "2 EMAIL, PHONE" in caplog.messages[-1]
    assert MAIL not in caplog.text


async def test_both_kinds_of_withholding_warn_once_together(guard: Guard) -> None:
    run = guard("reject")
    await run.prompt(MAIL)
    await run.result("x" * (TEXT_LIMIT_BYTES + 1))
    assert [advisory.kind for advisory in run.advisories] == ["pii_withheld"]


async def test_a_redaction_and_a_withholding_each_warn(guard: Guard) -> None:
    run = guard()
    await run.result("x" * (TEXT_LIMIT_BYTES + 1))
    await run.prompt(MAIL)
    assert [advisory.kind for advisory in run.advisories] == ["pii_withheld", "pii_redacted"]


async def test_a_large_text_is_scanned_off_the_event_loop(guard: Guard) -> None:
    run = guard()
    await run.result("x" * module.INLINE_LIMIT)
    await run.result("x" * (module.INLINE_LIMIT + 1))
    small, large = run.scanner.threads
    assert small == threading.get_ident()
    assert large != small
