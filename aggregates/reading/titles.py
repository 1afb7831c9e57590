"""The title and the summary of a prompt, as spans of its text: what a person wants, without what leads up to it."""

import re

from aggregates.event import Span
from aggregates.reading.pasted import PromptText
from aggregates.reading.sentences import VERBS, patterns

TITLE_CHARS_MAX = 60
SUMMARY_CHARS_MAX = 240
_BEFORE = patterns("titles")
_ORDERS = frozenset[str]().union(*VERBS.values())
_TITLE_WORDS_MIN = 3
_TITLE_SENTENCE_MIN = 26  # a title ends with a sentence from so many characters on
_LINE = re.compile(r"\S[^\n]*")
_PLACE_SIGNS = frozenset("/\\.#:")
_BELOW_CHARS = 600


def _line_at(source: str, start: int) -> tuple[int, int]:
    """From `start` to the end of its line."""
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
    begun = start
    while begun < end and source[begun] in "#*->•– \t":
        begun += 1
    start = begun if source[begun:end].strip() else start  # a line of nothing but ornaments is its own title
    ordered = _BEFORE["commands"].match(source, start, end)
    if ordered is not None and ordered[1].lower() in _ORDERS and len(source[start:end].split()) > _TITLE_WORDS_MIN:
        start = ordered.end()
    attached = _BEFORE["attached"].match(source, start, end)
    if attached is not None and len(source[attached.end() : end].split()) > _TITLE_WORDS_MIN:
        start = attached.end()
    start, end = _after_thanks(source, start, end)
    asks = _BEFORE["asks for"].match(source, start, end)
    if asks is not None and len(source[asks.end() : end].split()) >= _TITLE_WORDS_MIN:
        start = asks.end()
    # At a sentence's end that is not too early, else between words, and within no link.
    cut = cut_end(source, start, end, TITLE_CHARS_MAX, _TITLE_SENTENCE_MIN)
    link = source.rfind("](", start, cut)
    end = link + 1 if link > start + TITLE_CHARS_MAX // 2 else cut
    return _placed(looked, source, start, end), summary


def _after_thanks(source: str, start: int, end: int) -> tuple[int, int]:
    """Where the line that names the goal begins and ends, without the pictures and thanks before it."""
    found = _BEFORE["said first"].match(source, start, end)
    if found is None:
        return start, end
    at = found.end()
    if at == end:  # nothing else in this line: the next one that says something
        rest = source[at : at + TITLE_CHARS_MAX * 2]
        at += len(rest) - len(rest.lstrip())
        at, end_of_next = _line_at(source, at)
        return (at, end_of_next) if source[at:end_of_next].strip() else (start, end)
    return (at, end) if len(source[at:end].split()) >= _TITLE_WORDS_MIN else (start, end)


def _told_after(source: str, start: int, end: int) -> tuple[int, int]:
    """After "Implement the following plan:" the heading that follows says more; after "When running:" a sentence."""
    heading = len(source[start:end].split()) >= _TITLE_WORDS_MIN
    for line in _LINE.finditer(source, end, end + 400):
        told = line[0].startswith("#") if heading else len(line[0].split()) > 2 * _TITLE_WORDS_MIN
        if told:
            return _line_at(source, line.start())
        if heading:
            break
    return start, end


def _names_alone(line: str) -> bool:
    """Whether a line is paths, links or mentions alone: it says where, and not what."""
    words = line.split(None, _TITLE_WORDS_MIN)
    return 0 < len(words) <= _TITLE_WORDS_MIN and all(
        word[0] == "@" or not _PLACE_SIGNS.isdisjoint(word.rstrip(".:")) for word in words
    )


def _said_below(source: str, start: int, end: int) -> tuple[int, int]:
    """The first line below that says a sentence, else one of a few words; the line itself where there is neither."""
    below = [line for line in _LINE.finditer(source, end, end + _BELOW_CHARS) if not _names_alone(line[0])]
    for least in (_TITLE_WORDS_MIN + 2, _TITLE_WORDS_MIN):
        for line in below:
            if len(line[0].split()) >= least:
                return _line_at(source, line.start())
    return start, end


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
