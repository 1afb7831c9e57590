"""References: paths, symbols, flags, tickets and whatever else in a text a reader could find."""

import re

from aggregates.feature_names import SHAPE

_REFERENCES_MAX = 12
"""More are not counted."""
_FIRST_CHARS = 60
_COUNTS = ((1, SHAPE["reference"]), (2, SHAPE["references 2"]), (4, SHAPE["references 4"]), (8, SHAPE["references 8"]))
_NUMBER, _FIRST = SHAPE["number"], SHAPE["reference first"]

# Matched at a chunk's beginning and only asked whether it does, so each form is as short as it may be.
_REFERENCE = re.compile(
    r"""[\w-]+ (?: /[\w.-] | \.[a-zA-Z]{1,5}\b ) | \w*_\w | (?:~|\.{1,2})?/[\w.@~+-] | [a-z]+[A-Z] | [A-Z][a-z]+[A-Z]
    | \w+\( | --?[a-zA-Z][\w-] | `[^`\n]+` | https?://\S | @[\w./~-] | \#\d | [A-Z]{3} | [A-Z]{2,10}-\d
    | [0-9a-f]{7} | \d+-\d""",
    re.VERBOSE,
)
_NOT_REFERENCES = frozenset(
    {
        *("e.g", "i.e", "and/or", "etc.", "w/", "w/o", "URL", "API", "CLI", "JSON"),
        *("OK", "AND", "NOT", "THE", "FOR", "BUT", "ALL", "ANY", "YES", "NOW"),
    }
)
_AROUND = ".,;:!?()[]{}\"'*<>“”‘’…"
"""What may stand around a chunk without being part of it."""


def find_references(looked_at: str, own: str, active: set[int]) -> tuple[int, int] | None:
    """Add what references `looked_at` shows to `active`; where the first of them stands in `own`."""
    # Most chunks are plain lower-case words; they are put aside before anything is called for them.
    odd = [chunk for chunk in looked_at.split() if not (chunk.isalpha() and chunk.islower())]
    count, first = 0, ""
    for chunk in odd:
        bare = chunk.strip(_AROUND)
        if bare.isalpha() and (bare.islower() or bare.istitle()):
            continue
        if _is_reference(bare, chunk):
            active.add(_kind(bare))
            first = first or chunk
            count += 1
            if count == _REFERENCES_MAX:
                break
        elif bare.isdigit():
            active.add(_NUMBER)
    active.update([number for least, number in _COUNTS if count >= least])
    return _place(first, own, active) if count else None


def _is_reference(bare: str, chunk: str) -> bool:
    if not bare or bare in _NOT_REFERENCES:
        return False
    if _REFERENCE.match(bare) is not None:
        return True
    return "`" in chunk and _REFERENCE.match(chunk.strip("(,.;:")) is not None


def _kind(bare: str) -> int:
    """The feature of a reference of this kind."""
    if "://" in bare:
        return SHAPE["url"]
    if bare[0] == "@":
        return SHAPE["mention"]
    if bare[0] == "-":
        return SHAPE["flagged"]
    if "/" in bare or "." in bare:
        return SHAPE["path"]
    return SHAPE["code name"] if "`" in bare else SHAPE["symbol"]


def _place(first: str, own: str, active: set[int]) -> tuple[int, int]:
    start = own.find(first)
    if start < _FIRST_CHARS:
        active.add(_FIRST)
    return start, start + len(first.rstrip(".,;:!?"))
