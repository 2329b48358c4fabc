"""What went wrong at the API, in the words and the classes a caller can act on.

The class decides whether a caller waits, asks an operator or starts a new conversation. The text
is the API's own: cleaned, then without the secrets that a server repeats, then cut. In another
order cleaning would join a key that was sent in pieces, and a cut could leave a part of one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from fisk_ai.errors import ProviderError, ProviderFailure
from fisk_ai.llm import fields
from fisk_ai.llm.anthropic.base_url import SETTING
from fisk_ai.llm.model import Request
from fisk_ai.text import rawjson
from fisk_ai.text.duration import go_duration
from fisk_ai.text.sanitise import for_terminal
from fisk_ai.text.scrub import Scrub

TEXT_LIMIT: Final = 1000
"""Code points of a server's own words that an error carries."""

KIND_LIMIT: Final = 60
"""Code points of the name a server gives its error."""

READ_LIMIT: Final = 64 * 1024
"""Longer words are no explanation, and cleaning them would hold up all other runs."""

LONGEST_WAIT_S: Final = 24 * 3600.0
"""Nobody waits for longer; how much longer a server asks for is more likely a mistake of its."""

KEY_SETTING: Final = "--api-key / ANTHROPIC_API_KEY, or --api-key-file / ANTHROPIC_API_KEY_FILE"
BAD_REQUEST: Final = 400
NOT_FOUND: Final = 404
_KEY_STATUSES: Final = (401, 403)

TOO_LONG: Final = "an explanation too long to be shown"
_ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([bfnrt])|([\"\\/]))")
_CONTEXT: Final = re.compile(
    r"prompt is too long|context (?:window|length|limit|size)|exceeds? (?:the )?context"
    r"|input is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)
_ROOM: Final = " (begin a new conversation, or set llm.model to a model with more room)"
_BY_TYPE: Final[dict[str, ProviderFailure]] = {
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "invalid_request_error": "refused",
    "authentication_error": "refused",
    "billing_error": "refused",
    "permission_error": "refused",
    "not_found_error": "refused",
    "timeout_error": "timeout",
}


@dataclass(frozen=True, slots=True)
class ApiFailure:
    """What the API said; ``status`` is 0 for an error inside a stream that began well.

    ``wait_s`` is for how long it asks to be left alone, at most :data:`LONGEST_WAIT_S`.
    """

    status: int
    kind: str = ""
    message: str = ""
    wait_s: float = 0.0


class ApiError(Exception):
    """The API refused a request or broke off a reply; becomes a ``ProviderError``."""

    def __init__(self, failure: ApiFailure) -> None:
        """Keep what the API said."""
        super().__init__(failure.status)
        self.failure = failure


def read_failure(status: int, body: bytes) -> ApiFailure:
    """Read an error body; whatever is no JSON of the known shape is taken as its own text."""
    try:
        error = fields.members(rawjson.members(body), "error")
        kind, message = fields.string(error, "type"), fields.string(error, "message")
    except ValueError:
        return ApiFailure(status, "", _text(body))
    return ApiFailure(status, kind, message if kind or message else _text(body))


def _text(body: bytes) -> str:
    # Escapes are read, so that a key spelled with them is found like any other.
    text = body.decode("utf-8", "replace")
    return _ESCAPED.sub(_unescaped, text)


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else found[3] or " "


def classify(failure: ApiFailure) -> ProviderFailure:
    """Return the class of a failure."""
    if exceeds_context(failure):
        return "context_exceeded"
    if failure.status == 429:
        return "rate_limited"
    if failure.status in (503, 529):
        return "overloaded"
    if 300 <= failure.status < 500:
        return "refused"
    if failure.status < 300:
        return _BY_TYPE.get(failure.kind, "failed")
    return "failed"


def exceeds_context(failure: ApiFailure) -> bool:
    """Say whether the conversation no longer fits the model's window."""
    if failure.status >= 300 and failure.status not in (400, 413):
        return False
    return failure.kind == "request_too_large" or bool(_CONTEXT.search(failure.message))


def to_error(failure: ApiFailure, request: Request, *, scrub: Scrub) -> ProviderError:
    """Return the error for what the API said about ``request``."""
    if 300 <= failure.status < 400:
        return _redirected(failure)
    words = said(failure.message, TEXT_LIMIT, scrub=scrub) or "no explanation"
    status = f"answered {failure.status}" if failure.status else "broke off"
    kind = said(failure.kind, KIND_LIMIT, scrub=scrub)
    named = f" ({kind})" if kind else ""
    failed = classify(failure)
    hint = _remedy(failed, failure, request)
    return ProviderError(f"the model API {status}{named}: {words}{hint}", failure=failed)


def _redirected(failure: ApiFailure) -> ProviderError:
    text = (
        f"the model API answered {failure.status}: it redirects, and no redirect is followed; "
        f"set {SETTING} to the final address"
    )
    return ProviderError(text, failure="refused")


def _wait(failure: ApiFailure) -> str:
    if not failure.wait_s:
        return ""
    seconds = math.ceil(failure.wait_s)
    told = go_duration(seconds) if seconds < LONGEST_WAIT_S else "for a day or longer"
    return f" (it asks to wait {told})"


def said(words: str, limit: int, *, scrub: Scrub) -> str:
    """Return a server's words as one line of at most ``limit`` code points, without secrets."""
    if len(words) > READ_LIMIT:
        return TOO_LONG
    line = scrub.hide(for_terminal(words, READ_LIMIT))
    return line if len(line) <= limit else line[:limit] + "…"


def _remedy(failed: ProviderFailure, failure: ApiFailure, request: Request) -> str:
    """Say what to change, where asking the same again would be refused again; else when to ask."""
    if failed == "refused":
        return _hint(failure, request)
    if failed == "context_exceeded":
        return _ROOM if failure.kind != "request_too_large" else " (begin a new conversation)"
    return _wait(failure)


def _hint(failure: ApiFailure, request: Request) -> str:
    """Name the setting to look at: the key, the model, or what made a parameter of this request."""
    if failure.status in _KEY_STATUSES:
        return f" (check the key: {KEY_SETTING})"
    if failure.status == NOT_FOUND:
        return f" (check llm.model {request.model!r}, then {SETTING})"
    return _about_parameters(request) if failure.status == BAD_REQUEST else ""


def _about_parameters(request: Request) -> str:
    effort = f"llm.reasoning_effort {request.reasoning_effort!r}"
    if request.thinking is not None and request.reasoning_effort:
        return (
            f" (if model {request.model} takes no such parameter, remove the llm.thinking block"
            f" or {effort})"
        )
    if request.thinking is not None:
        return (
            f" (if model {request.model} takes no thinking parameter, remove the llm.thinking"
            " block: enabled: false sends one, too)"
        )
    if request.reasoning_effort:
        return f" (set {effort} to a level that model {request.model} accepts, or remove it)"
    return ""
