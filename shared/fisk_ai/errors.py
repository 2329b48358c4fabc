"""The one tree of errors: what was refused, which key or file, what to do.

::

    FiskError
    ├── ConfigError              a value in agent.yaml; carries the key and its position
    ├── SetupError               broker, binary, directory or model missing at start
    │   └── AbsentError          and another process may bring it yet
    ├── UsageError               a command line that cannot be meant
    ├── NotBuiltError            known, and not part of this release yet
    ├── StoreError               sessions, tasks and memories
    │   ├── NotFoundError  ExistsError  InvalidIdError  LockedError  SeqGapError
    │   ├── EmptyError  NoMetaError  CorruptError  VersionError
    │   ├── InvalidCursorError  InvalidLimitError  UnwritableError
    │   ├── NotDeferredError  AlreadyAnsweredError  ResultTooLargeError
    │   ├── InvalidRequestError  TaskCompletedError
    │   └── StaleError  MemoryFullError  MemoryInputError
    ├── JobError                 a job of a queue, or the queue itself
    │   ├── NoJobError  NoQueueError  JobConflictError  DamagedJobError
    ├── RefusedError             a request understood and not done (resume gate, drift)
    │   └── DriftError           the configuration changed since the session was written
    ├── ProviderError            the model could not be asked; carries the kind of failure
    ├── ToolError                the harness could not run a tool
    │   └── FatalToolError       and its run must not go on
    ├── PanicError               a bug of ours ended a run; its detail is in the log alone
    ├── PromptAbortedError       a person's question ended without an answer
    ├── DeferredError            a tool answers later
    ├── ProtocolError            a peer sent something this protocol does not know
    │   ├── MessageTooLargeError  ProtocolMismatchError
    ├── BusError                 the broker did not carry a message
    │   ├── NoRespondersError  BusTimeoutError  StreamError  FencedError
    └── PeerError                the other agent
        ├── AgentUnavailableError  IncompleteStreamError  ServiceRefusedError  TaskError

Every message is one sentence that a person can act on. ``code`` is stable: it goes to logs and
terminals and is never reused. Rules: ``docs/reference/errors.md``.
"""

from __future__ import annotations

from typing import ClassVar, Literal


class FiskError(Exception):
    """Anything this project refuses; ``str(error)`` is fit for a person to read."""

    code: ClassVar[str] = "failed"

    def __init__(self, message: str, *, key: str = "") -> None:
        """Say what was refused; ``key`` names the configuration path, flag or file to change."""
        super().__init__(message)
        self.key = key


class ConfigError(FiskError):
    """A value in ``agent.yaml`` was refused before anything started."""

    code = "config"


class SetupError(FiskError):
    """Something the process needs at start is missing: a broker, a program, a directory."""

    code = "setup"


class AbsentError(SetupError):
    """Something that another process brings is not there yet: a stream, a bucket, a consumer."""

    code = "absent"


class UsageError(FiskError):
    """The command line cannot be meant as it was typed."""

    code = "usage"


class NotBuiltError(FiskError):
    """The feature is specified and not part of this release yet."""

    code = "not_built"


class StoreError(FiskError):
    """A session could not be read or written."""

    code = "store"


class NotFoundError(StoreError):
    """No session of that id."""

    code = "not_found"


class ExistsError(StoreError):
    """A session of that id is already there."""

    code = "exists"


class InvalidIdError(StoreError):
    """The id could never name a session: it would become a path or a subject."""

    code = "invalid_id"


class LockedError(StoreError):
    """Another process holds, or has taken, this session."""

    code = "locked"


class SeqGapError(StoreError):
    """An append skipped a sequence number; a bug, never a race."""

    code = "seq_gap"


class EmptyError(StoreError):
    """The session has no record at all."""

    code = "empty"


class NoMetaError(StoreError):
    """The first record is not the one that opens a session."""

    code = "no_meta"


class CorruptError(StoreError):
    """Stored bytes do not form a session; names file and line, or the sequence number."""

    code = "corrupt"


class VersionError(StoreError):
    """The session was written in a format version other than ours."""

    code = "version"


class UnwritableError(StoreError):
    """A record breaks the rules of its own shape; a bug of ours, and nothing was written."""

    code = "unwritable"


class InvalidCursorError(StoreError):
    """A page cursor that this store did not hand out."""

    code = "invalid_cursor"


class InvalidLimitError(StoreError):
    """A page limit below one."""

    code = "invalid_limit"


class NotDeferredError(StoreError):
    """The answered call is not waiting for an answer."""

    code = "unknown_call"


class AlreadyAnsweredError(StoreError):
    """The answered call has its answer."""

    code = "already_answered"


class ResultTooLargeError(StoreError):
    """A supplied answer is over the stored limit."""

    code = "answer_too_large"


class InvalidRequestError(StoreError):
    """What was submitted is no request that a task can be made of, or no result of it."""

    code = "invalid_request"


class TaskCompletedError(StoreError):
    """The task has its result; the first one counts."""

    code = "task_completed"


