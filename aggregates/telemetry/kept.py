"""The part of an export that is kept: OTLP JSON again, with the secrets taken out of every text in it.

All of it is canonical JSON. That is why a text can be found, and replaced, by its bytes between two quotes: those stand
nowhere else but where a text begins and ends, or inside a text behind a backslash, where it does no harm.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile

import msgspec

_BACKSLASH, _QUOTE = b"\x01", b"\x02"  # stand in for their escaped forms; JSON has no bare control characters


def without_secrets(texts: Sequence[bytes]) -> tuple[list[bytes], Counter[str]]:
    """The texts, and what was taken out of them; a string that repeats in one text counts once."""
    from aggregates.reading.redaction import redact_among  # late: loaded with the first text

    # Every second piece is a string, members' names too, still escaped.
    cut = [text.replace(b"\\\\", _BACKSLASH).replace(b'\\"', _QUOTE).split(b'"') for text in texts]
    strings = list({string for pieces in cut for string in pieces[1::2]})
    plain = msgspec.json.decode(_joined([b"[", b'","'.join(strings), b"]"]), type=list[str]) if strings else []
    dirty = {strings[index]: found for index, found in redact_among(plain).items()}
    redactions: Counter[str] = Counter()
    cleaned = list(texts)
    for place, pieces in enumerate(cut) if dirty else ():
        here = dirty.keys() & set(pieces[1::2])
        if here:
            for each in here:
                redactions.update(dirty[each].counts)
            encoded = {each: msgspec.json.encode(dirty[each].text)[1:-1] for each in here}
            pieces[1::2] = [encoded.get(each, each) for each in pieces[1::2]]
            cleaned[place] = _joined(pieces)
    return cleaned, redactions


def _joined(pieces: Sequence[bytes]) -> bytes:
    return b'"'.join(pieces).replace(_QUOTE, b'\\"').replace(_BACKSLASH, b"\\\\")


class Branch(msgspec.Struct, frozen=True):
    """How the JSON opens and closes around the records of one section, from the outside in."""

    opens: tuple[bytes, ...]
    closes: tuple[bytes, ...]

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.opens))


def assembled(top: str, branches: Iterable[Branch], records: Iterable[bytes]) -> str:
    """One export with these records in this order; neighbours under the same branch share it."""
    pieces: list[bytes] = []
    current = Branch((), ())
    for branch, record in zip(branches, records, strict=True):
        shared = len(branch.opens)
        if branch is not current:
            levels = zip(current.opens, branch.opens, strict=False)
            shared = len(list(takewhile(lambda level: level[0] == level[1], levels)))
            pieces += reversed(current.closes[shared:])
        if pieces:
            pieces.append(b",")
        pieces += (*branch.opens[shared:], record)
        current = branch
    pieces += reversed(current.closes)
    return f'{{"{top}":[{b"".join(pieces).decode()}]}}'
