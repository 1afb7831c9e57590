"""What a follower is told: of everything that changed, by names that say what happened, and of nothing else."""

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.event import Scope
from aggregates.topics import TimePassed
from projections.apply import apply, bookmark
from projections.derive.changes import KEPT_US, Changes, changes_after_pause, changes_since, latest, start_feed
from projections.schema import columns_of
from tests.fuzz.odd import examples
from tests.projections.derive.test_any_order import CORRECTED
from tests.projections.derive.test_any_order import told as facts_of
from tests.support.facts import (
    ANA,
    BEN,
    DAY,
    DIGESTER,
    HOUR,
    MINUTE,
    MONDAY,
    SECOND,
    Log,
    Placed,
    edit,
    empty_views,
    project,
    reader,
    request,
    shell,
    tables,
)

ASK = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
MORE = "Also return an empty list in src/parser.py when the file is missing"
FLAG = "Add a --json flag to the list command in src/cli.py and a test for it"
LIMIT = 100


class Live:
    """Views that serve: facts are applied to them as they come."""

    def __init__(self) -> None:
        self.db = empty_views()
        self.facts: dict[int, Placed] = {}
        start_feed(self.db, after=-1)

    def apply(self, facts: Sequence[Placed]) -> None:
        """One batch, however large."""
        fresh = [fact for fact in facts if fact.position not in self.facts]
        self.facts |= {fact.position: fact for fact in fresh}
        if fresh:
            apply(self.db, fresh, b"", lambda _developer_id: DIGESTER, self._fetch)

    def since(self, position: int, scope: Scope = ANA, limit: int = LIMIT) -> Changes:
        """What a follower is told."""
        return changes_since(reader(self.db, self.facts.values()), scope, position, limit)

    def told(self, log: Log, scope: Scope = ANA) -> list[tuple[str, str]]:
        """Of what the log has got since the last batch: kind and sub-session, in the order they are told in."""
        before = bookmark(self.db).position
        self.apply(log.facts)
        told = self.since(before, scope).told
        assert told is not None
        assert {change.position for change in told} <= {bookmark(self.db).position}
        return [(change.kind, change.sub_session_id) for change in told]

    def _fetch(self, positions: Iterable[int]) -> dict[int, Any]:
        return {position: self.facts[position].event for position in positions}


def worked(log: Log, session: str, at_us: int, ask: str = ASK, path: str = "src/parser.py") -> str:
    """One goal: asked, edited, checked. The capture that opens it."""
    capture_id = log.prompt(session, ask, at_us, cwd_digest=7)
    log.records(session, request(at_us + 10 * SECOND), edit(at_us + 20 * SECOND, path=path))
    log.records(session, shell(at_us + MINUTE, "pytest -q"))
    return str(capture_id)


def names(live: Live) -> list[str]:
    """The ids of the sub-sessions, the first started first."""
    return [row[0] for row in live.db.execute("SELECT sub_session_id FROM sub_sessions ORDER BY started_us")]


# --- the names ------------------------------------------------------------------------------------------------


def test_a_prompt_opens_a_sub_session_and_work_updates_it() -> None:
    """Nothing else is told of either."""
    live, log = Live(), Log()
    log.prompt("s1", ASK, MONDAY)
    (opened,) = live.told(log)
    assert opened == ("opened", names(live)[0])
    log.records("s1", edit(MONDAY + MINUTE))
    assert live.told(log) == [("updated", opened[1])]


def test_a_batch_tells_only_what_it_comes_to() -> None:
    """Opened, worked on and settled in one batch: it is there, and it counts."""
    live, log = Live(), Log()
    worked(log, "s1", MONDAY)
    log.passes(MONDAY + DAY)
    (name,) = (told := live.told(log))[0][1:]
    assert told == [("opened", name), ("settled", name), ("judged", name)]


def test_time_alone_settles_what_nobody_touches() -> None:
    """Once; what was settled already is not told of again."""
    live, log = Live(), Log()
    worked(log, "s1", MONDAY)
    live.told(log)
    (name,) = names(live)
    log.passes(MONDAY + MINUTE)
    assert live.told(log) == []
    log.passes(MONDAY + DAY)
    assert live.told(log) == [("settled", name), ("judged", name)]
    log.passes(MONDAY + 2 * DAY)
    assert live.told(log) == []