class StaleError(StoreError):
    """A memory changed since this run read it, or was never read."""

    code = "stale"


class MemoryFullError(StoreError):
    """A memory store holds as many memories as it may."""

    code = "memory_full"


class MemoryInputError(StoreError):
    """A key, description or content that no memory can have."""

    code = "memory_input"


class JobError(FiskError):
    """A job of a work queue, or the queue, is not as it has to be."""

    code = "job"


class NoJobError(JobError):
    """No job of that id: never submitted, finished and discarded, or too old."""

    code = "no_job"


class NoQueueError(JobError):
    """The queue, its consumer or the stream of all jobs does not exist."""

    code = "no_queue"


class DamagedJobError(JobError):
    """What is stored as a job is none, or is another one: no try will ever read it."""

    code = "damaged_job"


class JobConflictError(JobError):
    """Somebody else wrote the job since it was read, or its id is taken."""

    code = "job_conflict"


class RefusedError(FiskError):
    """A request that was understood and will not be done."""

    code = "refused"


class DriftError(RefusedError):
    """A session's configuration changed; ``lines`` names each difference."""

    code = "config_drift"

    def __init__(self, message: str, *, lines: tuple[str, ...]) -> None:
        """Keep the difference lines beside the sentence that holds them."""
        super().__init__(message)
        self.lines = lines


ProviderFailure = Literal[
    "rate_limited", "overloaded", "refused", "context_exceeded", "timeout", "failed"
]
"""What kept a model from answering; closed set, see ``docs/reference/llm.md``."""


class ProviderError(FiskError):
    """The model could not be asked, or its answer could not be read."""

    code = "provider"

    def __init__(self, message: str, *, failure: ProviderFailure = "failed") -> None:
        """Keep the kind of failure, which decides the code a caller sees."""
        super().__init__(message)
        self.failure: ProviderFailure = failure


class ToolError(FiskError):
    """The harness could not run a tool; the text becomes an error result for the model."""

    code = "tool"


class FatalToolError(ToolError):
    """A tool's failure after which its run must not go on; the model is not told."""

    code = "tool_fatal"


class PanicError(FiskError):
    """A bug of ours ended a run. The sentence is fixed: it may reach a peer."""

    code = "crashed"

    def __init__(self) -> None:
        """Say that, and nothing of why."""
        super().__init__(
            "the run stopped on an internal error; the details are in the log of the agent"
        )


class PromptAbortedError(FiskError):
    """A question to a person was interrupted: no decision exists and none may be recorded."""

    code = "aborted"


class DeferredError(FiskError):
    """A tool says that its answer comes later; never dispatch the call again."""

    code = "deferred"

    def __init__(self, note: str = "", handle: str = "") -> None:
        """Cut ``note`` to 500 and ``handle`` to 200 code points."""
        super().__init__(note or "the answer comes later")
        self.note = note[:500]
        self.handle = handle[:200]


class ProtocolError(FiskError):
    """A message that is not one of the v1 protocol."""

    code = "protocol"


class MessageTooLargeError(ProtocolError):
    """A message over a byte limit, the protocol's or the broker's, in either direction."""

    code = "too_large"

    def __init__(self, message: str, *, room_bytes: int) -> None:
        """Keep the size of the largest body that would have been taken."""
        super().__init__(message)
        self.room_bytes = room_bytes


class ProtocolMismatchError(ProtocolError):
    """A valid message that has no place where it arrived."""

    code = "mismatch"


class BusError(FiskError):
    """The broker did not carry a message."""

    code = "bus"


class NoRespondersError(BusError):
    """Nobody listens on the subject."""

    code = "no_responders"


class BusTimeoutError(BusError):
    """No reply within the time given."""

    code = "bus_timeout"


class StreamError(BusError):
    """A stream, its consumer or the API of both refused; ``err_code`` is the broker's number."""

    code = "stream"

    def __init__(self, message: str, *, err_code: int) -> None:
        """Keep the number, which decides what the caller does next."""
        super().__init__(message)
        self.err_code = err_code


class FencedError(BusError):
    """What we were writing is another writer's by now, or our time for it is over."""

    code = "fenced"


class PeerError(FiskError):
    """Another agent did not do what was asked."""

    code = "peer"


class AgentUnavailableError(PeerError):
    """No agent answers under that identity."""

    code = "unavailable"


class IncompleteStreamError(PeerError):
    """A reply set ended without its terminal: the work may still be running."""

    code = "incomplete"


class ServiceRefusedError(PeerError):
    """An endpoint refused a request before acknowledging it; ``status`` is its numeric code."""

    code = "service_refused"

    def __init__(self, message: str, *, status: str) -> None:
        """Keep the service's own status beside its text."""
        super().__init__(message)
        self.status = status


class TaskError(PeerError):
    """A task ended in an ``error`` terminal; ``task_code`` is the protocol's code."""

    code = "task"

    def __init__(self, message: str, *, task_code: str, stop_reason: str = "") -> None:
        """Keep the code and stop reason of the terminal."""
        super().__init__(message)
        self.task_code = task_code
        self.stop_reason = stop_reason
