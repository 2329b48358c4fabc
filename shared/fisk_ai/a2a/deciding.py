"""An operator's answer to a question that is open: checked, and as the reply that settles it.

It names the call, as a late answer does. One that does not fit what is asked changes nothing, so
that the question stays for whoever answers it right. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

from msgspec import UNSET

from fisk_ai.a2a.header import HeaderFields, request_header
from fisk_ai.a2a.messages import (
    Answer,
    AnyAnswer,
    AnyQuestion,
    ElicitReplyApprove,
    ElicitReplyConfirm,
    ElicitReplyInput,
    ElicitReplyNoOperator,
    ElicitReplySelect,
    ElicitRequestApprove,
    ElicitRequestConfirm,
    ElicitRequestSelect,
    OpenQuestion,
    RequestAnswer,
)
from fisk_ai.a2a.requests import Kind
from fisk_ai.errors import ProtocolError
from fisk_ai.text.sanitise import quoted


def kind_of(question: AnyQuestion) -> Kind:
    """Return what kind of answer ``question`` takes."""
    if isinstance(question, ElicitRequestApprove):
        return "approve"
    if isinstance(question, ElicitRequestConfirm):
        return "confirm"
    return "select" if isinstance(question, ElicitRequestSelect) else "input"


def described(question: AnyQuestion) -> OpenQuestion:
    """Return ``question`` as an operator is told of it."""
    approves = isinstance(question, ElicitRequestApprove)
    return OpenQuestion(
        question_id=question.question_id,
        kind=kind_of(question),
        tool_use_id=question.tool_use_id,
        text=question.display if approves else question.question,
        options=question.options if isinstance(question, ElicitRequestSelect) else (),
        args_sha256=question.args_sha256 if approves else "",
    )


def reply_to(question: AnyQuestion, request: RequestAnswer, identity: str) -> AnyAnswer:
    """Return the reply to ``question`` that ``request`` carries.

    Raises:
        ProtocolError: the answer is of another kind, for other arguments, or no option.
    """
    answer, kind = request.answer, kind_of(question)
    if answer.kind != kind:
        raise ProtocolError(
            f"call {quoted(answer.tool_use_id)} is asked about with a question of kind {kind},"
            f" which takes no answer of kind {answer.kind}"
        )
    header = request_header(request.sender, identity)
    name = question.question_id
    if isinstance(question, ElicitRequestApprove):
        require_arguments(answer, question.args_sha256)
        choice = "no" if answer.no_operator or answer.choice is UNSET else answer.choice
        return ElicitReplyApprove(**header, question_id=name, choice=choice)
    if answer.no_operator:
        return ElicitReplyNoOperator(**header, question_id=name)
    if isinstance(question, ElicitRequestConfirm):
        return ElicitReplyConfirm(**header, question_id=name, confirmed=answer.confirmed)
    value = "" if answer.value is UNSET else answer.value
    if isinstance(question, ElicitRequestSelect):
        return _selected(question, value, header)
    return ElicitReplyInput(**header, question_id=name, value=value)


def require_arguments(answer: Answer, args_sha256: str) -> None:
    """Refuse an approval that was given for other arguments.

    Raises:
        ProtocolError: it was.
    """
    if answer.args_sha256 not in ("", args_sha256):
        raise ProtocolError(
            f"the arguments of call {quoted(answer.tool_use_id)} are not those that the answer was"
            " given for; look at the call again"
        )


def _selected(question: ElicitRequestSelect, value: str, header: HeaderFields) -> ElicitReplySelect:
    if value not in question.options:
        raise ProtocolError(f"call {quoted(question.tool_use_id)} offers no option of that text")
    index = question.options.index(value)
    return ElicitReplySelect(**header, question_id=question.question_id, index=index)
