"""Messages as an enemy or a bad line would send them: valid bytes with a few changes."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

SPLINTERS = (
    b"null", b"NaN", b"-Infinity", b"1.0", b"1e400", b"true", b'"5"', b"[]", b"{}", b'"\\ud800"',
    b'"\\u0000"', b"\xff", b"\xef\xbb\xbf", b"9" * 40, b"[" * 3000, b'{"a":' * 3000, b",", b'"',
    b'"protocol":"io.choria.fisk-ai.v2.ack",', b'"request":"../../x",', b'"answer":{},',
)  # fmt: skip
"""What parsers stumble over."""


@st.composite
def mutated(draw: st.DrawFn, bodies: Sequence[bytes]) -> bytes:
    """Draw one of ``bodies`` with one to three places cut out, overwritten or added to."""
    body = draw(st.sampled_from(bodies))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(body)))
        length = draw(st.integers(0, 12))
        patch = draw(st.sampled_from(SPLINTERS) | st.binary(max_size=4))
        body = body[:start] + patch + body[start + length :]
    return body