def test_trivia_settles_without_being_judged() -> None:
    """The floor is no verdict of a judge."""
    live, log = Live(), Log()
    log.prompt("s1", "thanks", MONDAY)
    live.told(log)
    log.passes(MONDAY + DAY)
    assert live.told(log) == [("settled", names(live)[0])]


def test_a_late_fact_about_what_has_settled_judges_it_anew() -> None:
    """An edit that arrives a day later lifts it above the floor."""
    live, log = Live(), Log()
    log.prompt("s1", ASK, MONDAY)
    log.passes(MONDAY + DAY)
    live.told(log)
    log.records("s1", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND), shell(MONDAY + 3 * SECOND, "pytest -q"))
    assert live.told(log) == [("judged", names(live)[0])]


def test_going_on_with_what_has_settled_opens_it_again() -> None:
    """It is updated, and settles a second time."""
    live, log = Live(), Log()
    worked(log, "s1", MONDAY)
    log.passes(MONDAY + 31 * MINUTE)
    live.told(log)
    (name,) = names(live)
    log.prompt("s1", MORE, MONDAY + 20 * MINUTE, cwd_digest=7)
    log.passes(MONDAY + 32 * MINUTE)
    assert live.told(log) == [("updated", name)]
    log.passes(MONDAY + DAY)
    assert live.told(log) == [("settled", name), ("judged", name)]


def three_prompts(log: Log) -> list[UUID]:
    """One goal in three prompts."""
    texts = (ASK, MORE, "And run pytest for src/parser.py again")
    captures = []
    for number, text in enumerate(texts):
        at_us = MONDAY + number * 5 * MINUTE
        captures.append(log.prompt("s1", text, at_us, cwd_digest=7))
        log.records("s1", request(at_us + SECOND), edit(at_us + MINUTE, path="src/parser.py"))
    return captures


def test_a_split_is_an_edit_and_an_opening() -> None:
    """The first part keeps its id, and is over with it; the other one is new."""
    live, log = Live(), Log()
    captures = three_prompts(log)
    live.told(log)
    log.corrects_gap("s1", captures[1], boundary=True)
    told = live.told(log)
    first, second = names(live)
    assert set(told) == {("edited", first), ("settled", first), ("judged", first), ("opened", second)}


def test_joined_parts_are_one_that_was_edited_and_one_that_was_merged() -> None:
    """The id of the part that is gone leads to the one that holds it."""
    live, log = Live(), Log()
    captures = three_prompts(log)
    log.corrects_gap("s1", captures[1], boundary=True)
    live.told(log)
    first, second = names(live)
    log.corrects_gap("s1", captures[1], boundary=False)
    assert set(live.told(log)) == {("edited", first), ("merged", second)}
    assert names(live) == [first]


def test_what_a_rule_merges_is_told_as_well() -> None:
    """A late first prompt becomes the one that opens: the sub-session has another id, and the old one leads there."""
    live, log = Live(), Log()
    log.prompt("s1", MORE, MONDAY + MINUTE, cwd_digest=7)
    live.told(log)
    (old,) = names(live)
    log.prompt("s1", ASK, MONDAY, cwd_digest=7)
    told = live.told(log)
    (new,) = names(live)
    assert set(told) == {("opened", new), ("merged", old)}


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(
    ("say", "kind"),
    [
        (lambda log, capture: log.corrects_goal("s1", capture, True), "overridden"),
        (lambda log, capture: log.corrects_goal("s1", capture, False), "overridden"),
        (lambda log, capture: log.corrects_rework("s1", capture, True), "overridden"),
        (lambda log, capture: log.corrects_intent("s1", capture, "question"), "overridden"),
        (lambda log, capture: log.renames(capture, "Mine"), "edited"),
    ],
)
def test_a_persons_word_has_a_name_of_its_own(say: Any, kind: str, settled: bool) -> None:
    """Whatever follows from it for the sub-session it is about."""
    live, log = Live(), Log()
    capture_id = UUID(worked(log, "s1", MONDAY))
    if settled:
        log.passes(MONDAY + DAY)
    live.told(log)
    say(log, capture_id)
    assert live.told(log) == [(kind, names(live)[0])]


