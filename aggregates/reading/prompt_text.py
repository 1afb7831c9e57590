"""A prompt's own words, apart from what was pasted, how they open, and its title and summary.

Line by line and linear; of a long text only the head and the tail are looked at.
"""

from bisect import bisect_right
from itertools import accumulate, islice

import msgspec

from aggregates.event import Span
from aggregates.reading.readings import HEAD_CHARS, TAIL_CHARS
from aggregates.reading.sentences import VERBS, held, patterns

_FENCES = ("```", "~~~", '"""')
_PASTED = patterns("pasted")
_BEFORE_CHARS = 200  # so much of a sentence before the judge is named belongs to it
_ORDERED = [*patterns("orders").values()]
_ORDERS = tuple(zip(_ORDERED[::2], _ORDERED[1::2], strict=True))
"""A verb, and what may follow it: the first of each is looked for, so that a sentence is read once."""


class PromptText(msgspec.Struct, frozen=True):
    """The part of a text that was looked at, and its own lines without what was pasted."""

    text: str  # head and tail of the original
    own: str
    starts: tuple[tuple[int, int], ...]  # (offset in `own`, offset in the original) of each own line, ascending
    pasted_chars: int  # characters of the original in pasted lines; the part that was not looked at counts

    def span(self, start: int, end: int) -> Span:
        """The span in the original text of [start, end) of `own`; kept within the line that holds `start`."""
        line = max(bisect_right(self.starts, (start, 1 << 62)) - 1, 0)
        own_start, original = self.starts[line]
        line_end = self.own.find("\n", start)
        stop = end if line_end < 0 else min(end, line_end)
        return Span(original + start - own_start, original + max(stop, start) - own_start)


def split_pasted(text: str) -> PromptText:
    """Pasted are blocks, dumps, traces, logs, diffs, tables."""
    gap = max(len(text) - HEAD_CHARS - TAIL_CHARS, 0)
    head = text[:HEAD_CHARS] + "\n" + text[-TAIL_CHARS:] if gap else text
    own, starts, pasted = _own_lines(head, gap)
    return PromptText(head, _without_orders("\n".join(own)), tuple(starts), pasted + gap)


def pasted_lines(text: str) -> str:
    """What was pasted into the head of a text, line by line."""
    head = text[:HEAD_CHARS]
    own = {at for _, at in _own_lines(head, 0)[1]}
    lines = head.split("\n")
    starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=0)
    return "\n".join(line for at, line in zip(starts, lines, strict=True) if at not in own)


def _without_orders(own: str) -> str:
    """The own lines with blanks for every sentence that tells the judge what to say of them: it has no say."""
    if not held(own.lower(), "to the judge"):
        return own
    pieces: list[str] = []
    done = 0
    for named in _PASTED["to the judge"].finditer(own):
        low = max(done, named.start() - _BEFORE_CHARS)
        before = own[low : named.start()]
        begun = low + 1 + max(before.rfind(mark) for mark in ".!?\n")
        said = own[begun : named.end()]
        orders = any((told := verb.search(said)) and what.search(said, told.end()) for verb, what in _ORDERS)
        pieces += (own[done:begun], " " * len(said) if orders else said)
        done = named.end()
    return "".join((*pieces, own[done:]))


def _own_lines(text: str, gap: int) -> tuple[list[str], list[tuple[int, int]], int]:
    own: list[str] = []
    starts: list[tuple[int, int]] = []
    fence = ""
    at = own_at = pasted = 0
    is_machine = _PASTED["line of a machine"].match
    for line in text.split("\n"):
        stripped = line.lstrip()
        mark = stripped[:3]
        if fence:
            pasted += len(line)
            if mark == fence or (fence == '"""' and fence in line):
                fence = ""
        elif mark in _FENCES:
            pasted += len(line)
            fence = mark if stripped.count(mark) == 1 or mark == "~~~" else ""
        elif stripped and (mark == "\t\t\t" or is_machine(stripped)):
            pasted += len(line)
        else:
            starts.append((own_at, at if not gap or at <= HEAD_CHARS else at + gap - 1))
            own.append(line)
            own_at += len(line) + 1
        at += len(line) + 1
    return own, starts, pasted


# How a prompt opens, which the boundary judge asks for. Only the head of a person's own words is looked at.

