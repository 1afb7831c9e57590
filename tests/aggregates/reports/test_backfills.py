"""Deciding about backfills: one at a time for an organization, within bounds."""

from typing import Any

import msgspec
import pytest

from aggregates.event import Reason, Refused
from aggregates.reports.decide import RANGE_DAYS_MAX, decide_backfill, show_backfill
from aggregates.reports.events import BackfillRequested
from aggregates.times import US_PER_DAY
from tests.support.log import named

ACME, ANA = named("acme"), named("ana")
T0_US = 1_785_585_600_000_000


def wish(name: str = "first", **fields: Any) -> BackfillRequested:
    """Ten days of everybody in Acme, where there are five sub-sessions."""
    usual: dict[str, Any] = {
        "organization_id": ACME,
        "from_us": T0_US,
        "to_us": T0_US + 10 * US_PER_DAY,
        "sub_sessions": 5,
    }
    return BackfillRequested(backfill_id=named(name), received_at_us=T0_US, **(usual | fields))


@pytest.mark.parametrize("other", [{"developer_id": ANA}, {"from_us": T0_US + 1}, {"to_us": T0_US + 1}])
def test_another_one_has_to_wait(other: dict[str, Any]) -> None:
    """The first begins; the same again joins the one that runs."""
    assert decide_backfill(wish(), None) == decide_backfill(wish("second"), wish()) == wish()
    reply = decide_backfill(wish("second", **other), wish())
    assert isinstance(reply, Refused)
    assert (reply.reason, str(named("first")) in reply.message) == (Reason.CONFLICT, True)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"from_us": T0_US, "to_us": T0_US}, {"from_us": -1}, {"to_us": 2**62}),
        {"to_us": T0_US + RANGE_DAYS_MAX * US_PER_DAY + 1},
    ],
)
def test_a_range_out_of_bounds_is_refused(wrong: dict[str, Any]) -> None:
    """Empty, before 1970, after 9998, or longer than ten years."""
    reply = decide_backfill(wish(**wrong), None)
    assert isinstance(reply, Refused)
    assert (reply.reason, "range" in reply.message) == (Reason.INVALID, True)


@pytest.mark.parametrize(("status", "done"), [("running", 2), ("completed", 5), ("failed", 2)])
def test_it_is_shown_with_text_for_ids_and_times(status: Any, done: int) -> None:
    """What is done goes with the share of the log."""
    shown = show_backfill(wish(developer_id=ANA), status, 0.5)
    assert msgspec.to_builtins(shown) == {
        "backfill_id": str(named("first")),
        "status": status,
        "organization_id": str(ACME),
        "developer_id": str(ANA),
        "from": "2026-08-01T12:00:00Z",
        "to": "2026-08-11T12:00:00Z",
        "sub_sessions": 5,
        "done": done,
        "requested_at": "2026-08-01T12:00:00Z",
    }
