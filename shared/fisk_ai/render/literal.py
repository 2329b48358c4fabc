"""Markdown of which nothing is lost on a terminal: what has no style is shown as it was written.

Rich leaves out HTML, the address of a picture, the title of a link and what is too wide for its
column. Imported only when something is styled, since Rich is. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import (
    CodeBlock,
    Markdown,
    MarkdownContext,
    MarkdownElement,
    TableElement,
    TextElement,
)
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fisk_ai.render import effort

LEGIBLE_COLUMNS = 12
"""Columns of a cell in which words may be broken: with fewer, one word would be a stack."""

_BETWEEN_COLUMNS = 2
"""What separates two cells, and stands at the edges of a table."""

_LITERAL = "html_block"
"""Kind of a token that is shown as it was written, line by line."""

_BARE_LINK = "auto"
"""What a parser says of the ends of a link that was written as ``<address>``."""

_DROPPING_RULES = ("image", "reference")
"""Rules whose text would not be shown: where they are not applied it stays text."""

_LANGUAGE = re.compile(r"[\w+#.-]*")
"""What stands behind the fence of a block of code and says no more than how to colour it."""

COLOURED_LANGUAGES = frozenset(
    {
        *("bash", "console", "sh", "shell-session"),
        *("css", "html", "javascript", "js", "ts", "typescript"),
        *("go", "py", "pycon", "python", "rb", "ruby", "rs", "rust", "sql"),
        *("diff", "docker", "dockerfile", "ini", "json", "nginx", "properties", "toml", "xml"),
        *("yaml", "yml"),
    }
)
"""Languages whose blocks are coloured. The readers of others, and of larger blocks or longer lines,
may take minutes over a text that somebody made for them, and nothing can interrupt one."""

COLOURED_LIMIT = 4096
"""Code points of a block of code that is coloured; of one text two such blocks are."""

COLOURED_COLUMNS = 200
"""Code points of a line in a block of code that is coloured."""

_PLAIN = "text"

_ENTITY = re.compile(r"&#?\w+;")


class _Verbatim(TextElement):
    """Lines as they were written; one that is too long goes on in the next."""

    def on_text(self, context: MarkdownContext, text: str | Text) -> None:
        del context
        self.text = Text(str(text).rstrip("\n"), overflow="fold")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console, options
        yield self.text


class _WholeTable(TableElement):
    """A table whose cells are folded; its text where a line would hold too little of each."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> MarkdownElement:
        del markdown
        return cls(token.content)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if not isinstance(table, Table):
                continue
            if _least_width(table, console, options) > options.max_width:
                yield Text(self.source, overflow="fold")
                continue
            for column in table.columns:
                column.overflow = "fold"
            yield table


def _least_width(table: Table, console: Console, options: ConsoleOptions) -> int:
    """Return how wide a table is whose words are broken where they are long alone."""
    words = (
        max(
            Measurement.get(console, options, cell).minimum
            for cell in (column.header, *column.cells)
        )
        for column in table.columns
    )
    taken = (min(word, LEGIBLE_COLUMNS) + _BETWEEN_COLUMNS for word in words)
    return sum(taken) + _BETWEEN_COLUMNS


class _Code(CodeBlock):
    """A block of code: coloured where that takes no time, else plain."""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> CodeBlock:
        is_affordable = isinstance(markdown, LiteralMarkdown) and markdown.affords(token)
        return cls(token.info.strip() if is_affordable else _PLAIN, markdown.code_theme)


class LiteralMarkdown(Markdown):
    """Markdown that shows every word of its text; addresses stay as they were written."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        _LITERAL: _Verbatim,
        "table_open": _WholeTable,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, markup: str) -> None:
        """Read ``markup``.

        Raises:
            TooMuchWorkError: reading or drawing it would take too long.
        """
        super().__init__("", hyperlinks=False)
        self.markup = markup.replace("\r\n", "\n").replace("\r", "\n")
        self._colours = 2 * COLOURED_LIMIT
        tokens = _parser().parse(self.markup)
        effort.check_tokens(tokens)
        self._repeated = [address for token in tokens for address in _unlink(token.children or ())]
        self.parsed = list(_showable(tokens, self.markup.split("\n")))

    def affords(self, code: Token) -> bool:
        """Say whether a block of code is coloured, and count it."""
        size = len(code.content)
        if code.info.strip().lower() not in COLOURED_LANGUAGES or size > COLOURED_LIMIT:
            return False
        if max(map(len, code.content.split("\n"))) > COLOURED_COLUMNS:
            return False
        self._colours -= size
        return self._colours >= 0

    def is_whole(self, shown: str) -> bool:
        """Say whether all letters of the text are in what became of it.

        It also bears what no rule foresees, such as lists too deep for the screen.
        """
        languages = [token.info for token in self.parsed if token.type == "fence"]
        unshown = _letters(" ".join([*languages, *self._repeated]))
        written = _letters(_ENTITY.sub("", self.markup)) - unshown
        return written <= _letters(shown)


def _letters(text: str) -> Counter[str]:
    """Count letters; digits are left out, since the items of a list are numbered anew."""
    return Counter(filter(str.isalpha, text))


def _parser() -> MarkdownIt:
    parser = MarkdownIt().enable(["strikethrough", "table"]).disable(_DROPPING_RULES)
    effort.bound(parser)
    parser.normalizeLink = lambda url: url
    parser.normalizeLinkText = lambda link: link
    return parser


def _showable(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Token]:
    """Yield ``tokens`` with everything turned into text that would not be shown."""
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.type == "table_open":
            end = _end_of_table(tokens, position)
            yield from _table(tokens[position:end], lines)
            position = end
            continue
        yield from _block(token)
        position += 1


def _end_of_table(tokens: Sequence[Token], position: int) -> int:
    while tokens[position].type != "table_close":
        position += 1
    return position + 1


def _table(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Token]:
    """Yield a table, or its text where a row has more cells than the heading."""
    first, behind = tokens[0].map or (0, 0)
    source = "\n".join(lines[first:behind])
    cells = "".join(token.content for token in tokens if token.type == "inline")
    if Counter(filter(str.isalnum, source)) != Counter(filter(str.isalnum, cells)):
        yield _literal(source)
        return
    tokens[0].content = source
    for token in tokens:
        yield from _block(token)


def _block(token: Token) -> Iterator[Token]:
    if token.type == "fence" and not _LANGUAGE.fullmatch(token.info.strip()):
        yield _literal(token.info.strip())
    if token.children:
        token.children = list(_inlines(token.children))
    yield token


def _inlines(children: Sequence[Token]) -> Iterator[Token]:
    """Yield what stands in a line; an address in angle brackets is text and needs no link to it."""
    for token in children:
        if token.info != _BARE_LINK:
            _show_inline(token)
            yield token


def _unlink(children: Sequence[Token]) -> Iterator[str]:
    """Make links whose text is their address bare ones, and yield the addresses."""
    for opening, text, closing in zip(children, children[1:], children[2:], strict=False):
        if (opening.type, closing.type) != ("link_open", "link_close"):
            continue
        if opening.info == _BARE_LINK or "title" in opening.attrs or not text.content:
            continue
        address = str(opening.attrs["href"])
        if address in {text.content, f"mailto:{text.content}"}:
            opening.info = closing.info = _BARE_LINK
            yield address


def _literal(text: str) -> Token:
    return Token(_LITERAL, "", 0, content=text)


def _show_inline(token: Token) -> None:
    if token.type == "html_inline":
        token.type = "text"
    title = token.attrs.get("title") if token.type == "link_open" else None
    if title:
        token.attrs["href"] = f'{token.attrs["href"]} "{title}"'
