"""References: paths, symbols, flags, tickets and whatever else in a text a reader could find."""

import re

from aggregates.feature_names import SHAPE

_REFERENCES_MAX = 12
"""More are not counted."""
_FIRST_CHARS = 60
_COUNTS = ((1, SHAPE["reference"]), (2, SHAPE["references 2"]), (4, SHAPE["references 4"]), (8, SHAPE["references 8"]))
_BY_FIRST_SIGN = {"@": SHAPE["mention"], "-": SHAPE["flagged"]}
_URL, _PATH, _CODE, _SYMBOL = SHAPE["url"], SHAPE["path"], SHAPE["code name"], SHAPE["symbol"]
_NUMBER, _FIRST = SHAPE["number"], SHAPE["reference first"]

# Matched at a chunk's beginning and only asked whether it does, so each form is as short as it may be.
_REFERENCE = re.compile(
    r"""[\w-]+ (?: /[\w.-] | \.[a-zA-Z]{1,5}\b ) | \w*_\w | (?:~|\.{1,2})?/[\w.@~+-] | [a-z]+[A-Z] | [A-Z][a-z]+[A-Z]
    | \w+\( | --?[a-zA-Z][\w-] | `[^`\n]+` | https?://\S | @[\w./~-] | \#\d | [A-Z]{3} | [A-Z]{2,10}-\d
    | [0-9a-f]{7} | \d+-\d""",
    re.VERBOSE,
)
_MATCH = _REFERENCE.match
_NOT_REFERENCES = frozenset(
    {
        *("e.g", "i.e", "and/or", "etc.", "w/", "w/o", "URL", "API", "CLI", "JSON"),
        *("OK", "AND", "NOT", "THE", "FOR", "BUT", "ALL", "ANY", "YES", "NOW"),
    }
)
_ASCII_AROUND = ".,;:!?()[]{}\"'*<>"
_AROUND = _ASCII_AROUND + "“”‘’…"
"""What may stand around a chunk without being part of it."""


def find_references(looked_at: str, own: str, active: set[int]) -> tuple[int, int] | None:
    """Add what references `looked_at` shows to `active`; where the first of them stands in `own`."""
    around = _ASCII_AROUND if looked_at.isascii() else _AROUND
    # Most chunks are plain words; they are put aside before anything is called for them.
    odd = [chunk for chunk in looked_at.split() if not (chunk.isalpha() and chunk.islower())]
    count, first = 0, ""
    for chunk in odd:
        bare = chunk.strip(around)
        if bare.isalpha() and (bare.islower() or bare.istitle()):
            continue
        if _MATCH(bare) is None and ("`" not in chunk or _MATCH(chunk.strip("(,.;:")) is None):
            if bare.isdigit():
                active.add(_NUMBER)
        elif bare and bare not in _NOT_REFERENCES:
            active.add(_kind(bare))
            first = first or chunk
            count += 1
            if count == _REFERENCES_MAX:
                break
    if not count:
        return None
    active.update([number for least, number in _COUNTS if count >= least])
    return _place(first, own, active)


def _kind(bare: str) -> int:
    """The feature of a reference of this kind."""
    if "://" in bare:
        return _URL
    if bare[0] in _BY_FIRST_SIGN:
        return _BY_FIRST_SIGN[bare[0]]
    if "/" in bare or "." in bare:
        return _PATH
    return _CODE if "`" in bare else _SYMBOL


def _place(first: str, own: str, active: set[int]) -> tuple[int, int]:
    start = own.find(first)
    if len(own[:start].lstrip()) < _FIRST_CHARS:
        active.add(_FIRST)
    return start, start + len(first.rstrip(".,;:!?"))