def test_a_word_about_one_judges_the_other_that_hangs_on_it() -> None:
    """The earlier goal was not reached, so the later one is no rework of it."""
    live, log = Live(), Log()
    first = worked(log, "a", MONDAY)
    log.records("a", {"kind": "session_end", "source": "exit", "at_us": MONDAY + 2 * MINUTE})
    log.prompt("b", "Undo the change to the parser, please revert that again", MONDAY + DAY)
    log.records("b", shell(MONDAY + DAY + SECOND, "git revert --no-edit HEAD"))
    log.records("b", edit(MONDAY + DAY + 2 * SECOND, path="src/parser.py"))
    log.passes(MONDAY + 3 * DAY)
    live.told(log)
    earlier, later = names(live)
    log.corrects_goal("a", UUID(first), complete=False)
    assert set(live.told(log)) == {("overridden", earlier), ("judged", later)}


def test_a_word_about_one_of_two_leaves_the_other_alone() -> None:
    """Nothing is told of what did not change."""
    live, log = Live(), Log()
    worked(log, "s1", MONDAY)
    second = worked(log, "s2", MONDAY + HOUR, FLAG, "src/cli.py")
    live.told(log)
    log.corrects_goal("s2", UUID(second), complete=True)
    assert live.told(log) == [("overridden", names(live)[1])]


# --- who is told, and from where on ---------------------------------------------------------------------------


def test_nobody_hears_of_anybody_else() -> None:
    """Not of another developer's, nor in another organization."""
    live, log = Live(), Log()
    worked(log, "s1", MONDAY)
    assert live.told(log, BEN) == []
    elsewhere = Scope(BEN.developer_id, ANA.developer_id)
    assert live.since(0, elsewhere).told == ()
    assert live.since(0).told


def test_the_newest_of_each_kind_is_told_once_however_often_it_happened() -> None:
    """Who was away is told in the order in which it happened last."""
    live, log = Live(), Log()
    log.prompt("s1", ASK, MONDAY)
    live.told(log)
    for minute in range(1, 6):
        log.records("s1", edit(MONDAY + minute * MINUTE))
        live.told(log)
    log.passes(MONDAY + DAY)
    live.told(log)
    told = live.since(0).told
    assert told is not None
    assert [change.kind for change in told] == ["opened", "updated", "settled", "judged"]
    assert [change.position for change in told] == sorted(change.position for change in told)
    assert all(change.agent_session_id == "s1" for change in told)


def test_too_much_to_tell_is_to_be_fetched() -> None:
    """A list as long as the bound is told, a longer one is not."""
    live, log = Live(), Log()
    for number in range(3):
        worked(log, f"s{number}", MONDAY + number * HOUR, FLAG, f"src/{number}.py")
    live.apply(log.facts)
    everything = live.since(0).told
    assert everything is not None
    assert live.since(0, limit=len(everything)).told == everything
    assert live.since(0, limit=len(everything) - 1) == Changes(len(log.facts), None)


def test_a_position_that_these_views_never_told_is_no_place_to_go_on_from() -> None:
    """One beyond the views; one that was told by the views before these."""
    live, log = Live(), Log()
    worked(log, "s1", MONDAY)
    live.apply(log.facts)
    end = len(log.facts)
    assert live.since(end) == Changes(end, ())
    assert live.since(end + 1) == Changes(end, None)
    fresh = Live()
    fresh.db.execute("UPDATE change_feed SET from_position = NULL")
    start_feed(fresh.db, after=2)
    fresh.apply(log.facts)
    assert fresh.since(2).told is None
    assert fresh.since(3).told is not None
    start_feed(fresh.db, after=end)
    assert fresh.since(3).told is not None, "a feed begins once"


