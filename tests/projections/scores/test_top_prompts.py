"""The best prompts of a range, against hand-computed figures."""

from aggregates.capture.events import PromptCaptured
from aggregates.reading.verdicts import BOTH_WAYS
from aggregates.times import iso
from projections.scores.skill import PREVIEW_CHARS_MAX, TopPrompt, skill, top_prompts
from tests.projections.scores.test_activity import TODAY, seen
from tests.support.facts import ANA, FIX, HOUR, MINUTE, MONDAY, SECOND, Log, edit, project, reader

FIX_SCORE = 100 * 4 / 5  # of what is sure, all but the cause is in it


def top_of(log: Log) -> list[TopPrompt]:
    return top_prompts(seen(log), ANA, TODAY, 50, 0)


def test_the_best_prompt_comes_first() -> None:
    """By standing score; its grade is the letter of that score."""
    log = Log()
    log.works("good", MONDAY)
    log.works("poor", MONDAY + HOUR, "the parser is broken, please fix it")
    log.passes(MONDAY + 3 * HOUR)
    best, worst = top_of(log)
    assert (best.agent_session_id, best.preview, best.submitted_at) == ("good", FIX, iso(MONDAY))
    assert best.prompt_id in {str(f.event.prompt_id) for f in log.facts if isinstance(f.event, PromptCaptured)}
    assert (best.intent_class, best.crushed) == ("bug_fix", True)
    assert best.own_score > worst.own_score
    assert (best.score, best.grade) == (FIX_SCORE, "B+")


def test_a_habit_that_can_be_said_on_one_side_only_has_no_rate() -> None:
    """It was surely shown, but the embedded judge could not have said that it was missing; so it is in no figure."""
    log = Log()
    log.works("good", MONDAY)
    log.passes(MONDAY + HOUR)
    found = skill(seen(log), ANA, "range", [TODAY])
    assert "references_concrete" not in BOTH_WAYS
    assert found.per_boolean_one_sided["references_concrete"] == 1
    assert (found.per_boolean["references_concrete"], found.per_boolean_counts["references_concrete"]) == (0.0, 0)
    rates = [found.per_boolean[name] for name, count in found.per_boolean_counts.items() if count]
    assert found.per_boolean_counts["verification_requested"] == 1
    assert found.skill_index == 100 * sum(rates) / len(rates)
    assert found.worst_pillar in BOTH_WAYS


def test_a_prompt_belongs_to_the_range_by_its_own_time() -> None:
    """Also where its sub-session started before; and open sub-sessions have no verdict yet."""
    log = Log()
    log.prompt("a", FIX, MONDAY - MINUTE)
    log.records("a", edit(MONDAY - SECOND))
    log.prompt("a", "Also handle a header without rows in src/parser.py", MONDAY + MINUTE)
    log.records("a", edit(MONDAY + 2 * MINUTE))
    (only,) = top_of(log)
    assert (only.submitted_at, only.crushed) == (iso(MONDAY + MINUTE), None)
    assert only.prompt_id != only.sub_session_id


def test_of_equal_scores_the_newer_sub_session_comes_first() -> None:
    log = Log()
    for session, at_us in (("old", MONDAY), ("new", MONDAY + HOUR)):
        log.works(session, at_us)
        log.prompt(session, "Also handle a header without rows in src/parser.py", at_us + 2 * MINUTE)
        log.records(session, edit(at_us + 3 * MINUTE, path=f"src/{session}.py"))
    found = [(prompt.score, prompt.own_score, prompt.agent_session_id, prompt.preview == FIX) for prompt in top_of(log)]
    assert found == [
        (100 * 5 / 6, 80.0, "new", False),
        (100 * 5 / 6, 80.0, "old", False),
        (FIX_SCORE, FIX_SCORE, "new", True),
        (FIX_SCORE, FIX_SCORE, "old", True),
    ]


def test_a_preview_is_one_short_line() -> None:
    """However long the prompt is, and whatever it is laid out like."""
    log = Log()
    log.prompt("a", FIX + "\n\n" + "It is in src/parser.py.  \n" * 200, MONDAY)
    log.records("a", edit(MONDAY + SECOND))
    (only,) = top_of(log)
    assert only.preview is not None
    assert only.preview.startswith(FIX + " It is")
    assert (len(only.preview), "\n" in only.preview) == (PREVIEW_CHARS_MAX, False)


def test_a_forgotten_prompt_has_no_preview() -> None:
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + SECOND))
    (only,) = top_prompts(reader(project(log.facts), []), ANA, TODAY, 50, 0)
    assert (only.preview, only.score) == (None, FIX_SCORE)
