"""What people and the service decide about the work: overrides, prices, reports, a backfill, an order to forget."""

from collections.abc import Sequence
from uuid import UUID

import trio

from aggregates.commands import Done, FailReport, ForgetDeveloper, StartReport
from aggregates.events import ReportRequested
from tests.golden.folder import Json
from tests.golden.world import World, at
from tests.support.catalogs import changing_lookup, lookup
from tests.support.log import named


async def publish(world: World, *models: str) -> None:
    """A catalog of list prices: of Claude, whose price has changed once, and of other models."""
    entries = [changing_lookup("claude-opus-4-6"), *map(lookup, models)]
    await world.admin("POST", "control/catalog", {"document": {"exact_lookups": entries}, "source": "golden"})


async def reprice(world: World) -> None:
    """What had no price gets one, in June and July."""
    range_ = {"from": "2026-06-01T00:00:00Z", "to": "2026-08-01T00:00:00Z"}
    await world.admin("POST", "control/catalog/reprice", range_ | {"organization_id": str(world.organization_id)})


async def overrides(world: World) -> None:
    """A word of Ana's against every judgement, and a title of her own."""
    rows = await world.send("ana", "GET", "/v1/score_v3/realtime/sub-sessions?limit=100")
    many = [row["sub_session_id"] for row in rows if row["turns"] > 1 and not row["is_preview"]]
    for nth, (field, action, payload) in enumerate(
        (
            ("boundary", "split_at_turn", {"split_turn_idx": 1}),
            ("completion", "mark_complete", None),
            ("rollback", "mark_rework", None),
            ("label", "set_intent", {"intent_class": "refactor"}),
            ("label", "rename", {"new_label": "Plan of the release"}),
            ("boundary", "merge_with_previous", None),
            ("completion", "mark_incomplete", None),
        )
    ):
        path = f"/v1/sub-sessions/{many[nth]}/override"
        await world.send("ana", "POST", path, {"field": field, "action": action, "payload": payload})
        await world.level()
    title = {"title": "Rounding, once and for all", "summary": "The sum of an invoice is rounded at the end."}
    await world.send("ana", "PATCH", f"/v1/score_v3/sub-sessions/{many[-1]}", title)


async def judged(world: World, asked: Sequence[UUID]) -> None:
    """What a text model answered about a prompt, a boundary and an outcome."""
    scope = world.scope("ana")
    common = {
        "organization_id": scope.organization_id,
        "developer_id": scope.developer_id,
        "agent_session_id": "ana-schema",
        "model": "golden-judge",
        "prompt_version": 1,
        "input_digest": b"\x07" * 16,
    }
    rubric = {"kind": "rubric", "capture_id": asked[0], "confidence": 0.91, "intent": "feature"}
    habits = {"earned": ("goal_explicit",), "input_tokens": 900, "output_tokens": 60}
    gap = {"kind": "boundary", "capture_id": asked[1], "captures": (asked[0],), "confidence": 0.8, "boundary": False}
    reached = {"kind": "outcome", "capture_id": asked[1], "captures": tuple(asked), "confidence": 0.7}
    await world.append("rubric", world.fact("judge.answered", **common, **rubric, **habits))
    await world.append("gap", world.fact("judge.answered", **common, **gap))
    await world.append("outcome", world.fact("judge.answered", **common, **reached, complete=True))


async def reports_that_fail(world: World) -> None:
    """While nobody makes reports: one fails, one is cancelled and deleted."""
    path = "/v1/score_v3/report"
    failing = await world.send("ana", "POST", f"{path}/generate", {"period": "daily", "date": "2026-07-14"})
    stored = world.service.store.read_topics(["report.requested"])
    (period,) = (each.event.period for each in stored if isinstance(each.event, ReportRequested))
    scope = world.scope("ana")
    about: dict[str, Json] = {"organization_id": scope.organization_id, "developer_id": scope.developer_id}
    about |= {"report_id": UUID(failing["report_id"]), "period": period}
    for command in (StartReport(**about), FailReport(**about, error_code="source_unavailable")):
        assert isinstance(await world.service.send(command), Done)
    unwanted = await world.send("ana", "POST", f"{path}/generate", {"period": "daily", "date": "2026-07-15"})
    await world.send("ana", "POST", f"{path}/cancel/{unwanted['report_id']}", {})
    await world.send("ana", "DELETE", f"{path}/{unwanted['report_id']}")


async def backfilled(world: World) -> None:
    """A backfill of July, asked for, carried out in two pieces, and done."""
    about = {"backfill_id": named("backfill"), "organization_id": world.organization_id}
    start, middle, end = at("07-01 00:00"), at("07-15 00:00"), at("07-28 00:00")
    steps = (("requested", start, end, 40), ("advanced", start, middle, 12), ("advanced", middle, end, 28))
    events = [
        world.fact(f"backfill.{step}", **about, from_us=from_us, to_us=to_us, sub_sessions=count)
        for step, from_us, to_us, count in steps
    ]
    await world.append("backfill", *events, world.fact("backfill.completed", **about))


async def reports_that_come(world: World) -> None:
    """A week and a month, made by the service's own workers."""
    for period, date in (("weekly", "2026-07-20"), ("monthly", "2026-07-01")):
        body = {"period": period, "date": date}
        made = await world.send("ana", "POST", "/v1/score_v3/report/generate", body)
        state = {"status": "queued"}
        while state["status"] != "completed":
            await trio.sleep(0.1)
            state = await world.send("ana", "GET", f"/v1/score_v3/report/status/{made['report_id']}")
            assert state["status"] != "failed", state


async def forget(world: World) -> None:
    """Cleo is forgotten; returns once that is done."""
    scope = world.scope("cleo")
    order = ForgetDeveloper(organization_id=scope.organization_id, developer_id=scope.developer_id)
    assert isinstance(await world.service.send(order), Done)
    journal, store = world.service.journal, world.service.store
    head = journal.head
    with trio.fail_after(120):
        while not store.read_topics(["developer.forgotten"]):
            await journal.wait_beyond(head)
            head = journal.head