@pytest.mark.parametrize(("away_us", "known"), [(0, True), (DAY, True), (DAY + 1, False), (30 * DAY, False)])
def test_who_was_away_for_over_a_day_fetches(away_us: int, known: bool) -> None:
    """Counted from when the position was told to when it is asked for, whatever happened since."""
    live, log = Live(), Log()
    log.prompt("s1", ASK, MONDAY)
    live.apply(log.facts)
    log.passes(MONDAY + away_us)
    live.apply(log.facts)
    since_us = MONDAY + away_us - DAY
    found = changes_after_pause(reader(live.db, live.facts.values()), ANA, 2, since_us, LIMIT)
    assert (found.told is not None) is known
    assert found.position == 3


def test_changes_are_kept_for_a_day() -> None:
    """By the time of the log; who asks from before that is told to fetch."""
    live, log = Live(), Log()
    worked(log, "s1", MONDAY)
    live.apply(log.facts)
    position = len(log.facts)
    log.passes(MONDAY + MINUTE + KEPT_US)
    live.apply(log.facts)
    assert len(live.since(0).told or ()) == 3
    log.passes(MONDAY + MINUTE + KEPT_US + 1)
    live.apply(log.facts)
    assert live.since(position - 1).told is None
    assert [change.kind for change in live.since(position).told or ()] == ["settled", "judged"]


def test_a_new_follower_begins_at_the_end() -> None:
    """What was before is fetched."""
    live, log = Live(), Log()
    worked(log, "s1", MONDAY)
    live.apply(log.facts)
    assert latest(reader(live.db, log.facts), ANA) == Changes(len(log.facts), ())


# --- all stories ----------------------------------------------------------------------------------------------


def shown(db: sqlite3.Connection) -> dict[str, tuple[Any, ...]]:
    """Every sub-session as it can be fetched."""
    query = f"SELECT {', '.join(columns_of('sub_sessions'))}, settles_at_us <= log_time_us FROM sub_sessions, bookmark"
    return {row[0]: row for row in db.execute(query)}


@examples(60)
@given(CORRECTED, st.lists(st.integers(0, 90), max_size=12), st.lists(st.integers(0, 40), max_size=4), st.data())
def test_who_fetches_what_was_told_knows_all(story: Any, cuts: Any, pauses: Any, data: Any) -> None:
    """Any facts in any batches: a follower who fetches only what is named has what a fetch of everything gives."""
    facts = [*facts_of(story)]
    for at in sorted(pauses, reverse=True):
        facts.insert(at, Placed(0, TimePassed(received_at_us=MONDAY + (at % 7) * HOUR)))
    placed = [Placed(number, fact.event) for number, fact in enumerate(facts, 1)]
    live = Live()
    known: dict[str, tuple[Any, ...]] = {}
    position = 0
    for start, end in pairwise(sorted({0, *(cut for cut in cuts if cut < len(placed)), len(placed)})):
        live.apply(placed[start:end])
        if end < len(placed) and data.draw(st.booleans()):
            continue  # nobody is listening just now
        changes = live.since(position)
        position, now = changes.position, shown(live.db)
        assert changes.told is not None
        for change in changes.told:
            known.pop(change.sub_session_id, None)
            if change.sub_session_id in now:
                known[change.sub_session_id] = now[change.sub_session_id]
        assert known == now


@examples(30)
@given(CORRECTED, st.lists(st.integers(0, 60), max_size=12))
def test_the_tables_are_the_same_whether_anybody_follows_or_not(story: Any, cuts: Any) -> None:
    """Keeping changes is no part of any conclusion."""
    facts = facts_of(story)
    live = Live()
    for start, end in pairwise(sorted({0, *(cut for cut in cuts if cut < len(facts)), len(facts)})):
        live.apply(facts[start:end])
    assert tables(live.db) == tables(project(facts))


def test_a_replay_keeps_no_changes() -> None:
    """Nobody follows views that do not serve yet."""
    log = Log()
    worked(log, "s1", MONDAY)
    assert project(log.facts).execute("SELECT count(*) FROM changes").fetchone() == (0,)
