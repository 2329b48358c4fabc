"""The exact bytes of every record: programs in two languages read and write the same journals."""

from __future__ import annotations

import pytest

from fisk_ai.llm.model import (
    Message,
    ProviderBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from fisk_ai.sessions import codec
from fisk_ai.sessions.records import (
    Assistant,
    CallApproval,
    Claim,
    Decision,
    Deferred,
    Fingerprint,
    MemoryRevisions,
    Meta,
    Payload,
    Terminal,
    ToolResult,
    User,
)

FINGERPRINT = Fingerprint(
    provider="anthropic",
    model="m",
    system_hash="s",
    tools_hash="t",
    thinking_mode="off",
    max_tokens=0,
    max_iterations=50,
)
PRINTED = (
    '{"provider":"anthropic","model":"m","system_hash":"s","tools_hash":"t",'
    '"thinking_mode":"off","max_tokens":0,"max_iterations":50}'
)
EMPTY_REPLY = Message("assistant", ())
FULL_REPLY = Message(
    "assistant",
    (
        ThinkingBlock("<hm>", b"sig"),
        ThinkingBlock(),
        TextBlock("a & b\u2028\u2029 \U0001f600 \x00\b\f\x7f\ufeff"),
        ToolUseBlock("t1", "say", rb'{ "z":1.0, "<k>" : "\/ \u00e9 >", "n":[1 , -0] }'),
        ProviderBlock("server_tool_use", b'{"a":1e3,"a":null}'),
    ),
)


@pytest.mark.parametrize(
    ("seq", "payload", "written"),
    [
        pytest.param(
            1,
            Meta(
                run_id="r",
                created="2026-07-24T11:15:02.5+02:00",
                fingerprint=FINGERPRINT,
                prompt="",
            ),
            '"protocol":"io.choria.fisk-ai.v1.session.meta","time":"T","meta":{"version":3,'
            '"run_id":"r","created":"2026-07-24T11:15:02.5+02:00","fingerprint":'
            + PRINTED
            + ',"prompt":""}',
            id="meta without anything optional",
        ),
        pytest.param(
            1,
            Meta(
                run_id="r",
                created="0001-01-01T00:00:00Z",
                fingerprint=FINGERPRINT,
                prompt="<p>",
                interactive=True,
                conversation_token="tok",
                caller="c",
                agent="a",
                request="q",
            ),
            '"protocol":"io.choria.fisk-ai.v1.session.meta","time":"T","meta":{"version":3,'
            '"run_id":"r","created":"0001-01-01T00:00:00Z","fingerprint":'
            + PRINTED
            + r',"prompt":"\u003cp\u003e","interactive":true,"conversation_token":"tok",'
            '"caller":"c","agent":"a","request":"q"}',
            id="meta with everything",
        ),
        pytest.param(
            2,
            Assistant(iteration=0, message=EMPTY_REPLY, in_tokens=0, out_tokens=0),
            '"protocol":"io.choria.fisk-ai.v1.session.assistant","time":"T","assistant":'
            '{"iteration":0,"message":{"role":"assistant","content":[]},'
            '"in_tokens":0,"out_tokens":0}',
            id="assistant without anything optional",
        ),
        pytest.param(
            2,
            Assistant(
                iteration=3,
                message=FULL_REPLY,
                stop_reason="tool_use",
                in_tokens=1,
                out_tokens=2,
                cache_read_tokens=3,
                cache_create_tokens=4,
                thinking_tokens=2**63 - 1,
            ),
            '"protocol":"io.choria.fisk-ai.v1.session.assistant","time":"T","assistant":'
            '{"iteration":3,"message":{"role":"assistant","content":['
            r'{"thinking":{"text":"\u003chm\u003e","signature":"c2ln"}},{"thinking":{}},'
            r'{"text":{"text":"a \u0026 b\u2028\u2029 '
            "\U0001f600 "
            r"\u0000\b\f"
            '\x7f\ufeff"}},'
            r'{"tool_use":{"id":"t1","name":"say","input":'
            r'{"z":1.0,"\u003ck\u003e":"\/ \u00e9 \u003e","n":[1,-0]}}},'
            '{"provider":{"kind":"server_tool_use","raw":{"a":1e3,"a":null}}}]},'
            '"stop_reason":"tool_use","in_tokens":1,"out_tokens":2,"cache_read_tokens":3,'
            '"cache_create_tokens":4,"thinking_tokens":9223372036854775807}',
            id="assistant with everything",
        ),
        pytest.param(
            2,
            User(message=Message("user", (TextBlock("hi"),)), request="q"),
            '"protocol":"io.choria.fisk-ai.v1.session.user","time":"T","user":{"message":'
            '{"role":"user","content":[{"text":{"text":"hi"}}]},"request":"q"}',
            id="user",
        ),
        pytest.param(
            2,
            ToolResult(tool_use_id="t", result=ToolResultBlock("t", "")),
            '"protocol":"io.choria.fisk-ai.v1.session.tool_result","time":"T","tool_result":'
            '{"tool_use_id":"t","result":{"tool_use_id":"t","content":""}}',
            id="answer from outside",
        ),
        pytest.param(
            2,
            ToolResult(
                tool_use_id="t",
                result=ToolResultBlock("t", "no", is_error=True),
                remote=True,
                kind="remote",
                dispatched=True,
            ),
            '"protocol":"io.choria.fisk-ai.v1.session.tool_result","time":"T","tool_result":'
            '{"tool_use_id":"t","result":{"tool_use_id":"t","content":"no","is_error":true},'
            '"remote":true,"kind":"remote","dispatched":true}',
            id="tool_result with everything",
        ),
        pytest.param(
            2,
            Deferred(tool_use_id="t", tool_name="say", note="n", handle="h"),
            '"protocol":"io.choria.fisk-ai.v1.session.deferred","time":"T","deferred":'
            '{"tool_use_id":"t","tool_name":"say","note":"n","handle":"h"}',
            id="deferred",
        ),
        pytest.param(
            2,
            Decision(tool="stream_rm"),
            '"protocol":"io.choria.fisk-ai.v1.session.decision","optional":true,"time":"T",'
            '"decision":{"tool":"stream_rm"}',
            id="decision",
        ),
        pytest.param(
            2,
            CallApproval(tool_use_id="t", tool_name="say", args_sha256="ab"),
            '"protocol":"io.choria.fisk-ai.v1.session.call_approval","optional":true,"time":"T",'
            '"call_approval":{"tool_use_id":"t","tool_name":"say","args_sha256":"ab"}',
            id="call_approval",
        ),
        pytest.param(
            2,
            Terminal(reason="error", message="broke", summary={"turns": 1}),
            '"protocol":"io.choria.fisk-ai.v1.session.terminal","time":"T","terminal":'
            '{"reason":"error","message":"broke","summary":{"turns":1}}',
            id="terminal",
        ),
        pytest.param(
            2,
            Claim(by="a@h pid 1", claimed="2026-07-24T09:15:02Z"),
            '"protocol":"io.choria.fisk-ai.v1.session.claim","time":"T","claim":'
            '{"by":"a@h pid 1","claimed":"2026-07-24T09:15:02Z"}',
            id="claim",
        ),
        pytest.param(
            2,
            MemoryRevisions(revisions={"b": 1, "a<": 2**64 - 1}),
            '"protocol":"io.choria.fisk-ai.v1.session.memory_revisions","optional":true,'
            r'"time":"T","memory_revisions":{"revisions":{"a\u003c":18446744073709551615,"b":1}}',
            id="memory_revisions",
        ),
    ],
)
def test_a_record_has_exactly_these_bytes(seq: int, payload: Payload, written: str) -> None:
    time = "2026-07-24T09:15:02.123456789Z"
    body = codec.encode(codec.record_of(seq, payload, time=time))
    expected = f'{{"seq":{seq},{written}}}'.replace('"time":"T"', f'"time":"{time}"')
    assert body.decode() == expected
    assert codec.encode(codec.decode(body)) == body


def test_a_record_without_a_time_has_no_such_key() -> None:
    body = codec.encode(codec.record_of(2, Decision(tool="x")))
    assert body == (
        b'{"seq":2,"protocol":"io.choria.fisk-ai.v1.session.decision","optional":true,'
        b'"decision":{"tool":"x"}}'
    )
