"""Putting the texts of a batch of records into one value, each redacted before it goes in."""

from collections.abc import Iterable

from aggregates.redaction import Redacted, redact_among
from aggregates.words import Span


class WordTable:
    """Collects texts and answers where each one stands. The same text stands once."""

    def __init__(self, *, redaction: bool = True) -> None:
        self._redaction = redaction
        self._pieces: list[str] = []
        self._spans: dict[str, Span] = {}
        self._length = 0
        self.redactions: dict[str, int] = {}
        """How many secrets of each kind were taken out."""

    def add_all(self, texts: Iterable[str | None]) -> None:
        """Put many texts in, looked through for secrets at once; `add` then answers where each one stands."""
        new = [text for text in dict.fromkeys(texts) if text is not None and text not in self._spans]
        found = redact_among(new) if self._redaction else {}
        for index, text in enumerate(new):
            redacted = found.get(index)
            self._spans[text] = self._append(text if redacted is None else self._counted(redacted))

    def add(self, text: str | None) -> Span | None:
        """The span at which the redacted text stands in `words`; None for None."""
        if text is None:
            return None
        if text not in self._spans:
            self.add_all((text,))
        return self._spans[text]

    @property
    def words(self) -> str:
        """All texts so far, one after the other."""
        return "".join(self._pieces)

    def _counted(self, redacted: Redacted) -> str:
        for kind, count in redacted.counts.items():
            self.redactions[kind] = self.redactions.get(kind, 0) + count
        return redacted.text

    def _append(self, text: str) -> Span:
        start = self._length
        self._pieces.append(text)
        self._length += len(text)
        return Span(start, self._length)
