"""A model that answers from a queue and remembers what it was asked."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable

from fisk_ai.errors import ProviderError
from fisk_ai.llm.model import Block, Delta, Request, Response, TextBlock, ThinkingBlock, Usage
from fisk_ai.llm.provider import Capabilities, DeltaSink

ANTHROPIC_LIKE = Capabilities(
    provider="anthropic",
    semconv_provider="anthropic",
    supports_tool_search=True,
    supports_streaming=True,
)


class ScriptedProvider:
    """Answers with the queued responses, in order, and raises the queued errors.

    ``requests`` holds a deep copy of every request, also of the one that found the queue empty.
    With a delta sink, each text and thinking block is sent as one fragment before the response.
    """

    def __init__(
        self,
        answers: Iterable[Response | Exception] = (),
        *,
        capabilities: Capabilities = ANTHROPIC_LIKE,
    ) -> None:
        """Queue ``answers``; more can be added with ``queue``."""
        self._answers = deque(answers)
        self._capabilities = capabilities
        self.requests: list[Request] = []
        self.is_closed = False

    def queue(self, *answers: Response | Exception) -> None:
        """Add answers behind those still waiting."""
        self._answers.extend(answers)

    def capabilities(self) -> Capabilities:
        """Say what the test wants this model to be able to do."""
        return self._capabilities

    async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
        """Give the next answer.

        Raises:
            ProviderError: the queue is empty; or whatever error was queued.
        """
        self.requests.append(copy.deepcopy(request))
        if not self._answers:
            raise ProviderError(f"the test model was asked {len(self.requests)} times: queue empty")
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        if on_delta is not None:
            await _stream(answer, on_delta)
        return answer

    async def close(self) -> None:
        """Remember that the provider was closed."""
        self.is_closed = True


def reply(
    *content: Block | str, stop_reason: str = "end_turn", usage: Usage | None = None
) -> Response:
    """Return a response; plain strings become text blocks."""
    blocks = tuple(TextBlock(item) if isinstance(item, str) else item for item in content)
    return Response(
        content=blocks,
        stop_reason=stop_reason,
        usage=usage or Usage(input=10, output=5),
        id="msg_test",
        model="test-model",
    )


async def _stream(answer: Response, on_delta: DeltaSink) -> None:
    for index, block in enumerate(answer.content):
        if isinstance(block, TextBlock):
            await on_delta(Delta(index, "text", block.text, final=True))
        elif isinstance(block, ThinkingBlock):
            await on_delta(Delta(index, "thinking", block.text, final=True))
