"""Putting the texts of a batch of records into one value, each redacted before it goes in."""

from aggregates.redaction import redact
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

    def add(self, text: str | None) -> Span | None:
        """The span at which the redacted text stands in `words`; None for None."""
        if text is None:
            return None
        known = self._spans.get(text)
        if known is None:
            known = self._spans[text] = self._append(self._cleaned(text))
        return known

    @property
    def words(self) -> str:
        """All texts so far, one after the other."""
        return "".join(self._pieces)

    def _cleaned(self, text: str) -> str:
        if not self._redaction:
            return text
        redacted = redact(text)
        for kind, count in redacted.counts.items():
            self.redactions[kind] = self.redactions.get(kind, 0) + count
        return redacted.text

    def _append(self, text: str) -> Span:
        start = self._length
        self._pieces.append(text)
        self._length += len(text)
        return Span(start, self._length)
