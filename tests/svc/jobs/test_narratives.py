"""Narratives, written by a real endpoint: what reaches it, what is kept, and what is shown of the answer."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from aggregates.people.directory import Stay
from aggregates.reading.verdicts import INTENTS
from aggregates.reports.prose import (
    NARRATIVE_CHARACTERS_MAX,
    STALE_US,
    Narration,
    Narrative,
    NarrativeRequest,
    normalized,
)
from aggregates.scores.insights import CHECKED, COMMITTED, KINDS, LABELS_MAX, MEMBERS_MAX, TOPICS, label, work_labels
from projections.reports import team_day
from svc.jobs.questions import Narratives
from tests.support.basics import ACME, ANA, ANA_SCOPE, FixedClock
from tests.support.facts import DAY, HOUR, MONDAY, SECOND, Log, edit, project, reader, request
from tests.support.model_server import ModelServer, Request, Said, fails, gateway_to, model_server, says, wrote
from tests.support.tables import table

SOME = work_labels([["fixing a bug in tests"]])
MORE = work_labels([["fixing a bug in tests", "planning"]])


class Desk:
    """Narratives over an endpoint, with a clock of their own."""

    def __init__(self, server: ModelServer, folder: Path) -> None:
        self.server = server
        self.clock = FixedClock(20_000 * DAY)
        self.leaves = True
        gateway = gateway_to(server, folder, self.clock.now_us, lambda _id: self.leaves, lambda *_: None)
        self.counted: list[tuple[str, str]] = []
        self.narratives = Narratives(
            gateway, self.clock.now_us, lambda _id: ["Ana Holm"], lambda *said: self.counted.append(said[:2])
        )

    async def narrate(self, work: Any = SOME, **about: Any) -> Narrative | None:
        return (await self.told(work, **about)).narrative

    async def told(self, work: Any = SOME, **about: Any) -> Narration:
        wanted = {"kind": "team", "scope": ANA_SCOPE, "about": "core", "date": "2026-01-05", "timezone": "UTC"}
        return await self.narratives.narrate(NarrativeRequest(**{**wanted, "language": "en", "work": work, **about}))


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Desk]:
    """A desk whose narratives are written until the end of the block."""
    with model_server() as server:
        desk = Desk(server, folder)
        async with trio.open_nursery() as nursery:
            await nursery.start(desk.narratives.run)
            yield desk
            nursery.cancel_scope.cancel()


async def test_one_is_written_once(tmp_path: Path) -> None:
    """And shown again while the facts are the same, however old it is."""
    async with opened(tmp_path) as desk:
        desk.server.answers(says({"narrative": "  The **team**\nfixed a bug. "}))
        first = await desk.narrate()
        assert first is not None
        assert (first.text, first.generated_at_us, first.clipped) == ("The team fixed a bug.", 20_000 * DAY, False)
        desk.clock.advance(10 * STALE_US)
        assert await desk.narrate() == first
        desk.leaves = False
        assert await desk.narrate() is None, "not even one from before, where the organization keeps its text"
        assert len(desk.server.received) == 1


async def test_changed_facts_may_lag_by_four_hours(tmp_path: Path) -> None:
    """Not longer; and what cannot be written anew then is unavailable, not old."""
    async with opened(tmp_path) as desk:
        desk.server.answers(says({"narrative": "Old."}), says({"narrative": "New."}), fails(401))
        await desk.narrate()
        desk.clock.advance(STALE_US - 1)
        assert (found := await desk.narrate(MORE)) is not None
        assert found.text == "Old."
        desk.clock.advance(1)
        assert (found := await desk.narrate(MORE)) is not None
        assert found.text == "New."
        desk.clock.advance(STALE_US)
        assert await desk.narrate(SOME) is None


@table(
    ("said", "disbelieved"),
    {
        "text": (wrote("not json"), False),
        "other": (says({"text": "The team fixed a bug."}), False),
        "structured": (says({"narrative": "The team fixed a bug.", "structured_narrative": {"headline": "x"}}), False),
        "nothing": (says({"narrative": "   *** \u200b"}), True),
        "a name": (says({"narrative": "Ana fixed a bug."}), True),
        "a number": (says({"narrative": "The team closed 7 bugs."}), True),
        "a number in words": (says({"narrative": "Twelve bugs were fixed."}), True),
        "an address": (says({"narrative": "The team read evil.example/x."}), True),
        "a call": (says({"narrative": "@all!"}), True),
    },
)
async def test_what_does_not_fit_or_says_more_than_was_told_is_neither_shown_nor_kept(
    tmp_path: Path, said: Said, disbelieved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anything structured fails closed, the text beside it with it. The next read asks again."""
    monkeypatch.setattr("svc.llm.client.REST_SECONDS", 0)
    async with opened(tmp_path) as desk:
        desk.server.answers(said, said, says({"narrative": "The team fixed a bug."}))
        assert [await desk.narrate(), await desk.narrate(kind="today")] == [None, None]
        assert desk.counted == ([("team", "disbelieved"), ("today", "disbelieved")] if disbelieved else [])
        assert await desk.narrate() is not None


async def test_why_there_is_none_is_told(tmp_path: Path) -> None:
    """A model that failed is told from one that has nothing to say, and from one that still writes."""
    async with opened(tmp_path) as desk:
        desk.server.answers(says({"narrative": "Ana fixed a bug."}), wrote("not json"))
        assert (await desk.told()).status == "none"
        desk.server.answers(Said(b"", 500))
        assert (await desk.told(about="web")).status == "resting"
        assert (await desk.told(about="api")).status == "resting", "it is not asked again so soon"
        assert (await desk.told(work_labels([]))).status == "no_work"
        desk.leaves = False
        assert (await desk.told()).status == "off"


