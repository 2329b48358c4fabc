"""The record of a job: the bytes of the other engine, and whatever else lies there."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import JobError
from fisk_ai.jobs.job import STATES, Job, decode, encode
from fisk_ai.text.gojson import RawJSON

FRESH = (
    b'{"id":"2aXbQ1","type":"fisk-ai:run","queue":"FISK_AI","payload":"eyJhIjoxfQ==",'
    b'"max_tries":10,"state":"new","created":"2026-07-24T09:15:02.123456789Z","tries":0}'
)
FULL = (
    b'{"id":"b:1","type":"t","queue":"Q","dependencies":["p1","p2"],'
    b'"dependency_results":{"p1":{"payload":"x","completed":"2026-07-24T09:15:02Z"}},'
    b'"load_dependencies":true,"payload":null,"deadline":"2026-07-25T00:00:00.5Z","max_tries":-1,'
    b'"result":{"payload":{"text":"1 \\u003c 2 \\u0026 3 \\u003e 2\\u2028"},'
    b'"completed":"2026-07-24T09:16:00.000000001Z"},"state":"complete",'
    b'"created":"2026-07-24T09:15:02Z","tried":"2026-07-24T09:15:03.25Z","tries":3,'
    b'"last_err":"a \\u003cb\\u003e","signature":"00ff","weight":{"b":1.0,"a":[ ]}}'
)


def test_a_fresh_job_has_its_members_in_the_order_of_the_engine_and_no_empty_ones() -> None:
    job = Job(
        id="2aXbQ1",
        type="fisk-ai:run",
        queue="FISK_AI",
        payload=b'{"a":1}',
        created="2026-07-24T09:15:02.123456789Z",
    )
    assert encode(job) == FRESH


def test_a_job_without_a_payload_says_null() -> None:
    assert b'"payload":null' in encode(Job(id="a", type="t", created="2026-07-24T09:15:02Z"))


def test_every_member_is_read() -> None:
    job = decode(FULL)
    assert (job.id, job.type, job.queue, job.dependencies) == ("b:1", "t", "Q", ("p1", "p2"))
    assert (job.load_dependencies, job.payload, job.max_tries, job.tries) == (True, None, -1, 3)
    assert (job.deadline, job.tried) == ("2026-07-25T00:00:00.5Z", "2026-07-24T09:15:03.25Z")
    assert (job.state, job.last_err, job.signature) == ("complete", "a <b>", "00ff")
    assert job.extra == {"weight": b'{"b":1.0,"a":[ ]}'}


def test_a_rewrite_keeps_times_results_signature_and_what_nobody_knows() -> None:
    rewritten = encode(replace(decode(FULL), tries=4))
    assert rewritten == FULL.replace(b'"tries":3', b'"tries":4').replace(b"[ ]", b"[]")


@pytest.mark.parametrize(
    "text",
    ["2026-07-24T09:15:02.120000000Z", "2026-07-24T11:15:02.5+02:00", "2026-07-24T09:15:02Z"],
)
def test_a_time_keeps_its_spelling(text: str) -> None:
    body = FRESH.replace(b"2026-07-24T09:15:02.123456789Z", text.encode())
    assert encode(decode(body)) == body


def test_null_is_zero_and_members_stand_in_any_order() -> None:
    job = decode(
        b' {"tries":null,"state":null,"created":"2026-07-24T09:15:02Z","deadline":null,'
        b'"result":null,"dependencies":null,"signature":null,"id":"a","type":"t"} '
    )
    assert job == Job(
        id="a", type="t", state="", max_tries=0, created="2026-07-24T09:15:02Z", payload=None
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"nonsense",
        b"\xff",
        b'{"id":1}',
        b'{"id":"a","type":"t","created":"yesterday"}',
        b'{"id":"a","type":"t","payload":"!"}',
        b'{"id":"a","type":"t","tries":"1"}',
    ],
)
def test_what_is_no_record_is_refused_in_words(body: bytes) -> None:
    with pytest.raises(JobError, match="the record of a job cannot be read"):
        decode(body)


_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_times = st.sampled_from(["", "2026-07-24T09:15:02.000000001Z", "2026-07-24T09:15:02.1Z"])
_jobs = st.builds(
    Job,
    id=_text,
    type=_text,
    queue=_text,
    dependencies=st.lists(_text, max_size=3).map(tuple),
    payload=st.none() | st.binary(max_size=40),
    deadline=_times,
    max_tries=st.integers(-5, 100),
    result=st.none() | _text.map(lambda text: RawJSON(json.dumps({"payload": text}).encode())),
    state=st.sampled_from(["", *STATES]),
    created=_times,
    tried=_times,
    tries=st.integers(0, 100),
    last_err=_text,
    signature=_text,
)


@given(_jobs)
def test_a_record_reads_back_as_it_was_written_and_is_written_alike_again(job: Job) -> None:
    body = encode(job)
    assert encode(decode(body)) == body
    assert replace(decode(body), result=None) == replace(job, result=None)


@given(_jobs)
def test_html_and_line_ends_of_javascript_never_stand_in_a_record(job: Job) -> None:
    assert not set("<>&\u2028\u2029") & set(encode(job).decode())


@given(st.binary(max_size=80) | _jobs.map(encode).map(lambda body: body[:-3]))
def test_whatever_lies_there_is_a_job_or_refused(body: bytes) -> None:
    with contextlib.suppress(JobError):
        decode(body)
