"""Texts of people and agents as Markdown: no link, image, table or HTML; habits marked; nothing printed twice."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from aggregates.ids import plain
from svc_http.pages.words import HABITS, counted

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

TEXT_CHARACTERS_MAX = 4_000  # of a text; of a longer one the beginning
HTML_CHARACTERS_MAX = 64_000
_OFF = ("image", "link", "reference", "autolink", "table")  # each is slow on texts that are made to be
_REPEAT_CHARACTERS_MIN = 300
_FORMATS = re.compile(r"^[ \t]*(?:#{1,6}|>+|[-+*])[ \t]|^[ \t]*(?:---+|```\w*)[ \t]*$|\*\*|`", re.MULTILINE)


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # late: loading it takes a tenth of a second

    return MarkdownIt("js-default", {"html": False, "breaks": True}).disable(list(_OFF))


def rendered(text: str, quotes: Mapping[str, str] | None = None, found: re.Pattern[str] | None = None) -> Markup:
    """A text, with the words that earned a habit marked, and what was looked for. `quotes`: habit → words."""
    text = plain(text[:TEXT_CHARACTERS_MAX])
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type.startswith("heading"):
            token.tag = "p"  # the page has headings of its own
            if token.nesting == 1:
                token.attrSet("class", "heading-of-text")
        if token.type == "inline" and token.children and (quotes or found):
            token.children = list(_marked(token.children, quotes or {}, found))
    html = parser.renderer.render(tokens, parser.options, {})
    return Markup(html) if len(html) <= HTML_CHARACTERS_MAX else Markup("<p>{}</p>").format(text)


def _marked(
    tokens: Sequence["Token"], quotes: Mapping[str, str], looked_for: re.Pattern[str] | None
) -> Iterator["Token"]:
    """Each text with its part of what is quoted in a mark of its own: marks never cross other tags."""
    from markdown_it.token import Token

    places = _places("".join(map(_told, tokens)), quotes, looked_for)
    at = 0
    for token in tokens:
        told = _told(token)
        if token.type != "text":
            yield token
            at += len(told)
            continue
        done = 0
        for start, end, habit in places:
            first, last = max(start - at, done), min(end - at, len(told))
            if first < last:
                yield Token("text", "", 0, content=told[done:first])
                yield Token("mark_open", "mark", 1, attrs={"title": HABITS.get(habit, habit)} if habit else {})
                yield Token("text", "", 0, content=told[first:last])
                yield Token("mark_close", "mark", -1)
                done = last
        yield Token("text", "", 0, content=told[done:])
        at += len(told)


def _told(token: "Token") -> str:
    return " " if token.type in ("softbreak", "hardbreak") else token.content


def _places(text: str, quotes: Mapping[str, str], looked_for: re.Pattern[str] | None) -> list[tuple[int, int, str]]:
    """Where the words stand, those of no habit as they were looked for; where two lie over each other, the first."""
    found = [(*match.span(), "") for match in looked_for.finditer(text)] if looked_for is not None else []
    for habit, quote in quotes.items():
        if (words := quote.split()) and (match := re.search(r"\s+".join(map(re.escape, words)), text)):
            found.append((*match.span(), habit))
    kept: list[tuple[int, int, str]] = []
    for place in sorted(found):
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept


def excerpt(text: str, characters: int) -> str:
    """So much of the beginning on one line, whole words, without what only formats."""
    line = " ".join(_FORMATS.sub(" ", plain(text[: 8 * characters])).split())
    if len(line) <= characters:
        return line + ("…" if len(text) > 8 * characters else "")
    return line[:characters].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"


class Shown:
    """The lines that a page has shown so far, each with the turn that showed it first."""

    def __init__(self) -> None:
        self._turn_of: dict[str, int] = {}

    def new_in(self, text: str, turn: int) -> str:
        """The text; of long parts that an earlier text had, only where they stand."""
        parts: list[str] = []
        known: list[str] = []
        for line in text.splitlines():
            if self._turn_of.get(line.strip(), turn) < turn or (known and not line.strip()):
                known.append(line)
            else:
                parts += [*self._short(known), line]
                known = []
        parts += self._short(known)
        for line in text.splitlines():
            if line.strip():
                self._turn_of.setdefault(line.strip(), turn)
        return "\n".join(parts)

    def _short(self, lines: list[str]) -> list[str]:
        if sum(map(len, lines)) < _REPEAT_CHARACTERS_MIN:
            return lines
        count = sum(bool(line.strip()) for line in lines)
        first = next(self._turn_of[line.strip()] for line in lines if line.strip())
        return ["", f"*… {counted(count, 'line')} as in turn {first}*", ""]
