"""What a person or an agent states: of the work that it works or fails, of itself that it could not do it.

Each is said in a clause or sentence, and only where nothing in it says otherwise.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from aggregates.event import Span
from aggregates.reading.sentences import TYPED, VERBS, Cutter, held, patterns

Saying = tuple[frozenset[str], re.Pattern[str]]
"""A pattern, asked only of a text that holds one of its words."""


class Sayings:
    def __init__(self, patterns: Iterable[Saying]) -> None:
        self.patterns = tuple(patterns)
        self._words = tuple(frozenset[str]().union(*(words for words, _ in self.patterns)))
        self._of_ascii = tuple(filter(str.isascii, self._words))
        self._of_two = {word for word in self._words if " " in word}

    def asked_of(self, text: str, *, altered: bool = False) -> list[Saying]:
        """Those to be asked of parts of the text, with the words in it; of `altered` parts also with any two words."""
        here = {word for word in (self._of_ascii if text.isascii() else self._words) if word in text}
        kept = here | self._of_two if altered else here
        return [(words & kept, pattern) for words, pattern in self.patterns if not here.isdisjoint(words)]


def sayings(group: str) -> Sayings:
    return Sayings((frozenset(words.split("|")), pattern) for words, pattern in patterns(group).items())


def told(asked: Iterable[Saying], text: str) -> Iterator[re.Match[str]]:
    for words, pattern in asked:
        if [word for word in words if word in text]:
            yield from pattern.finditer(text)


# That a person says of the work that it works, was merged or earns thanks, or that it does not work.

_WORKS, _WORKS_NOT = sayings("it works"), sayings("it does not work")
_SHORTLY = Sayings(_WORKS_NOT.patterns + sayings("it does not work, shortly").patterns)
_SHORT_CHARS = 120
_SAYS, _WORD = patterns("success"), re.compile(r"[\w']+")
_WORDS = Cutter(_WORD)
_SAID_CHARS_MAX = 400  # in longer words of a person, that something works is no more than a part of what is told
_SAID_FIRST_CHARS, _FIRST_WORDS = 240, 2
_DOING = frozenset().union(*VERBS.values()) - VERBS["operate"] - {"get"}


def said_of_the_work(own: str) -> Literal["works", "fails"] | None:
    """What the last clause says that says either: no question, no doubt, and no "but" after it.

    Of longer words only the beginning is looked at, and only for what fails.
    """
    text = own[: _SAID_FIRST_CHARS if len(own) > _SAID_CHARS_MAX else None].lower().replace("’", "'")
    if not TYPED.keys().isdisjoint(_WORDS.cut(text)[0]):
        text = _WORD.sub(lambda found: TYPED.get(found[0], found[0]), text)
    if held(text, "no") and _SAYS["no"].fullmatch(text.strip(" .!,")):
        return "fails"
    shortly = len(own) <= _SHORT_CHARS and not (_SAYS["wishes"].search(text) or _DOING & {*text.split()[:_FIRST_WORDS]})
    likens = "like" in text or "^^" in text or not text.isascii()
    altered = likens or " ".join(text.split()) != text
    fails = (_SHORTLY if shortly else _WORKS_NOT).asked_of(text, altered=altered)
    works = _WORKS.asked_of(text, altered=altered) if len(own) <= _SAID_CHARS_MAX else []
    said: Literal["works", "fails"] | None = None
    only_if = False
    for clause, end in _SAYS["clauses"].findall(text) if works or fails else ():
        line = " ".join((_SAYS["like"].sub(" ", clause) if likens else clause).split())
        if said == "works" and _SAYS["but"].match(clause):
            said = None
        if _SAYS["another"].match(clause):
            break
        if only_if or "?" in end or "？" in end:
            only_if = False
        elif _SAYS["when"].match(clause):
            only_if = end.startswith(",")
        elif any(not _SAYS["asks"].search(line, 0, found.end()) for found in told(fails, line)):
            # Of longer words it only takes back what fails.
            said, works = "fails", _WORKS.asked_of(text, altered=altered)
        elif _works(line, works):
            said = "works"
    return said if said == "fails" or len(own) <= _SAID_CHARS_MAX else None


def thanks_for_something_else(own: str) -> bool:
    """Thanks for an explanation or for a try say nothing of the work."""
    text = own[:_SAID_CHARS_MAX].lower()
    return bool(held(text, "for something else") and _SAYS["for something else"].search(text))


def _works(line: str, works: Iterable[Saying]) -> bool:
    """Whether a clause says so, and nothing before it or of it that it speaks of something else."""
    sure = any(not _SAYS["doubts"].search(line, 0, found.start()) for found in told(works, line))
    return sure and not any(_SAYS[each].search(line) for each in ("for something else", "asks", "of a noun"))


# That an answer says of itself that it fails, is not done, or could not be done (scoring.md, 4: a stated failure).

FailureKind = Literal["gives up", "fails", "may fail", "is untried"]
"""The agent could not do it, a thing fails, what says so only beside a failed check, or nobody tried it."""
LOOKED_CHARS = 1_200  # an answer says how it ends in its last words
_MASKED_CHARS = 4_096  # of so many what is no own statement is looked for
_FAILS = patterns("failure")
_STATED: dict[FailureKind, Sayings] = {kind: sayings(f"it {kind}") for kind in get_args(FailureKind)}
_WEAK = frozenset({"may fail", "is untried"})  # do not stand where something else was said before
_UNSAY = ("denials", "conditions")
SAID_SENTENCE = re.compile(r"[^\n.!?;。]+(?:[.!?](?=[^\s.!?])[^\n.!?;。]*)*[.!?;。]*")


class StatedFailure(NamedTuple):
    kind: FailureKind
    said: Span


def stated_failure(text: str) -> StatedFailure | None:
    """The last sentence that says so, unless a later one says that it was done, or excuses it."""
    found: StatedFailure | None = None
    cut_off, own = own_end(text)
    first = max(0, len(own) - LOOKED_CHARS)
    end = own[first:].lower().replace("’", "'")
    asked = {kind: those for kind, said in _STATED.items() if (those := said.asked_of(end))}
    for sentence in SAID_SENTENCE.finditer(own, first) if asked else ():
        line = sentence[0].lower().replace("’", "'")
        if line.rstrip().endswith("?"):
            continue
        kind = _failing(line, asked)
        if kind is not None and not (found is not None and kind in _WEAK):
            start = cut_off + sentence.start() + len(sentence[0]) - len(sentence[0].lstrip(" \t-*#•"))
            start = found.said.start if found and found.said.end == cut_off + sentence.start() else start
            found = StatedFailure(kind, Span(start, cut_off + sentence.end()))
        elif found is not None and (_FAILS["excused"].search(line) or _says_done(line)):
            found = None
    return found


@lru_cache(maxsize=1)  # two questions are asked of each answer
def own_end(text: str) -> tuple[int, str]:
    """Where an answer's end begins, and that end, with code, quotes and messages as underscores."""
    cut_off = max(0, len(text) - _MASKED_CHARS)
    text = text[cut_off:]
    begun = text.find("```") + 3 if text.count("```") % 2 else 0
    return cut_off, "\n" * begun + _FAILS["not its own"].sub(lambda found: "_" * len(found[0]), text[begun:])


def _failing(line: str, asked: Mapping[FailureKind, Iterable[Saying]]) -> FailureKind | None:
    for kind, said in asked.items():
        for found in told(said, line):
            if _FAILS["excused"].search(line):
                return None
            turned = [each.end() for each in _FAILS["turns"].finditer(line, 0, found.start())]
            before, within = (*turned[-1:], 0)[0], found.start() if kind == "gives up" else found.end()
            denied = kind != "gives up" and _FAILS["denials"].search(line, before, found.start())
            on_condition = _FAILS["conditions"].search(line, before, within) or _FAILS["after"].match(line, found.end())
            if not (denied or on_condition):
                return kind
    return None


def _says_done(line: str) -> bool:
    done = _FAILS["done"].search(line)
    unsure = _FAILS["a part"].search(line) or (
        done and any(_FAILS[each].search(line, 0, done.start()) for each in _UNSAY)
    )
    return done is not None and not unsure
