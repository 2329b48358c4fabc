"""What a run is given for each kind of request."""

from __future__ import annotations

from dataclasses import replace

from msgspec import UNSET, UnsetType

from agent_worker.channels.task import Task, is_follow_up
from fisk_ai.a2a import messages
from fisk_ai.a2a.messages import Answer, RequestAnswer, RequestPrompt, RunRequest
from fisk_ai.agent.options import Budget, Checkpoint, HeldApproval, SuppliedAnswer
from fisk_ai.serving.contract import Caller, Work
from fisk_ai.toolkit.builtin.hitl import late_answer


def work_of(task: Task, token: str, *, human_paced: bool, take_over: bool) -> Work:
    """Return the work of ``task``; ``token`` names its conversation, empty for an operator.

    ``take_over`` goes on with it although its holder is silent.
    """
    request = task.request
    prompt, context = "", ""
    if isinstance(request, RequestPrompt):
        prompt, context = request.prompt, request.context
    return Work(
        id=task.session,
        done=task.done,
        prompt=prompt,
        context=context,
        checkpoint=replace(_checkpoint(request, task.session, token), take_over=take_over),
        claimed_by=request.request,
        suspend_requested=task.stopping,
        budget=budget_of(request.budget),
        caller=Caller(name=request.sender.name),
        events=task.narration,
        prompter=task.asks,
        human_paced=human_paced,
        traceparent=request.traceparent,
    )


def lowered(configured: int, budget: messages.Budget | UnsetType) -> int:
    """Return the token bound of a conversation: the lower of both, 0 when there is none."""
    asked = 0 if budget is UNSET else budget.max_tokens
    bounds = [bound for bound in (configured, asked) if bound > 0]
    return min(bounds, default=0)


def budget_of(budget: messages.Budget | UnsetType) -> Budget:
    """Return the bounds that a request asks for."""
    if budget is UNSET:
        return Budget()
    return Budget(max_tokens=budget.max_tokens, max_iterations=budget.max_iterations)


def _checkpoint(request: RunRequest, session: str, token: str) -> Checkpoint:
    if isinstance(request, RequestPrompt) and not request.conversation_token:
        return Checkpoint(
            resume_id=session,
            create_if_missing=True,
            conversation_token=token,
            request=request.request,
        )
    answer = request.answer if isinstance(request, RequestAnswer) else None
    return Checkpoint(
        resume_id=session,
        follow_up=is_follow_up(request),
        force=request.force,
        request=request.request,
        approval=held_approval(answer) if answer is not None else None,
        answer=supplied_answer(answer) if answer is not None else None,
    )


def held_approval(answer: Answer) -> HeldApproval | None:
    """Return a late approval: it waits for its call to be asked about again."""
    if answer.kind != "approve":
        return None
    choice = "no" if answer.no_operator or answer.choice is UNSET else answer.choice
    return HeldApproval(
        tool_use_id=answer.tool_use_id, choice=choice, args_sha256=answer.args_sha256
    )


def supplied_answer(answer: Answer) -> SuppliedAnswer | None:
    """Return any other late answer: it is the result of its call, as the tool would write it."""
    if answer.kind == "approve":
        return None
    written = late_answer(
        answer.kind,
        confirmed=answer.confirmed,
        value=_value(answer),
        no_operator=answer.no_operator,
    )
    return SuppliedAnswer(
        tool_use_id=answer.tool_use_id, content=written.content, tool_name=written.tool_name
    )


def _value(answer: Answer) -> str | None:
    """Return the text of an answer; senders leave an empty one out, and no option is empty."""
    text = "" if answer.value is UNSET else answer.value
    return text if text or answer.kind == "input" else None
