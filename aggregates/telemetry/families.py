"""How the spans of one export hang together: whose session a span without one is of, and which spans are innermost."""

from collections.abc import Iterable

import msgspec

from aggregates.telemetry.gen_ai import REQUESTS

STEPS_MAX = 64
"""How far up a span's parents are followed."""
SPANS_MAX = 200_000
"""Spans whose kin is remembered; an export with more of them is read without it from there on."""


class Kin(msgspec.Struct, frozen=True):
    """What others must know of a span."""

    trace_id: str | None
    span_id: str | None
    parent_id: str | None
    session: str | None
    operation: str | None


class Families:
    """The spans of one export, by their traces."""

    def __init__(self, spans: Iterable[Kin] = ()) -> None:
        self._spans: dict[tuple[str | None, str], Kin] = {}
        self._sessions: dict[str, set[str]] = {}
        self._outer: set[tuple[str | None, str]] = set()
        """Requests that another request is a part of."""
        for span in spans:
            self.add(span)

    def add(self, span: Kin) -> None:
        """Remember a span."""
        if span.span_id is not None and len(self._spans) < SPANS_MAX:
            self._spans[span.trace_id, span.span_id] = span
        if span.trace_id is not None and span.session is not None:
            self._sessions.setdefault(span.trace_id, set()).add(span.session)
        if span.operation in REQUESTS and span.parent_id is not None:
            self._outer.add((span.trace_id, span.parent_id))

    def is_leaf(self, span: Kin) -> bool:
        """Whether no other request is directly a part of this one."""
        return span.span_id is None or (span.trace_id, span.span_id) not in self._outer

    def session_of(self, span: Kin) -> str | None:
        """Its own, else that of its nearest parent here, else the only one of its trace."""
        each: Kin | None = span
        for _ in range(STEPS_MAX):
            if each is None:
                break
            if each.session is not None:
                return each.session
            each = None if each.parent_id is None else self._spans.get((each.trace_id, each.parent_id))
        known = self._sessions.get(span.trace_id or "", set())
        return next(iter(known)) if len(known) == 1 else None
