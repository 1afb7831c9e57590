"""What people say, in the tables: what follows from it, what stands beside it, and what late facts do to it."""

import sqlite3
from itertools import pairwise
from typing import Any
from uuid import UUID

from projections.derive.developers import OF_NONE_KNOWN
from projections.sub_sessions.listing import rubric_items
from tests.support.facts import ANA, FIX, MONDAY, Log, edit, project, reader, request, shell, tables
from tests.support.stages import DAY, HOUR, MINUTE, SECOND

PARSER = "src/parser.py"
FLAG = "Add a --json flag to the list command in src/cli.py and a test for it"


def select(log: Log, columns: str) -> list[tuple[Any, ...]]:
    """Of every sub-session in time order, from views that were kept up fact by fact; they are those of a replay."""
    live: sqlite3.Connection = project(log.facts, range(len(log.facts)))
    assert tables(live) == tables(project(log.facts))
    return live.execute(f"SELECT {columns} FROM sub_sessions ORDER BY started_us").fetchall()


def leaves(at_us: int) -> dict[str, Any]:
    return {"kind": "session_end", "source": "exit", "at_us": at_us}


def test_whether_a_later_one_is_rework_follows_what_is_said_of_the_earlier() -> None:
    """An earlier goal that was not reached after all is not worked over again; what was judged stays beside it."""
    log = Log()
    first = log.works("a", MONDAY, path=PARSER)
    log.records("a", leaves(MONDAY + 2 * MINUTE))
    log.prompt("b", "Undo the change to the parser, please revert that again", MONDAY + DAY)
    back = shell(MONDAY + DAY + SECOND, "git revert --no-edit HEAD"), edit(MONDAY + DAY + 2 * SECOND, path=PARSER)
    log.records("b", *back)
    columns = "goal_complete, judged_goal_complete, rework_of IS NOT NULL, judged_rework_of IS NOT NULL"
    assert [row[2:] for row in select(log, columns)] == [(0, 0), (1, 1)]
    earlier, later = select(log.corrects_goal("a", first, complete=False), columns)
    assert (earlier, later[2:]) == ((0, 1, 0, 0), (0, 1))
    assert select(log.corrects_goal("a", first, complete=True), columns)[1][2:] == (1, 1)


def test_a_word_about_rework_names_the_earlier_one_that_the_rule_finds() -> None:
    """Said to be none, it is none; said to be one, it is of the one that was found, also where that was not reached.
    Where the rule finds nothing, it is of none known."""
    log, columns = Log(), "rework_of, judged_rework_of"
    first = log.works("a", MONDAY, path=PARSER)
    again = log.works("b", MONDAY + DAY, path=PARSER)
    (alone, _), (found, judged) = select(log, columns)
    assert (alone, found == judged is not None) == (None, True)
    for rework in (False, True):
        log.corrects_rework("b", again, rework=rework)
        assert select(log, columns)[1] == (judged if rework else None, judged)
    assert select(log.corrects_goal("a", first, complete=False), columns)[1] == (judged, judged)
    assert select(log.corrects_rework("a", first, rework=True), columns)[0] == (OF_NONE_KNOWN, None)


def test_what_is_undecided_as_a_person_means_it_is_not_worked_over_again() -> None:
    """A question was answered, by an edit too; called a feature, nothing tells whether it was reached."""
    log = Log()
    first = log.prompt("a", "What does src/parser.py do?", MONDAY)
    log.answer("a", first, "It reads a file line by line.", MONDAY + SECOND)
    why = log.prompt("a", "and why?", MONDAY + MINUTE)
    log.records("a", edit(MONDAY + MINUTE + SECOND, path=PARSER), request(MONDAY + 2 * MINUTE))
    log.answer("a", why, "So that a large file fits; a comment says so now.", MONDAY + 2 * MINUTE)
    log.corrects_intent("a", first, "feature").prompt("b", "Undo that, please revert the parser", MONDAY + DAY)
    log.records("b", shell(MONDAY + DAY + SECOND, f"git checkout HEAD~1 -- {PARSER}"))
    earlier, later = select(log, "goal_complete, judged_goal_complete, rework_of, judged_rework_of IS NOT NULL")
    assert (earlier[:2], later[2:]) == ((None, 1), (None, 1))


