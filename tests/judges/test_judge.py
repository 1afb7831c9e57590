"""The tool of the judges: what is read of its items, and the labels they get."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from aggregates.reading.verdicts import BOOLEANS, INTENTS
from tests.judges.judge import judge, judge_prompt_item, judge_session_item, session_turns

TOLD = ("id", "label", "unsure", "chances", "kind_told", "score", "score_interval", "grade_told")


def session(*turns: dict[str, Any]) -> dict[str, Any]:
    """A session item as a file of items writes it."""
    return {"session": "s:1", "turns": list(turns)}


def test_a_prompt_item_without_a_label_is_judged_in_the_labels_shape() -> None:
    """Id, status, intent and the seven booleans, null where one does not apply."""
    judged = judge_prompt_item({"id": "x:1", "earlier_turns": [], "prompt": "How does the cache work?"})
    assert (list(judged), judged["id"]) == ([*TOLD], "x:1")
    assert list(judged["label"]) == ["status", "intent", *BOOLEANS]
    assert judged["label"]["intent"] == judged["kind_told"] == "question"
    assert sum(judged["chances"][each] for each in INTENTS) == pytest.approx(1, abs=1e-5)
    assert judged["chances"]["scope_bounded"] is None
    own = [judged["chances"][each] for each in ("goal_explicit", "context_sufficient")]
    assert judged["score"] == pytest.approx(50 * sum(own), abs=10), "nearly all of it is that of a question"
    assert judged["score_interval"]["low"] <= judged["score"] <= judged["score_interval"]["high"]
    assert judged["label"]["scope_bounded"] is None


def test_what_is_not_classified_has_an_intent_by_force() -> None:
    """A prompt in another language, and an arc of such prompts or of a command alone."""
    text = "Bitte prüfe, warum die Anmeldung nach dem Neustart nicht mehr geht, und behebe den Fehler."
    judged = judge_prompt_item({"id": "x:1", "earlier_turns": [], "prompt": text})
    assert (judged["label"]["status"], judged["score"], judged["kind_told"]) == ("unclassified", None, None)
    assert judged["label"]["intent"] in INTENTS
    assert judged["unsure"] == [name for name in BOOLEANS if judged["label"][name] is not None]
    for prompt in (text, "/fix-ci"):
        (arc,) = judge_session_item(session({"prompt": prompt, "tools": [], "response_end": "Done."}))["arcs"]
        assert arc["intent"] in INTENTS


def test_a_session_item_is_judged_into_arcs_that_cover_its_turns() -> None:
    """From the first turn to the last, without a gap."""
    judged = judge_session_item(
        session(
            {
                "prompt": "Rename getUsr to getUser in src/user.ts",
                "tools": ["Edit src/user.ts"],
                "response_end": "Done.",
            },
            {"prompt": "/clear", "tools": [], "response_end": ""},
            {"prompt": "Add a chart to the weekly report", "tools": [], "response_end": "Which one?"},
        )
    )
    bounds = [(arc["start"], arc["end"]) for arc in judged["arcs"]]
    assert bounds == [(1, 1), (2, 3)]
    assert set(judged["arcs"][0]) - {"undecided"} == {"start", "end", "intent", "goal_complete", "confidence"}
    assert all(arc["goal_complete"] in (True, False) for arc in judged["arcs"])
    assert all(arc.get("undecided", True) is True for arc in judged["arcs"])


def test_tools_are_read_as_far_as_they_are_written() -> None:
    """A failed edit changes nothing, a bare shell call mutates but is no check, a command is read."""
    tools = ["Edit a.py [FAILED]", "Write b.py", "Bash", "Bash pytest -q", "Bash pytest -q [FAILED]", "Read c.py"]
    work = session_turns(session({"prompt": "x", "tools": tools, "more_tools": 4, "interrupted": True}))[0].work
    assert work.marks == "CKkI"
    assert work.tool_calls == 10
    assert work.mutating_calls == 2
    assert (len(work.touched_files), len(work.changed_files)) == (3, 1)


@pytest.mark.parametrize("item", [{"turns": [{"prompt": None}]}, {"turns": [{}]}, {"turns": [{"prompt": 3}]}])
def test_a_turn_without_a_text_is_refused_by_name(item: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="turn 1: prompt is missing or no text"):
        session_turns(item)


def test_the_tool_answers_a_line_for_an_item_until_one_cannot_be_read(tmp_path: Path) -> None:
    """What came before is answered; then one sentence that names file and line once, and exit code 1."""
    prompts, sessions = tmp_path / "prompts.jsonl", tmp_path / "sessions.jsonl"
    prompts.write_text('{"id": "p1", "prompt": "Fix the login bug in auth.py."}\n{torn\n')
    sessions.write_text('{"session": "s1", "turns": [{"turn": 1, "prompt": "Fix the login bug in auth.py."}]}\n')
    torn = CliRunner().invoke(judge, ["prompts", str(prompts), "--json"])
    assert (torn.exit_code, msgspec.json.decode(torn.stdout)["label"]["status"]) == (1, "ok")
    assert torn.stderr.count("prompts.jsonl, line 2") == torn.stderr.count("prompts.jsonl") == 1
    judged = msgspec.json.decode(CliRunner().invoke(judge, ["sessions", str(sessions), "--json"]).stdout)
    assert [(arc["start"], arc["end"]) for arc in judged["arcs"]] == [(1, 1)]
