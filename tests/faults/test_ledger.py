"""Every difference between acknowledgements and the log is found."""

from collections import Counter

import msgspec
import pytest

from tests.faults.ledger import NEVER, Capture, Ledger

SENT = Capture("/v1/logs", "key", b"", frozenset({"record 1", "record 2"}))


def ledger(acknowledged_at: float) -> Ledger:
    kept = Ledger()
    kept.note(msgspec.structs.replace(SENT, acknowledged_at=acknowledged_at))
    return kept


@pytest.mark.parametrize(
    ("acknowledged_at", "marks", "flaw"),
    [
        (1.0, {"record 1": 1, "record 2": 1}, None),
        (NEVER, {}, None),
        (NEVER, {"record 1": 1, "record 2": 1}, None),
        (1.0, {}, "acknowledged and not in the log"),
        (1.0, {"record 1": 1}, "only half in the log"),
        (NEVER, {"record 1": 1}, "only half in the log"),
        (1.0, {"record 1": 1, "record 2": 2}, "in the log more than once"),
        (1.0, {"record 1": 1, "record 2": 1, "record 3": 1}, "in the log and never sent"),
    ],
)
def test_every_way_to_differ_is_seen(acknowledged_at: float, marks: dict[str, int], flaw: str | None) -> None:
    """What was not acknowledged may be there or not, but whole."""
    found = ledger(acknowledged_at).compare(Counter(marks))
    assert any(flaw in each for each in found.flaws) if flaw else found.flaws == []
