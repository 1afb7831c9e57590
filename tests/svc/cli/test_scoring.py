"""What a scored developer asks in a terminal, against the real server with the demo's sessions."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from svc.cli import main
from svc.cli.demo import write_transcripts
from svc.cli.scoring import bounded, cost_told, score_told
from svc_http.pages.words import HABITS, titled
from tests.support.listening import Handler, listening
from tests.support.process import Server, init, serving, svc

DAYS = 366


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server that holds the sessions of one developer, and the key."""
    folder = tmp_path_factory.mktemp("scoring")
    made = init(folder / "var")
    sessions = write_transcripts(folder / "sessions", now_us=time.time_ns() // 1_000)
    svc("import", "claude-code", next(iter(sessions.values())), "--var", folder / "var")
    with serving(folder / "var", made["key"]) as server:
        yield server, made["key"]


def typed(ana: tuple[Server, str], *arguments: str) -> Result:
    """Run a command as the developer, on a wide terminal that is none."""
    server, key = ana
    environment = {"SVC_KEY": key, "SVC_API_URL": server.api_url, "COLUMNS": "160"}
    return CliRunner().invoke(main, arguments, env=environment)


def told(ana: tuple[Server, str], *arguments: str) -> str:
    result = typed(ana, *arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_score_is_a_sentence_with_what_fits(ana: tuple[Server, str]) -> None:
    """Reached of decided, the interval, and the next habit; no percentage by itself."""
    shown = told(ana, "score", "--days", str(DAYS))
    assert ("the rate may be" in shown, "Next habit: " in shown) == (True, True)
    figures = json.loads(told(ana, "score", "--days", str(DAYS), "--json"))["score"]
    assert f"{figures['crushed_count']} of {figures['decided_count']} decided goals reached" in shown
    assert (figures["letter_grade"] == "N/A") == (figures["decided_count"] < 10)


@pytest.mark.parametrize(
    ("crushed", "decided", "undecided", "fits", "sentence"),
    [
        (11, 15, 0, (48, 89), "11 of 15 decided goals reached; the rate may be 48–89 %."),
        (8, 8, 2, (58, 99), "8 of 8 decided goals reached; 2 undecided: the rate may be 58–99 %."),
        (0, 1, 0, (0, 90), "0 of 1 decided goal reached; too few to tell: the rate may be 0–90 %."),
        (0, 0, 2, (0, 100), "No goal is decided; 2 undecided: the rate may be 0–100 %."),
        (0, 0, 2, None, "No goal counts yet in this time."),
    ],
)
def test_a_rate_in_words(crushed: int, decided: int, undecided: int, fits: Any, sentence: str) -> None:
    """In a terminal and on a page alike: undecided ones are told, and few are said to be few."""
    counts = {"crushed_count": crushed, "decided_count": decided, "undecided_count": undecided, "total_count": 9}
    interval = fits and {"low": fits[0], "high": fits[1]}
    assert score_told({**counts, "interval": interval}, 30) == sentence


@pytest.mark.parametrize(
    ("days_ago", "sentence"),
    [
        (None, "No goal yet. `svc import claude-code` reads what you have done so far."),
        (0, "No goal counts in the last 30 days; your newest work, of {day}, goes on or does not count: svc goals"),
        (40, "No goal counts in the last 30 days; your newest work is of {day}: svc score --days 366"),
        (500, "No goal counts in the last 30 days; your newest work is of {day}: svc goals"),
    ],
)
def test_no_goal_says_what_to_do(days_ago: int | None, sentence: str) -> None:
    """Never a zero, and never more days that hold no more."""
    none = {"crushed_count": 0, "decided_count": 0, "undecided_count": 0, "total_count": 0, "interval": None}
    newest = None if days_ago is None else (datetime.now(UTC) - timedelta(days=days_ago)).isoformat()
    assert score_told({**none, "newest_at": newest}, 30) == sentence.format(day=(newest or "")[:10])


@pytest.mark.parametrize(
    ("title", "summary", "source", "shown"),
    [
        ("Write just that,", "Write just that, and no more", "rubric", "Write just that…"),
        ("Fix the login.", "Fix the login. Then run the tests", "rubric", "Fix the login."),
        ("Fix the login", "Please fix it", "rubric", "Fix the login"),
        ("Fix the login", None, "heuristic", "Fix the login"),
        ("Fix", "Fix the login", "user_edited", "Fix"),
    ],
)
def test_a_title_shows_where_it_is_cut(title: str, summary: str | None, source: str, shown: str) -> None:
    """As the line that it begins goes on; a whole sentence, and one that somebody gave, stand as they are."""
    assert titled(title, summary, source) == shown


def test_goals_are_listed_by_number_and_explained_by_it(ana: tuple[Server, str]) -> None:
    listed = json.loads(told(ana, "goals", "--json"))
    assert listed[0]["sub_session_id"][:8] in told(ana, "goals")
    by_number, by_id = told(ana, "why", "1"), told(ana, "why", listed[0]["sub_session_id"][:8])
    assert by_number.splitlines()[0] == by_id.splitlines()[0]
    assert listed[0]["title"].rstrip(",:") in by_number.splitlines()[0]
    assert by_number.index("outcome") < by_number.index("where it begins")
    assert not {name for name in (*HABITS, "`kept`") if name in by_number}
    shown = [line for line in by_number.splitlines() if line.lstrip().startswith("✓ ")]
    assert shown, "a habit was shown"
    assert not [line for line in shown for name in HABITS.values() if line.count(name) > 1], "a name is no reason"


def test_saying_otherwise_changes_the_score_and_says_so(ana: tuple[Server, str]) -> None:
    """Before and after; the explanation names what was said."""
    listed = json.loads(told(ana, "goals", "--json"))
    reached = next(each for each in listed if each["crushed"])["sub_session_id"]
    before = json.loads(told(ana, "score", "--days", str(DAYS), "--json"))["score"]
    changed = json.loads(told(ana, "wrong", reached, "--not-reached", "--json"))
    assert changed["override"]["action"] == "mark_incomplete"
    after = json.loads(told(ana, "score", "--days", str(DAYS), "--json"))["score"]
    assert after["crushed_count"] == before["crushed_count"] - 1
    assert "you said: mark incomplete" in told(ana, "why", reached)
    assert "--take-back" in told(ana, "why", reached)
    assert "Taken." in told(ana, "wrong", reached, "--take-back")
    again = json.loads(told(ana, "score", "--days", str(DAYS), "--json"))["score"]
    assert again["crushed_count"] == before["crushed_count"]
    assert "you have said nothing of goal" in typed(ana, "wrong", reached, "--take-back").output


def test_habits_and_cost_are_counts_of_the_days_asked_for(ana: tuple[Server, str]) -> None:
    """Each with the number it is over; what has no price is told. Each goal of a single model counts once."""
    assert " of " in told(ana, "habits", "--days", str(DAYS))
    assert json.loads(told(ana, "habits", "--days", str(DAYS), "--json"))
    shown = told(ana, "cost", "--days", str(DAYS))
    assert ("that count" in shown, "without a price" in shown) == (True, True)
    goals = {
        days: sum(each["subSessions"] for each in json.loads(told(ana, "cost", "--days", days, "--json")))
        for days in ("1", str(DAYS))
    }
    assert goals["1"] < goals[str(DAYS)]
    assert goals[str(DAYS)] >= len(json.loads(told(ana, "goals", "--json")))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("why", "9999999"), "none of your newest goals begins"),
        (("wrong", "1"), "say one thing"),
        (("wrong", "1", "--split", "1"), "prompt 1 begins the goal already"),
    ],
)
def test_what_cannot_be_is_a_sentence(ana: tuple[Server, str], arguments: tuple[str, ...], said: str) -> None:
    result = typed(ana, *arguments)
    assert (result.exit_code in (1, 2), said in result.output) == (True, True)


