"""Rendering arguments: the table, row by row, and what it must never let through."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import ToolError
from fisk_ai.toolkit.arguments import Value, decode
from fisk_ai.toolkit.fisk.argv import Syntax, render
from fisk_ai.toolkit.fisk.document import Arg, Flag

WORDS = Flag(name="word")
MANY = Flag(name="many", cumulative=True)
PLAIN = Flag(name="plain", boolean=True)
TURN = Flag(name="turn", boolean=True, negatable=True)
ALWAYS = Flag(name="always", boolean=True, default=("true",))
COUNT = Flag(name="count", boolean=True, cumulative=True)


def syntax(
    *, flags: Sequence[Flag] = (), args: Sequence[Arg] = (), offered: Sequence[Flag] = ()
) -> Syntax:
    names = {item.name for item in (*flags, *args, *offered) if not item.hidden}
    return Syntax(
        path=("ship", "dock"),
        global_flags=tuple(offered),
        flags=tuple(flags),
        args=tuple(args),
        advertised=frozenset(names),
    )


def words(command: Syntax, raw: str) -> list[str]:
    return render(command, decode(raw.encode())).words[2:]


ALL_FLAGS = syntax(flags=[WORDS, MANY, PLAIN, TURN, ALWAYS, COUNT])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"turn":true}', ["--turn"]),
        ('{"turn":false}', ["--no-turn"]),
        ('{"plain":true}', ["--plain"]),
        ('{"plain":false}', []),
        ('{"always":true}', ["--always"]),
        ('{"count":true}', ["--count"]),
        ('{"count":false}', []),
        ('{"count":0}', []),
        ('{"count":3}', ["--count"] * 3),
        ('{"count":16}', ["--count"] * 16),
        ('{"word":"x y"}', ["--word=x y"]),
        ('{"word":"-5"}', ["--word=-5"]),
        ('{"word":"@file"}', ["--word=@file"]),
        ('{"word":"--"}', ["--word=--"]),
        ('{"word":""}', ["--word="]),
        ('{"word":null}', ["--word="]),
        ('{"word":true}', ["--word=true"]),
        ('{"word":false}', ["--word=false"]),
        ('{"word":9007199254740993}', ["--word=9007199254740993"]),
        ('{"word":1.50}', ["--word=1.50"]),
        ('{"word":1e3}', ["--word=1e3"]),
        ('{"word":["a","b"]}', ["--word=a", "--word=b"]),
        ('{"many":["b",1,null,true]}', ["--many=b", "--many=1", "--many=", "--many=true"]),
        ('{"many":[]}', []),
        ('{"many":{"z":1,"a":"x=y","m":null}}', ["--many=a=x=y", "--many=m=", "--many=z=1"]),
        ('{"many":{}}', []),
        ('{"count":1,"word":"w","plain":true}', ["--word=w", "--plain", "--count"]),
        (r'{"word":"\ud83d"}', ["--word=�"]),
    ],
)
def test_a_flag_is_rendered_as_the_table_says(raw: str, expected: list[str]) -> None:
    assert words(ALL_FLAGS, raw) == expected


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"always":false}', "cannot be set to false"),
        ('{"plain":"yes"}', "expected boolean, got string"),
        ('{"plain":1}', "expected boolean, got number"),
        ('{"plain":null}', "expected boolean, got null"),
        ('{"turn":[]}', "expected boolean, got array"),
        ('{"turn":{}}', "expected boolean, got object"),
        ('{"count":17}', "expected boolean, got number"),
        ('{"count":-1}', "expected boolean, got number"),
        ('{"count":1.0}', "expected boolean, got number"),
        ('{"count":"2"}', "expected boolean, got string"),
        ('{"many":[["x"]]}', "unsupported value type array"),
        ('{"many":[{}]}', "unsupported value type object"),
        ('{"many":{"k":{}}}', "unsupported value type object"),
        ('{"many":{"k":[]}}', "unsupported value type array"),
    ],
)
def test_a_value_that_cannot_be_a_flag_names_command_flag_and_kind(raw: str, reason: str) -> None:
    with pytest.raises(ToolError) as caught:
        words(ALL_FLAGS, raw)
    assert 'building command line for "ship dock": flag "' in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize("default", ["1", "t", "T", "TRUE", "true", "True"])
def test_every_spelling_of_a_true_default_makes_false_an_error(default: str) -> None:
    flag = Flag(name="f", boolean=True, default=(default,))
    with pytest.raises(ToolError, match="defaults to true"):
        words(syntax(flags=[flag]), '{"f":false}')
    assert (
        words(syntax(flags=[Flag(name="f", boolean=True, default=("yes",))]), '{"f":false}') == []
    )


def test_unknown_properties_are_refused_in_a_stable_order() -> None:
    with pytest.raises(ToolError, match='unknown property "aa"'):
        words(ALL_FLAGS, '{"zz":1,"aa":2,"word":"x"}')


def test_a_hidden_flag_or_argument_cannot_be_guessed() -> None:
    command = syntax(
        flags=[Flag(name="secret", hidden=True)], args=[Arg(name="ghost", hidden=True)]
    )
    for raw in ('{"secret":"x"}', '{"ghost":"x"}'):
        with pytest.raises(ToolError, match="unknown property"):
            words(command, raw)


def test_a_bad_global_is_reported_before_a_bad_local_key() -> None:
    command = syntax(flags=[WORDS], offered=[Flag(name="trace", boolean=True)])
    with pytest.raises(ToolError) as caught:
        words(command, '{"nonsense":1,"trace":"x"}')
    assert 'building global flags for "ship dock": flag "trace"' in str(caught.value)


ARGS = syntax(
    flags=[WORDS],
    args=[
        Arg(name="first", required=True),
        Arg(name="second", default=("d1", "d2")),
        Arg(name="third"),
        Arg(name="rest", cumulative=True),
    ],
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("{}", []),
        ('{"first":"a"}', ["--", "a"]),
        ('{"first":"-x","word":"w"}', ["--word=w", "--", "-x"]),
        ('{"first":"@file"}', ["--", "@file"]),
        ('{"first":null}', ["--", ""]),
        ('{"first":""}', ["--", ""]),
        ('{"first":7}', ["--", "7"]),
        ('{"first":true}', ["--", "true"]),
        ('{"first":"a","third":"c"}', ["--", "a", "d1", "d2", "c"]),
        ('{"first":"a","third":"c","rest":["x","y"]}', ["--", "a", "d1", "d2", "c", "x", "y"]),
        ('{"first":["a","b"]}', ["--", "a", "b"]),
        ('{"first":[]}', []),
    ],
)
def test_positionals_stand_behind_two_dashes_and_gaps_are_filled(
    raw: str, expected: list[str]
) -> None:
    assert words(ARGS, raw) == expected


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"first":"a","rest":["x"]}', 'argument "third": must be set because a later one is set'),
        ('{"second":"b"}', 'argument "first": must be set'),
        ('{"first":{}}', "unsupported value type object"),
        ('{"first":[[]]}', "unsupported value type array"),
        ('{"first":"--"}', 'the value "--" cannot be passed'),
        ('{"first":"a","third":"c","rest":["x","--"]}', 'the value "--" cannot be passed'),
    ],
)
def test_positionals_that_would_move_are_refused(raw: str, reason: str) -> None:
    with pytest.raises(ToolError) as caught:
        words(ARGS, raw)
    assert reason in str(caught.value)


def test_an_argument_of_many_that_is_not_last_makes_every_call_fail() -> None:
    command = syntax(args=[Arg(name="all", cumulative=True), Arg(name="one")])
    for raw in ("{}", '{"one":"x"}'):
        with pytest.raises(ToolError, match="not the last one"):
            words(command, raw)


def parse(tokens: Sequence[str], flags: Mapping[str, Flag]) -> tuple[dict[str, object], list[str]]:
    """Read a command line as the framework does, in as few rules as that takes."""
    values: dict[str, object] = {}
    before, positionals = list(tokens), list[str]()
    if "--" in before:
        cut = before.index("--")
        before, positionals = before[:cut], [word for word in before[cut:] if word != "--"]
    for token in before:
        assert token.startswith("--"), "a bare word before -- could name a file to read"
        name, equals, value = token[2:].partition("=")
        flag = flags.get(name)
        if flag is None:
            values[name.removeprefix("no-")] = False
        elif flag.boolean:
            assert not equals, "a boolean flag takes no value: it would become a positional"
            values[name] = int(str(values.get(name, 0))) + 1 if flag.cumulative else True
        elif flag.cumulative:
            values[name] = [*cast_list(values.get(name)), value]
        else:
            assert name not in values, "a flag that is not repeatable was repeated"
            values[name] = value
    return values, positionals


def cast_list(value: object) -> list[object]:
    return [*value] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] - model values


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
GIVEN = st.fixed_dictionaries(
    {},
    optional={
        "word": TEXT,
        "many": st.lists(TEXT, min_size=1, max_size=4),
        "plain": st.just(True),  # noqa: FBT003 - a value of the flag
        "turn": st.booleans(),
        "count": st.integers(1, 16),
        "first": TEXT.filter(lambda text: text != "--"),
    },
)


@given(GIVEN)
def test_every_rendered_line_parses_back_to_the_same_values(wanted: dict[str, object]) -> None:
    flags = {flag.name: flag for flag in (WORDS, MANY, PLAIN, TURN, COUNT)}
    command = syntax(flags=[*flags.values()], args=[Arg(name="first")])
    tokens = words(command, json.dumps(wanted))
    values, positionals = parse(tokens, flags)
    expected = {key: value for key, value in wanted.items() if key != "first"}
    assert values == expected
    assert positionals == ([wanted["first"]] if "first" in wanted else [])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["word", "many", "plain", "turn", "count", "first"]), JSON))
def test_whatever_a_model_sends_becomes_words_or_a_refusal_and_never_more(
    wanted: dict[str, Value],
) -> None:
    flags = {flag.name: flag for flag in (WORDS, MANY, PLAIN, TURN, COUNT)}
    command = syntax(flags=[*flags.values()], args=[Arg(name="first", cumulative=True)])
    try:
        tokens = words(command, json.dumps(wanted))
    except ToolError:
        return
    cut = tokens.index("--") if "--" in tokens else len(tokens)
    assert all(token.startswith("--") for token in tokens[:cut])
    assert "--" not in tokens[cut + 1 :]