async def test_who_waits_too_long_goes_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written all the same, once, and is there for the next one."""
    monkeypatch.setattr("svc.jobs.questions.NARRATIVE_WAIT_SECONDS", 0.05)
    async with opened(tmp_path) as desk:
        desk.server.answers(says({"narrative": "Late."})._replace(seconds=0.3))
        assert (await desk.told()).status == "pending"
        monkeypatch.setattr("svc.jobs.questions.NARRATIVE_WAIT_SECONDS", 5)
        found = await desk.told()
        assert found.narrative is not None
        assert (found.status, found.narrative.text, len(desk.server.received)) == ("written", "Late.", 1)


async def test_languages_teams_and_days_have_their_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        desk.server.answers(says({"narrative": "한국어."}))
        for about in ({"language": "ko"}, {"about": "web"}, {"date": "2026-01-06"}, {"timezone": "Asia/Seoul"}, {}):
            await desk.narrate(**about)
        assert [each.data["language"] for each in desk.server.received] == ["Korean", *["English"] * 4]


@given(st.text(max_size=3_000))
def test_what_is_shown_is_plain_and_short(text: str) -> None:
    """One line, within the cap and to the end of a sentence, without control characters or markup; twice changes
    nothing."""
    shown = normalized(text)
    assert len(shown) <= NARRATIVE_CHARACTERS_MAX
    assert re.search(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e*`#_]", shown) is None
    assert shown == shown.strip()
    assert normalized(shown) == shown
    assert normalized("The team fixed a bug. " * 90).endswith("a bug.")
    assert normalized("팀은 오류를 고쳤습니다. " * 150).endswith("고쳤습니다.")


def test_labels_tell_no_amounts() -> None:
    """Each once, in an order of letters; the busiest where there are too many."""
    many = [[f"label {n}"] * n for n in range(1, MEMBERS_MAX + 3)]
    found = work_labels([["b", "a", "b"], *many])
    assert len(found.members) == MEMBERS_MAX
    assert found.clipped
    assert list(found.members) == sorted(found.members)
    assert ("label 1",) not in found.members
    of_one = work_labels([[str(n) for n in range(LABELS_MAX + 1)]])
    assert (len(of_one.members[0]), of_one.clipped) == (LABELS_MAX, True)


# --- what leaves ----------------------------------------------------------------------------------------------

VOCABULARY = set(re.findall(r"[a-z]+", " ".join([*KINDS.values(), *TOPICS, CHECKED, COMMITTED, "in", "and"])))


@given(st.sampled_from(INTENTS), st.text(), st.text("CKkMPEIJRa"))
def test_a_label_holds_no_word_of_a_prompt(intent: Any, text: str, marks: str) -> None:
    """Whatever a prompt holds: the words of a label all stand in one file."""
    assert set(re.findall(r"\w+", label(intent, text, marks))) <= VOCABULARY


ASKS = ("Fix the bug in the login test, {}", "Add an api endpoint that returns {}", "Why does {} crash?", "{}")
PLANTED = st.tuples(
    st.lists(st.from_regex(r"zq[0-9a-f]{10}", fullmatch=True), min_size=5, max_size=5, unique=True),
    st.sampled_from(ASKS),
    st.booleans(),
)


def planted_day(markers: list[str], ask: str, titled: bool) -> NarrativeRequest:
    """A day with markers in a prompt, a path, a title, and the names of a session and a team."""
    words, path, title, session, team = markers
    log = Log(ANA_SCOPE)
    capture_id = log.prompt(session, ask.format(f"{words} grade A+ score 97.5 rank 1 {ANA}"), MONDAY)
    log.records(session, request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND, path=f"src/{path}.py"))
    if titled:
        log.renames(capture_id, f"{title} by Ana")
    log.passes(MONDAY + 5 * HOUR)
    stays = [Stay(ANA, MONDAY - HOUR, MONDAY + HOUR)]
    found, work = team_day(reader(project(log.facts), log.facts), ANA_SCOPE, stays, labels=True)
    assert len(found) == 1
    return NarrativeRequest("team", ANA_SCOPE, team, "2026-01-05", "UTC", "en", work)


async def sent_for(days: Sequence[NarrativeRequest], folder: Path) -> list[Request]:
    """What arrives at the model when these are asked for."""
    async with opened(folder) as desk:
        desk.server.answers(says({"narrative": "Fine."}))
        for day in days:
            await desk.narratives.narrate(day)
        return desk.server.received


@settings(max_examples=3, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(PLANTED, min_size=8, max_size=8))
def test_nothing_of_a_developer_reaches_the_model(tmp_path: Path, cases: list[tuple[list[str], str, bool]]) -> None:
    """No marker, no id, no name, no grade, score or rank, no date."""
    days = [planted_day(*case) for case in cases]
    sent = trio.run(sent_for, days, tmp_path)
    assert len(sent) == len({day.name for day in days if day.work.members})
    planted = [marker for markers, _, _ in cases for marker in markers]
    for each in sent:
        everything, data = each.raw + str(each.headers), msgspec.json.encode(each.data).decode()
        assert [marker for marker in (*planted, str(ANA), str(ACME), "2026-01-05") if marker in everything] == []
        assert [word for word in ("Ana", "A+", "97.5", "rank", "score", "grade") if word in data] == []
        strings = re.findall(r"[a-z]+", " ".join(name for member in each.data["members"] for name in member))
        assert set(strings) <= VOCABULARY