def test_a_wrong_key_and_no_server_say_what_to_do(ana: tuple[Server, str], tmp_path: Path) -> None:
    server, _ = ana
    wrong = typed((server, "svc_" + "x" * 43), "score")
    told = all(part in wrong.output for part in ("does not take this key", "give yours with --key"))
    assert (wrong.exit_code, told) == (1, True)
    home: dict[str, Any] = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "SVC_API": "127.0.0.1:1"}
    none = CliRunner().invoke(main, ["score", "--var", str(tmp_path)], env={**home, "SVC_KEY": "svc_key"})
    assert "is `svc serve` running here?" in none.output
    no_key = CliRunner().invoke(main, ["score", "--var", str(tmp_path)], env={**home, "SVC_KEY": None})
    assert "a key is needed" in no_key.output


def test_a_page_in_place_of_the_api_is_a_sentence() -> None:
    class SignIn(Handler):
        def do_GET(self) -> None:
            self.answer(200, b"<html>", Content_Type="text/html")

    with listening(SignIn) as url:
        done = CliRunner().invoke(main, ["goals", "--api", url, "--key", "svc_key"])
    assert (done.exit_code, "not as the API of svc does" in done.output) == (1, True)


@pytest.mark.parametrize(
    ("goals", "said"),
    [
        ([(1.0, 0), (2.0, 0)], "$3.00"),
        ([(1.0, 2)], "at least $1.00"),
        ([(1.0, 0), (None, 3)], "at least $1.50"),
        ([(None, 3)], "at least $0.50"),
        ([(1.0, 0), (None, 0)], "$1.00"),
        ([(None, 0)], "–"),
        ([], "–"),
    ],
)
def test_a_cost_says_whether_there_was_more(goals: list[tuple[float | None, int]], said: str) -> None:
    """Half a dollar is known of what has no price for some requests; who asked nothing leaves nothing open."""
    known = {"lowerBoundCostUsd": 0.5}
    least: dict[str, None] = {"lowerBoundCostUsd": None}
    exact = {"lowerBoundRequests": 0, "upperBoundRequests": 0}
    told = [{"costUsd": cost, "unpricedRequests": of, **exact, **(known if of else least)} for cost, of in goals]
    assert cost_told(told) == said


@pytest.mark.parametrize(
    ("more", "less", "said"),
    [(0, 0, "$2.00"), (1, 0, "at least $2.00"), (0, 3, "at most $2.00"), (1, 1, "about $2.00")],
)
def test_a_cost_says_on_which_sides_the_true_one_may_lie(more: int, less: int, said: str) -> None:
    assert (bounded(2.0, more, less), bounded(None, more, less)) == (said, "–")
