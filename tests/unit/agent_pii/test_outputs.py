"""What tools print every day is left as it is, though its numbers could be cards by their digits.

Each ``@`` stands for a number that has the length, the beginning and the check digit of a card.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.agent.pii.scanner import build
from fisk_ai.toolkit import envelope
from fisk_ai.toolkit.contract import CommandExec

CARD = "4111111111111111"
OTHERS = ("378282246310005", "4000000000000000006")

ORDINARY = {
    "kubectl -o json": '{"apiVersion":"v1","items":[{"metadata":{"name":"web-0",'
    '"resourceVersion":"@","generation":@},"status":{"observedGeneration":@,'
    '"capacity":{"memory":"@"}}}]}',
    "kubectl top": "NAME    CPU(cores)   MEMORY(bytes)\n"
    "web-0   12m          @\nweb-1   2m           @",
    "kubectl events": "LAST SEEN   TYPE     UID                COUNT\n2m          Normal   @   1",
    "nats stream info --json": '{"config":{"max_bytes":@,"max_age":@,"duplicate_window":@},'
    '"state":{"messages":@,"bytes":@,"first_seq":@,"last_seq":@,"consumer_count":2},'
    '"cluster":{"replicas":[{"active":120,"lag":@}]}}',
    "nats consumer info": "       Last Delivered Message: Consumer sequence: @ Stream sequence: @\n"
    "         Acknowledgment Floor: Consumer sequence: @\n                        Bytes: @",
    "nats table": "│ Stream │ Storage │ Bytes            │\n"
    "├────────┼─────────┼──────────────────┤\n"
    "│ ORDERS │ File    │ @ │\n│ EVENTS │ File    │ @ │",
    "docker inspect": '[\n    {\n        "Id": "9fceb02d0ae5",\n        "HostConfig": {\n'
    '            "Memory": @,\n            "NanoCpus": @,\n            "CpuQuota": @\n'
    '        },\n        "SizeRw": @\n    }\n]',
    "docker ps": "CONTAINER ID     NAMES   SIZE\n@ web     1.2MB",
    "docker stats": '{"cpu_stats":{"cpu_usage":{"total_usage":@,"percpu_usage":[@, @,\n @]}}}',
    "git log": "commit 9fceb02d0ae598e95dc970b74767f19372d61af8\nDate: 2026-11-30\n\n    Fix id @",
    "git ls-tree": '{"oid":"@","size":@,"mtime_ns":@}',
    "aws logs": '{"events":[{"timestamp":@,"ingestionTime":@,"eventId":"@","sequence":@}]}',
    "aws s3api": '{"Contents":[{"Key":"a","Size":@,"VersionId":"@","LastModified":@}]}',
    "aws table": "|  eventId           |  sizeBytes         |\n+--------------------+--------+\n"
    "|  @  |  @  |",
    "psql": "        id        |      bytes       | name\n"
    "------------------+------------------+------\n"
    " @ | @ | a\n @ | @ | b\n(2 rows)",
    "psql expanded": "-[ RECORD 1 ]-----------\nid         | @\ncreated_ns | @\nname       | a",
    "psql row_to_json": '{"user_id":@,"updated_at":@,"ids":[@,@],"token_count":@}',
    "psql --csv": "name,user_id,total_bytes\nann,@,@\nbob,@,@",
    "mysql": "+----+------------------+\n| nr | order_id         |\n+----+------------------+\n"
    "|  1 | @ |\n",
    "journalctl -o json": '{"__MONOTONIC_TIMESTAMP":"@","__SEQNUM":"@","_SOURCE_REALTIME_TIMESTAMP"'
    ':"@","_PID":"@","MESSAGE":"took @ ns"}\n{"__MONOTONIC_TIMESTAMP":"@","MESSAGE":"x"}',
    "journalctl": "Nov 30 17:52:16 host app[1]: seq=@ offset=@ trace_id=@ wrote @ bytes",
    "logfmt": 'level=info msg="stored" requestid=@ dd.trace_id=@ size=@',
    "yaml": "status:\n  uid: @\n  bytes: @\n  startTime: @\n",
    "ids of cards": '{"card_id":@,"cards_total":@}',
    "a list": '{"order_ids":[' + "@, " * 40 + "1]}",
}


def envelope_of(printed: str) -> str:
    return envelope.render(CommandExec(command="show", exit_code=0), printed)


@pytest.mark.parametrize("printed", ORDINARY.values(), ids=ORDINARY)
@pytest.mark.parametrize("number", [CARD, *OTHERS])
def test_ids_times_and_sizes_are_left_alone(printed: str, number: str) -> None:
    text = printed.replace("@", number)
    assert build().scan(text).text == text
    rendered = envelope_of(text)
    assert build().scan(rendered).text == rendered


CARDS = [
    "@",
    "paid with @ today",
    "Card number: @",
    "card: @, id: 17",
    "card=@",
    '{"card": "@", "id": 5}',
    "id,card\n1,@",
    "id,card\n1,@\n2,@",
    " id | card_number\n----+---------\n  1 | @\n  2 | @",
    "CARD               BYTES\n@   12",
    "What time is it?\n@",
    "Pay in time, please\nBob, @",
    " name | number\n------+-------\n time | @",
    "bytes\n\n@",
    "ID\n\nname,card\nann,@",
    "valid: @ paid: @",
    "number @",
    "the card I used @",
    '{"last_used_card":@}',
    '{"cardNumber":"@"}',
    "[@]",
    "5 @",
    *(
        f"{before}@ {unit}"
        for before in ("Visa ", "card: ", "card_number: ")
        for unit in ("us", "ms", "B")
    ),
    "Visa @ US",
    "The card is @ ms",
    "the PAN: @ bytes",
    "@ B. Smith",
    "Card: @ Ms Smith",
    "@ MB Financial",
    "@ MB, Canada",
    "@ ms Smith",
    "@ requests a refund",
    "pay @ US.",
    "CARD             CC\n@ US\n",
    "CARD @ ms\n",
    "Name,Card,Updated\nSmith, Bob,@,2026-01-01\n",
    'Name,Card,Updated\n"Smith, Bob",@,2026-01-01\n',
    'Name;Card;Updated\n"Smith; Bob";@;2026-01-01\n',
    'Name\tCard\tUpdated\n"Smith\tBob"\t@\t2026-01-01\n',
    '"Name","Card",Updated\n"Smith, Bob","@",2026-01-01\n',
    'Name,Card,Updated\n"",@,2026-01-01\n',
    'Name,Card,Updated\n"5"" nail, 3",@,2026-01-01\n',
    "Name;Card;Amount, EUR;Updated\nSmith, Bob;@;5;2026\n",
    "Name,Card Number,Updated\nBob,@,2026\n",
    "USER CARD EXP\nbob  @ 12/27",
    "USER CARD EXP\n@ bob 12/27",
    "USER NUMBER EXP\nbob @ 12/27",
    "NAME  CARD  EXPIRES\nbartholomew @ 12/27",
    "| user | card | id |\n|------|------|----|\n| a|b | @ | 5 |\n",
]


MEASURED = [
    "wrote @ B",
    "wrote @ MiB, read 5",
    "wrote @ bytes to disk",
    "took @ us",
    "took @ ms\nthen more",
    "took (@ ns)",
    'took "@ ns"',
    "@ ms  5 ms",
    "@ microseconds ago",
    'name,user_id\n"Smith",@\n',
    "wildcard_id: @",
    "NAME   MAJ:MIN RM             SIZE RO TYPE\nsda      8:0    0 @  0 disk",
]


@pytest.mark.parametrize("printed", MEASURED)
def test_a_number_with_a_unit_of_its_own_is_left_alone(printed: str) -> None:
    for text in (printed.replace("@", CARD), envelope_of(printed.replace("@", CARD))):
        assert build().scan(text).text == text


def test_a_quoted_comma_leaves_the_columns_where_they_are() -> None:
    for heading in ("name,note,user_id", '"name","note","user_id"'):
        text = f'{heading}\n"Smith, Bob",x,"{CARD}"\n'
        assert build().scan(text).text == text


@pytest.mark.parametrize("printed", CARDS)
def test_a_number_that_nothing_else_is_said_of_is_a_card(printed: str) -> None:
    for text in (printed.replace("@", CARD), envelope_of(printed.replace("@", CARD))):
        assert CARD not in build().scan(text).text


def test_a_card_in_groups_is_one_under_any_label() -> None:
    for card in ("4111 1111 1111 1111", "4111-1111-1111-1111"):
        assert build().scan(f"id: {card}").text == "id: [PAYMENT_CARD-REDACTED]"


DOCUMENTS: list[object] = [
    {"card": int(CARD)},
    {"id": 1, "cards": [int(CARD), int(CARD)], "more": {"n": int(CARD)}},
    [int(CARD), 5, int(CARD)],
    [["Bob", int(CARD)], ["x\\", int(CARD)], ['"', int(CARD)]],
    {"passport_no": 533380006, "driving licence": 12345678, "token": 1234567890123456789},
    {"text": f'5" and {CARD}, 7', "card": int(CARD)},
]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("depth", range(4))
def test_a_number_of_a_document_becomes_a_string_of_it(
    document: object, indent: int | None, depth: int
) -> None:
    text = json.dumps(document, indent=indent)
    for _ in range(depth):
        text = json.dumps({"output": text, "code": 0})
    scan = build().scan(text)
    assert scan.found
    read = json.loads(scan.text)
    for _ in range(depth):
        read = read["output"]
        read = json.loads(read) if isinstance(document, list | dict) else read
    assert CARD not in json.dumps(read)


@pytest.mark.parametrize("blanks", [0, 15, 63, 64, 65, 1000])
def test_a_number_far_behind_its_neighbours_becomes_a_string_too(blanks: int) -> None:
    gap = "\n" + " " * blanks
    for text in (f'{{"pan"{gap}:{gap}{CARD}{gap}}}', f"{gap}[{gap}{CARD}{gap},{gap}{CARD}{gap}]"):
        assert CARD not in json.dumps(json.loads(build().scan(text).text))
        scanned = build().scan(json.dumps({"output": text})).text
        assert CARD not in json.dumps(json.loads(json.loads(scanned)["output"]))


NUMBERS = st.sampled_from([int(CARD), -int(CARD), *map(int, OTHERS), 533380006, 1234567.8901234567])
TEXTS = st.sampled_from(
    [CARD, 'say "hi', "C:\\x\\", '\\"', "[1,", f"Bob,{CARD},3", "a@example.com"]
)
NAMES = st.sampled_from(["id", "card", "n", "token", "passport", "driving licence", 'a"q'])
ANY = st.recursive(
    NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES, inner, max_size=3)
        | st.dictionaries(NAMES, inner, max_size=3).map(json.dumps)
    ),
    max_leaves=12,
)


def documents(value: object) -> Iterator[str]:
    """Return every string in ``value`` that is a document, those in them included."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError):
            yield from (value, *documents(json.loads(value)))
    if isinstance(value, dict):
        value = list(cast("dict[str, object]", value).values())
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from documents(item)


@given(ANY, st.sampled_from([None, 2]))
def test_whatever_is_replaced_every_document_stays_one(value: object, indent: int | None) -> None:
    text = json.dumps({"output": value}, indent=indent)
    scanned = build().scan(text).text
    assert len(list(documents(scanned))) == len(list(documents(text)))


def test_documents_line_by_line_stay_documents() -> None:
    printed = f'{{"card":{CARD}}}\n{{"card":{CARD}}}\n'
    expected = '{"card":"[PAYMENT_CARD-REDACTED]"}\n' * 2
    assert build().scan(printed).text == expected
    assert build().scan(envelope_of(printed)).text == envelope_of(expected)


def test_a_document_behind_other_text_stays_one() -> None:
    text = f'INFO got {{"card": {CARD}}}'
    assert build().scan(text).text == 'INFO got {"card": "[PAYMENT_CARD-REDACTED]"}'


def test_a_negative_number_is_no_card() -> None:
    assert not build().scan(f'{{"balance":-{CARD}}}').found