def test_two_sessions_at_once_are_merged_in_the_order_of_their_prompts() -> None:
    """It goes on for as long as either does, and the prompts of both are one row of turns."""
    log = Log()
    log.works("a", MONDAY, path=PARSER)
    other = log.works("b", MONDAY + 5 * MINUTE, FLAG, "src/cli.py")
    log.records("b", leaves(MONDAY + 7 * MINUTE))
    log.prompt("a", "Also return an empty list in src/parser.py when the file is missing", MONDAY + 10 * MINUTE)
    log.corrects_gap("b", other, boundary=False)
    assert select(log, "turns, settles_at_us, last_agent_session_id") == [(3, MONDAY + 40 * MINUTE, "b")]
    query = "SELECT t.agent_session_id FROM prompts p JOIN turns t ON t.turn_id = p.turn_id ORDER BY p.at_us"
    assert [row[0] for row in project(log.facts).execute(query)] == ["a", "b", "a"]


def test_a_late_session_between_takes_the_place_of_the_one_before() -> None:
    """What was said is that there is no boundary before this prompt, whatever comes before it."""
    log = Log()
    log.works("a", MONDAY, path=PARSER)
    last = log.works("c", MONDAY + 2 * HOUR, FLAG, "src/cli.py")
    log.corrects_gap("c", last, boundary=False)
    assert select(log, "turns, agent_session_id") == [(2, "a")]
    log.works("b", MONDAY + HOUR, "Write a README section about the new export command", "README.md")
    assert select(log, "turns, agent_session_id") == [(1, "a"), (2, "b")]


def test_a_split_stands_where_the_merge_rule_would_join_again() -> None:
    """Same folder, same files, within ten minutes: a person's word goes before it."""
    log = Log()
    log.works("a", MONDAY, path=PARSER)
    log.records("a", leaves(MONDAY + 2 * MINUTE))
    second = log.works("a2", MONDAY + 5 * MINUTE, "Now also handle a header without rows in src/parser.py", path=PARSER)
    assert select(log, "turns") == [(2,)]
    log.corrects_gap("a2", second, boundary=True)
    assert select(log, "turns, overridden") == [(1, 0), (1, 1)]


def test_what_was_said_of_a_log_record_holds_for_the_plugins_capture_of_the_same_prompt() -> None:
    """The plugin delivers later; the turn is one, under another id, and the word is about it."""
    log = Log().claim("a")
    log.works("z", MONDAY - DAY, FLAG, "src/cli.py")
    log.records("a", {"kind": "prompt", "at_us": MONDAY + 2 * SECOND, "text": FIX, "record_id": "r1"})
    log.records("a", edit(MONDAY + MINUTE))
    seen = UUID(project(log.facts).execute("SELECT capture_id FROM captures WHERE by_plugin = 0").fetchone()[0])
    log.corrects_goal("a", seen, complete=True).corrects_intent("a", seen, "feature").renames(seen, "Mine")
    log.prompt("a", FIX, MONDAY, host_prompt_id="p1", cwd_digest=7)
    assert select(log, "goal_complete, intent, overridden")[1] == (1, "feature", 2 + 8)


def test_a_sub_session_without_a_classified_prompt_is_classified_by_a_person() -> None:
    """It counts from then on; its prompts are still not graded."""
    log = Log().claim("a")
    log.records("a", {"kind": "prompt", "at_us": MONDAY, "record_id": "r1"}, edit(MONDAY + MINUTE))
    assert select(log, "intent, judged_intent, floor_passed") == [(None, None, 1)]
    seen = UUID(project(log.facts).execute("SELECT capture_id FROM captures").fetchone()[0])
    log.corrects_intent("a", seen, "bug_fix")
    assert select(log, "intent, judged_intent, earned") == [("bug_fix", None, 0)]
    log.passes(MONDAY + HOUR)
    read = reader(project(log.facts), log.facts)
    assert read.db.execute("SELECT sum(counted) FROM prompts").fetchone() == (0,)
    (item,) = rubric_items(read, ANA, 10, 0)
    assert (item.intent_class, item.letter_grade, item.goal_explicit) == ("bug_fix", None, None)


def test_a_models_answer_about_more_than_the_prompt_before_it_says_nothing_of_the_gap() -> None:
    """Its capture was joined, or the prompts before it were cut, since the model was asked."""
    log = Log()
    more = [f"Also {what} in {PARSER}" for what in ("return an empty list for a missing file", "mention it", "test it")]
    captures = [log.works("a", MONDAY + 2 * minute * MINUTE, ask, PARSER) for minute, ask in enumerate([FIX, *more])]
    for before, after in pairwise(captures):
        further = captures[-1] if before == captures[0] else captures[0]
        log.answers_gap("a", before, after, boundary=True, captures=(before, further))
    assert select(log, "turns") == [(4,)]
    for before, after in pairwise(captures):
        log.answers_gap("a", before, after, boundary=True)
    assert len(select(log, "turns")) > 2, "about that prompt alone they do"
