"""Which checks a prompt asks for, and which ones a command is: by the same names, so that they can be compared.

A name is a kind (`test`, `lint`, `e2e`), a script or target (`fail.sh`, `size-check`), a file that is checked, or how a
command begins. A kind with a star stands for all that there is of that kind.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, dropwhile

from aggregates.reading.sentences import CHECK_KINDS, HELD, LISTS, held, patterns

_CLAUSES = re.compile(r"(?>(?:[^.!?;\n。]+|[.!?;](?!\s|$))+)")
_PARTS, _AT = re.compile(r"[a-z0-9]+"), re.compile(r"::|[#:]\d")
_SAID = patterns("checks")
_KIND_OF = {word: kind for kind, words in CHECK_KINDS.items() for word in words}
_PLAIN = ("test", "lint", "types", "build")  # what a check of everything covers
_NAMED_MAX, _WORDS_MAX, _HEAD_MAX = 8, 12, 4


def _found(name: str, clause: str) -> Iterator[re.Match[str]]:
    return _SAID[name].finditer(clause) if held(clause, name) else iter(())


def named_checks(own: str) -> list[str]:
    """What clauses that speak of a check name: "the check is `sh fail.sh`", "verify with the e2e tests"."""
    text = own.lower()
    speaking = held(text, "a check")
    clauses = _CLAUSES.findall(text) if speaking else ()
    told = [each for each in clauses if [word for word in speaking if word in each]]
    return list(dict.fromkeys(chain.from_iterable(map(_named, told))))[:_NAMED_MAX]


def _named(clause: str) -> list[str]:
    """Scripts and commands; where it names none, a place or special kind; else a usual kind."""
    places = [found[1] or found[2] for found in _found("a place", clause)]
    if not places and not _SAID["a check"].search(clause):
        return []
    lines = "&&".join([found[1] or found[0] for found in _found("a command", clause)]).split("&&")
    names = [found[1] for found in _found("a script", clause)]
    names += chain.from_iterable([check_names(line.split()) for line in lines if line])
    if not names:
        special = [next(filter(None, found.groups())) for found in _found("special", clause)]
        names = [_KIND_OF.get(each, each) for each in (*places, *special)]
    return names or [kind for kind in _PLAIN if kind in HELD and held(clause, kind) and _SAID[kind].search(clause)]


def check_names(words: Sequence[str], *, run: bool = False, check: bool = True) -> list[str]:
    """The names of a command. `run`: with what it checks besides; `check`: whether it is a check by itself."""
    told = [word.lower().rstrip("/") for word in words[:_WORDS_MAX] if word[:1] != "-" and "=" not in word]
    programs = [word.rsplit("/", 1)[-1].removesuffix(".exe") for word in told[:1]] + told[1:]
    left = list(dropwhile(LISTS["before_a_check"].__contains__, programs)) or programs[-1:]
    script = _SAID["script"].fullmatch(left[0]) if left else None
    head = [script[1] if script else each for each in left[:1]]
    head += [word for word in left[1:_HEAD_MAX] if not {"/", "."} & {*word}]
    parts = {word: {word} if word in _KIND_OF else {*_PARTS.findall(word)} for word in head}
    kinds = [_KIND_OF[word] for word in head if word in _KIND_OF] or [
        _KIND_OF[part] for word in head for part in _PARTS.findall(word) if part in _KIND_OF
    ]
    kind = min(kinds, key=lambda each: (each == "check", each in _PLAIN), default=None)
    own = [word for word in head if kind and {_KIND_OF.get(part) for part in parts[word]} >= {None, kind}]
    if script or (kind is None if len(left) < len(programs) else "/" in "".join(told[:1])):
        own = head[:1]
    files = [name for word in left[1:] if kind and (name := _file(word))]
    called = [" ".join(left[:count]) for count in range(2, min(len(left), _HEAD_MAX) + 1)]
    if not run:
        return [*own, *files, *called[-1:], *([] if kind is None else [f"{kind}*"] if own or files else [kind])]
    if kind is None or not (check or kind not in ("check", *_PLAIN)):
        return [*own, *called]
    wide = kind == "check" or ("build" in words and not LISTS["builds_and_tests"].isdisjoint(words))
    covers = dict.fromkeys([kind, *(_PLAIN if wide else () if kind in _PLAIN else ("test",))])
    return [*own, *files, *called, *covers, *([] if files else [f"{each}*" for each in covers])]


def _file(word: str) -> str | None:
    """The name of a file or folder; none of all that there is."""
    name = _AT.split(word)[0].rstrip("/").rsplit("/", 1)[-1]
    return name if ("/" in word or "." in word) and name.strip(".*") else None
