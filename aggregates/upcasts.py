"""How an event of an older version becomes one of the present version.

A field that is added with a default needs nothing here. Anything more raises the event's `VERSION` and
adds one entry that takes the fields of the version before to those of the next; entries are applied in
turn. A field that holds words keeps its name for ever: the sealed text is found by it.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Fields = dict[str, Any]
"""The fields of one event as they stand in the log, before they are given types."""

Upcast = Callable[[Fields], Fields]

UPCASTS: Mapping[tuple[str, int], Upcast] = MappingProxyType({})
"""(topic, version) → the step from that version to the next; empty while all events are at their first."""


def upcast(
    topic: str,
    fields: Fields,
    *,
    written: int,
    wanted: int,
    steps: Mapping[tuple[str, int], Upcast] = UPCASTS,
) -> Fields:
    """The fields as written in one version, as those of the wanted one. KeyError: no such step is known."""
    if written > wanted:
        raise KeyError(f"{topic} of version {written}, known up to {wanted}")
    for version in range(written, wanted):
        fields = steps[topic, version](fields)
    return fields