_LOOKED_CHARS = 400
_NEAR_CHARS = 220
_OWN_WORDS_MIN = 18
_LONG_WORDS_MIN = 12
_ASK_WORDS_MIN = 8
_ADDS_WORDS_MAX = 25
_END_CHARS = 24
_RUN_END_CHARS = 600  # what a run came to stands at its end
_SHIP_WORDS_MAX = 15
_OPENS = patterns("openings")


def prompt_opening(text: str, own: str, words: int) -> set[str]:
    """The ways in which a prompt opens; `own` is what the person wrote of `text`, `words` how many."""
    said = own.strip()
    head = said[:_LOOKED_CHARS].lower()
    if not head.isascii():  # patterns that know only ASCII take half the time, and find the same
        head = _OPENS["other letter"].sub("_", head)
    near = head[:_NEAR_CHARS]
    first_words = head.split(None, 6)[:6]
    yes = _OPENS["accepts"].match(head)
    nobody = words > _OWN_WORDS_MIN and not _OPENS["speaks of somebody"].search(head)
    ships = 0 < words < _SHIP_WORDS_MAX and held(head, "asks to merge")
    found = {
        "names a new task": held(near, "names a new task") and _OPENS["names a new task"].search(near),
        "goes back": held(near, "goes back") and _OPENS["goes back"].search(" ".join(near.split(None, 14)[:14])),
        "picks from a list": _OPENS["picks from a list"].match(head),
        "goes on after a yes": words > _LONG_WORDS_MIN
        and yes is not None
        and not _OPENS["links back at once"].match(head, yes.end()),
        "begins with now": _OPENS["begins with now"].match(head),
        "asks like a first prompt": words > _ASK_WORDS_MIN and _OPENS["asks like a first prompt"].match(head),
        "links back at once": _OPENS["links back at once"].match(head),
        "points back at once": _OPENS["points back"].search(" ".join(first_words[:5])),
        "speaks of nobody": nobody,
        "rates a severity": "severity" in head and _OPENS["rates a severity"].search(head),
        "pastes a failure": len(text) > len(own)
        and (
            _OPENS["failure of a run"].search(text[:_LOOKED_CHARS])
            or _OPENS["count of failures"].search(text[-_RUN_END_CHARS:])
        ),
        "adds to what is there": words <= _ADDS_WORDS_MAX and _OPENS["adds"].search(said[-_END_CHARS:].lower()),
        "passes on a comment": words > _LONG_WORDS_MIN
        and held(near, "passes on a comment")
        and _OPENS["passes on a comment"].search(near),
        "remarks like a reviewer": nobody and len(_OPENS["remark of a reviewer"].findall(head)) > 1,
        "asks to commit or merge": (ships and _OPENS["asks to merge"].match(head))
        or ("commit" in head and _OPENS["asks to commit"].search(head)),
        "names a step": held(head, "names a step") and _OPENS["names a step"].search(head),
        "speaks of the agent's work": "you" in head and _OPENS["speaks of the agent's work"].search(head),
        "wants or reports something": _OPENS["wants at once"].match(head) or _OPENS["wants or reports"].search(head),
        "leans on what was said": _OPENS["leans"].search(" ".join(first_words)) or _OPENS["leans at once"].match(head),
        "sets up the session": _OPENS["sets up the session"].match(text),
        "takes it over": held(head, "takes it over") and _OPENS["takes it over"].search(head),
        "opens with a template": _OPENS["opens with a template"].match(head),
    }
    return {name for name, holds in found.items() if holds}


# Its title and its summary: what a person wants, without what leads up to it.

TITLE_CHARS_MAX = 60
SUMMARY_CHARS_MAX = 240
_BEFORE = patterns("titles")
_VERBS = frozenset[str]().union(*VERBS.values())
_TITLE_WORDS_MIN = 3
_TITLE_SENTENCE_MIN = 26  # a title ends with a sentence from so many characters on
_PLACE_SIGNS = frozenset("/\\.#:")
_BELOW_CHARS = 600


def _line_at(source: str, start: int) -> tuple[int, int]:
    stop = source.find("\n", start)
    return start, len(source) if stop < 0 else stop


