"""A text model on labelled items: what was recorded is measured, and what is missing is asked."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from aggregates.reading.verdicts import BOOLEANS, applicable
from tests.judges.answers import INSTRUCTION_TOKENS, recorded
from tests.judges.report import main
from tests.support.model_server import Request, Said, fails, model_server, says

EARNED: dict[str, bool] = {
    "goal_explicit": True,
    "scope_bounded": True,
    "references_concrete": True,
    "context_sufficient": True,
}
LABEL: dict[str, bool | None] = {
    name: EARNED.get(name, False) if name in applicable("small_change") else None for name in BOOLEANS
}
PROMPT = "Rename getUsr to getUser in src/user.ts"
NEXT = "Now write a page about the release in docs/release.md"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """One labelled prompt, and one labelled session of two arcs."""
    label: dict[str, Any] = {"status": "ok", "intent": "small_change", **LABEL}
    turns = [{"turn": 1, "prompt": PROMPT, "response_end": "Done."}, {"turn": 2, "prompt": NEXT}]
    arcs = [{"start": place, "end": place, "intent": "small_change", "goal_complete": None} for place in (1, 2)]
    (tmp_path / "labels").mkdir()
    written(tmp_path / "labels" / "prompts.jsonl", {"id": "zz1:s:1", "prompt": PROMPT, "label": label})
    written(tmp_path / "labels" / "sessions.jsonl", {"session": "zz1:s", "turns": turns, "arcs": arcs})
    return tmp_path


def written(path: Path, *items: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def report(*options: object, url: str = "") -> Result:
    settings = {"SVC_LLM_URL": url or None, "SVC_LLM_MODEL": "m" if url else None, "SVC_LLM_KEY": None}
    return CliRunner(env=settings).invoke(main, list(map(str, options)))


def test_recorded_answers_are_measured_beside_the_labels(data_dir: Path) -> None:
    """One boolean of five is wrong, one unsure; the gap was seen; an answer about nothing here is counted apart."""
    said: dict[str, Any] = {"intent": "small_change", **LABEL, "scope_bounded": False, "context_sufficient": "unsure"}
    gap = {"session": "zz1:s", "turn": 2, "new_topic": True}
    file = written(data_dir / "answers.jsonl", {"id": "zz1:s:1", **said}, {"id": "zz9:s:1", **said}, gap)
    found = json.loads(report(data_dir, "--answers", file, "--json").stdout)
    assert (found["answered_prompts"], found["gaps"], found["unknown"]) == (1, 1, 1)
    assert found["prompts"]["intent_accuracy"] == {"hits": 1, "total": 1}
    assert found["prompts"]["score_error"] == 40
    assert found["prompts"]["sure"]["all"]["told"] == {"hits": 4, "total": 5}
    assert found["boundaries"] == {"right": 1, "judged": 1, "expert": 1}


def test_a_line_that_is_no_answer_is_named(data_dir: Path) -> None:
    file = written(data_dir / "answers.jsonl", {"id": "zz1:s:1", "intent": "wish"})
    assert "answers.jsonl, line 1" in report(data_dir, "--answers", file).output


def answer(request: Request) -> Said:
    """A model that is right about everything."""
    prompt = request.data["prompt"]
    if "new_topic" in request.system:
        return says({"new_topic": prompt == NEXT, "confidence": 0.9, "quote": prompt})
    quotes = [{"habit": name, "quote": PROMPT} for name in ("goal_explicit", "scope_bounded", "references_concrete")]
    return says({"intent": "small_change", "confidence": 0.9, **LABEL, "quotes": quotes})


def test_a_text_model_is_asked_what_is_missing_and_measured(data_dir: Path) -> None:
    """The cost is told first; a second run asks nothing again."""
    file = data_dir / "answers.jsonl"
    with model_server() as server:
        server.answer = answer
        declined = report(data_dir, "--ask", file, url=server.url)
        assert declined.exit_code != 0
        assert server.received == []
        found = report(data_dir, "--ask", file, "--yes", "--json", url=server.url)
        asked = len(server.received)
        report(data_dir, "--ask", file, "--yes", "--json", url=server.url)
        assert (asked, len(server.received)) == (2, 2)
    assert "2 questions to m" in found.stderr
    assert f"{2 * INSTRUCTION_TOKENS // 1000}," in found.stderr
    measured = json.loads(found.stdout)
    assert measured["prompts"]["score_error"] == 0
    assert measured["boundaries"] == {"right": 1, "judged": 1, "expert": 1}
    assert set(recorded((file,)).prompts) == {"zz1:s:1"}


def test_what_is_not_answered_stays_missing(data_dir: Path) -> None:
    file = data_dir / "answers.jsonl"
    with model_server() as server:
        server.answer = lambda _request: fails(400)
        found = report(data_dir, "--ask", file, "--yes", url=server.url)
    assert "0 of 2 answers were believed" in found.output
    assert file.read_text() == ""


def test_without_a_text_model_nothing_is_asked(data_dir: Path) -> None:
    assert "SVC_LLM_URL" in report(data_dir, "--ask", data_dir / "answers.jsonl").output
