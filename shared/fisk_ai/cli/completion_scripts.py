"""The completion scripts of three shells, from one description of the command line.

Each reads the words before the cursor, finds the place they lead to, and offers what can stand
there. Where nothing is known, and for files, the shell does what it always does. What a shell
expands is made of names of ours and of session ids alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["", "text", "file", "id", "choice"]
"""What an argument names; ``""`` for a flag says that it takes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What a word can be; ``choices`` are all there are of kind ``choice``."""

    kind: Kind = ""
    choices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag, the text that explains it, and what it takes."""

    name: str
    text: str = ""
    argument: Argument = Argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What can stand behind the commands of ``path``, written ``/session/show``.

    ``commands`` are names with their texts, ``others`` are the spellings that lead here, too.
    """

    path: str = ""
    others: Sequence[str] = ()
    commands: Sequence[tuple[str, str]] = ()
    flags: Sequence[Flag] = ()
    argument: Argument = Argument()


def bash(places: Sequence[Place]) -> str:
    """Return the script for bash."""
    return _filled(_BASH, places, _bash_place, "words='{}'")


def zsh(places: Sequence[Place]) -> str:
    """Return the script for zsh."""
    return _filled(_ZSH, places, _zsh_place, "offers=({})")


def fish(places: Sequence[Place]) -> str:
    """Return the script for fish."""
    moves = "".join(
        f"                    case {' '.join((place.path, *place.others))}\n"
        f"                        set place {place.path}\n"
        for place in places
        if place.path
    )
    valued = " ".join(sorted({flag.name for flag in _valued(places)}))
    head = _FISH.replace("@MOVES@", moves).replace("@VALUED@", valued)
    return head + "".join(line + "\n" for place in places for line in _fish_place(place))


def _filled(
    script: str,
    places: Sequence[Place],
    place_line: Callable[[Place], str],
    offers: str,
) -> str:
    """Fill in a script of the Bourne family; ``offers`` assigns the words that it offers."""
    flags = {flag.name: flag for flag in _valued(places)}
    lines = (_flag_line(flags[name], offers) for name in sorted(flags))
    parts: Mapping[str, str] = {
        "@VALUED@": "|".join(sorted(flags)),
        "@MOVES@": "\n".join(
            f"                {'|'.join((place.path, *place.others))}) place={place.path} ;;"
            for place in places
            if place.path
        ),
        "@FLAGS@": "\n".join(filter(None, lines)),
        "@PLACES@": "\n".join(map(place_line, places)),
    }
    for mark, text in parts.items():
        script = script.replace(mark, text)
    return script


def _valued(places: Sequence[Place]) -> Iterator[Flag]:
    return (flag for place in places for flag in place.flags if flag.argument.kind)


def _flag_line(flag: Flag, offers: str) -> str:
    match flag.argument.kind:
        case "id":
            return f"        {flag.name}) ids=1 ;;"
        case "choice":
            return f"        {flag.name}) {offers.format(' '.join(flag.argument.choices))} ;;"
        case _:
            return ""


def _bash_place(place: Place) -> str:
    flags = " ".join(flag.name for flag in place.flags)
    words = " ".join([*(name for name, _ in place.commands), *place.argument.choices])
    ids = " ids=1" if place.argument.kind == "id" else ""
    return f"        '{place.path}') flags='{flags}' words='{words}'{ids} ;;"


def _zsh_place(place: Place) -> str:
    flags = " ".join(_described(flag.name, flag.text) for flag in place.flags)
    words = [*place.commands, *((choice, "") for choice in place.argument.choices)]
    offers = " ".join(_described(name, text) for name, text in words)
    ids = " ids=1" if place.argument.kind == "id" else ""
    return f"        '{place.path}') flags=({flags}) offers=({offers}){ids} ;;"


def _described(name: str, text: str) -> str:
    return _quoted(f"{name}:{text}" if text else name)


def _fish_place(place: Place) -> Iterator[str]:
    here = f"complete -c fisk-ai -n 'test (__fisk_ai_place) = at:{place.path}'"
    for name, text in place.commands:
        yield f"{here} -f -a {name} -d {_quoted(text)}"
    if place.argument.kind in ("id", "choice"):
        yield f"{here} -f -a {_fish_words(place.argument)}"
    for flag in place.flags:
        yield f"{here} -l {flag.name.removeprefix('--')}{_fish_takes(flag)} -d {_quoted(flag.text)}"


def _fish_takes(flag: Flag) -> str:
    match flag.argument.kind:
        case "":
            return ""
        case "file":
            return " -r -F"
        case "text":
            return " -x"
        case _:
            return f" -x -a {_fish_words(flag.argument)}"


def _fish_words(argument: Argument) -> str:
    if argument.kind == "id":
        return "'(fisk-ai completion ids 2>/dev/null)'"
    return f"'{' '.join(argument.choices)}'"


def _quoted(text: str) -> str:
    """Return ``text`` in single quotes; an apostrophe is written in a way all three shells read."""
    return "'" + text.replace("'", "’") + "'"  # noqa: RUF001 - the typographic one needs no quoting


_BASH: Final = """\
_fisk_ai() {
    local cur=${COMP_WORDS[COMP_CWORD]} place= skip= dir= ids= flags= words= word IFS=$' \\t\\n'
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word == = ]] && continue
        if [[ $skip ]]; then
            [[ $skip == --state-dir ]] && dir=$word
            skip=
            continue
        fi
        case $word in
            --) return ;;
            @VALUED@) skip=$word ;;
            -*) ;;
            *) case $place/$word in
@MOVES@
            esac ;;
        esac
    done
    [[ $cur == = ]] && cur=
    cur=${cur#[\\"\\']}
    case $skip in
@FLAGS@
        ?*) return ;;
        *) case $place in
@PLACES@
        esac ;;
    esac
    if [[ $cur == -* ]]; then
        words=$flags
    elif [[ $ids ]]; then
        words=$(fisk-ai completion ids ${dir:+--state-dir "$dir"} 2>/dev/null)
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _fisk_ai fisk-ai
"""

_ZSH: Final = """\
#compdef fisk-ai
_fisk_ai() {
    local cur=${words[CURRENT]} place= skip= dir= ids= word
    local -a flags offers
    for word in "${(@)words[2,CURRENT-1]}"; do
        if [[ -n $skip ]]; then
            [[ $skip == --state-dir ]] && dir=${(Q)word}
            skip=
            continue
        fi
        case $word in
            --) _files; return ;;
            @VALUED@) skip=$word ;;
            -*) ;;
            *) case $place/$word in
@MOVES@
            esac ;;
        esac
    done
    case $skip in
@FLAGS@
        ?*) _files; return ;;
        *) case $place in
@PLACES@
        esac ;;
    esac
    if [[ $cur == -* ]]; then
        _describe -o flag flags
    elif [[ -n $ids ]]; then
        offers=(${(f)"$(fisk-ai completion ids ${dir:+--state-dir} ${dir:+$dir} 2>/dev/null)"})
        compadd -a offers
    elif (( $#offers )); then
        _describe command offers
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _fisk_ai ]]; then
    _fisk_ai "$@"
else
    compdef _fisk_ai fisk-ai
fi
"""

_FISH: Final = """\
function __fisk_ai_place
    set -l place ''
    set -l skip ''
    for word in (commandline -opc)[2..-1]
        if test -n "$skip"
            set skip ''
            continue
        end
        switch $word
            case @VALUED@
                set skip $word
            case '-*'
            case '*'
                switch "$place/$word"
@MOVES@                end
        end
    end
    echo "at:$place"
end
"""