def title_and_summary(looked: PromptText) -> tuple[Span, Span]:
    source = next((lines for lines in (looked.own, looked.text) if lines.strip()), "")
    start, end = _line_at(source, len(source) - len(source.lstrip()))
    summary = _placed(looked, source, start, cut_end(source, start, end, SUMMARY_CHARS_MAX))
    line = source[start:end].rstrip()
    if line.endswith(":") and len(line) < TITLE_CHARS_MAX:
        start, end = _told_after(source, start, end)
    elif _names_alone(line):
        start, end = _said_below(source, start, end)
    said = source[start:end].lstrip("#*->•– \t")
    start = end - len(said) if said.strip() else start  # a line of nothing but ornaments is its own title
    ordered = _BEFORE["commands"].match(source, start, end)
    if ordered is not None and ordered[1].lower() in _VERBS and len(source[start:end].split()) > _TITLE_WORDS_MIN:
        start = ordered.end()
    attached = _BEFORE["attached"].match(source, start, end)
    if attached is not None and len(source[attached.end() : end].split()) > _TITLE_WORDS_MIN:
        start = attached.end()
    # Pictures and thanks come before the goal; where nothing else stands in their line, it is in the next one.
    thanks = _BEFORE["said first"].match(source, start, end)
    if thanks is not None and thanks.end() == end:
        rest = source[end : end + TITLE_CHARS_MAX * 2]
        below = _line_at(source, end + len(rest) - len(rest.lstrip()))
        start, end = below if source[slice(*below)].strip() else (start, end)
    elif thanks is not None and len(source[thanks.end() : end].split()) >= _TITLE_WORDS_MIN:
        start = thanks.end()
    asks = _BEFORE["asks for"].match(source, start, end)
    if asks is not None and len(source[asks.end() : end].split()) >= _TITLE_WORDS_MIN:
        start = asks.end()
    # At a sentence's end that is not too early, else between words, and within no link.
    cut = cut_end(source, start, end, TITLE_CHARS_MAX, _TITLE_SENTENCE_MIN)
    link = source.rfind("](", start, cut)
    end = link + 1 if link > start + TITLE_CHARS_MAX // 2 else cut
    return _placed(looked, source, start, end), summary


def _told_after(source: str, start: int, end: int) -> tuple[int, int]:
    """After "Implement the following plan:" the heading that follows says more; after "When running:" a sentence."""
    below = _BEFORE["line"].finditer(source, end, end + 400)
    if len(source[start:end].split()) >= _TITLE_WORDS_MIN:
        told = [line for line in islice(below, 1) if line[0].startswith("#")]
    else:
        told = [line for line in below if len(line[0].split()) > 2 * _TITLE_WORDS_MIN]
    return _line_at(source, told[0].start()) if told else (start, end)


def _names_alone(line: str) -> bool:
    """Whether a line is paths, links or mentions alone, or a severity: it does not say what."""
    words = line.split(None, _TITLE_WORDS_MIN)
    rated = _OPENS["rates a severity"].match(line.lower().lstrip("#* "))
    return 0 < len(words) <= _TITLE_WORDS_MIN and all(
        rated or word[0] == "@" or not _PLACE_SIGNS.isdisjoint(word.rstrip(".:")) for word in words
    )


def _said_below(source: str, start: int, end: int) -> tuple[int, int]:
    """The first line below that says a sentence, else one of a few words; the line itself where there is neither."""
    below = [line for line in _BEFORE["line"].finditer(source, end, end + _BELOW_CHARS) if not _names_alone(line[0])]
    leasts = (_TITLE_WORDS_MIN + 2, _TITLE_WORDS_MIN)
    said = (line.start() for least in leasts for line in below if len(line[0].split()) >= least)
    return next((_line_at(source, at) for at in said), (start, end))


def _placed(looked: PromptText, source: str, start: int, end: int) -> Span:
    return looked.span(start, end) if source is looked.own else Span(start, end)


def cut_end(source: str, start: int, end: int, most: int, least: int | None = None) -> int:
    """The end of a piece of at most `most` characters: at a sentence's end from `least` on, else between words."""
    while end > start and source[end - 1].isspace():
        end -= 1
    if end - start <= most:
        return end
    piece = source[start : start + most + 1]
    sentence = max(piece.rfind(". "), piece.rfind("? "), piece.rfind("! "))
    if sentence >= (most // 3 if least is None else least):
        return start + sentence + 1
    space = piece.rfind(" ")
    return start + (space if space > most // 2 else most)
