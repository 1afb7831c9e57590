"""What a scored developer asks in a terminal, against the real server with the demo's sessions."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from svc.cli import main
from svc.cli.demo import write_transcripts
from svc.cli.scoring import figure_of, score_told, sparks
from svc_http.pages.words import HABITS, STATES, bounded, cost_told, rounding, titled
from tests.support.listening import Handler, listening
from tests.support.process import Server, init, serving, svc
from tests.support.tables import beside

TIME = ("--days", "all")


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
    shown = told(ana, "score", *TIME)
    assert ("the rate may be" in shown, "Next habit, missed in the most prompts: " in shown) == (True, True)
    figures = json.loads(told(ana, "score", *TIME, "--json"))["score"]
    assert f"{figures['crushed_count']} of {figures['decided_count']} decided goals reached" in shown
    assert (figures["letter_grade"] == "N/A") == (figures["decided_count"] < 10)


@beside()
def test_a_rate_in_words(crushed: int, decided: int, undecided: int, fits: Any, sentence: str) -> None:
    """In a terminal and on a page alike: undecided ones are told, and few are said to be few."""
    counts = {"crushed_count": crushed, "decided_count": decided, "undecided_count": undecided, "total_count": 9}
    interval = fits and {"low": fits[0], "high": fits[1]}
    assert score_told({**counts, "interval": interval}, "March") == sentence


@beside()
def test_no_goal_says_what_to_do(newest: str | None, sentence: str) -> None:
    """Never a zero."""
    assert score_told({"total_count": 0, "newest_at": newest}, "March") == sentence


@beside()
def test_a_title_shows_where_it_is_cut(title: str, summary: str | None, source: str, shown: str) -> None:
    """As the line that it begins goes on; a whole sentence, and one that somebody gave, stand as they are."""
    assert titled(title, summary, source) == shown


def listed(ana: tuple[Server, str], *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(told(ana, "goals", "--json", *arguments))["goals"]
    return found


def test_goals_are_named_by_ids_that_stay(ana: tuple[Server, str]) -> None:
    """The first eight characters, wherever a goal is named; the newest has a name of its own."""
    newest = listed(ana)[0]
    name = newest["score_v3_sub_session_id"][:8]
    assert name in told(ana, "goals")
    by_word, by_id = told(ana, "why", "newest"), told(ana, "why", name)
    assert by_word == by_id
    assert newest["title"].rstrip(",:") in by_id.splitlines()[0]
    assert f"svc why {name} --all" in by_id
    whole = told(ana, "why", name, "--all")
    assert whole.index("outcome") < whole.index("where it begins")
    assert not {name for name in (*HABITS, "`kept`") if name in whole}
    shown = [line for line in whole.splitlines() if line.lstrip().startswith("✓ ")]
    assert shown, "a habit was shown"
    assert not [line for line in shown for name in HABITS.values() if line.count(name) > 1], "a name is no reason"


def test_a_list_of_goals_is_narrowed_and_sorted(ana: tuple[Server, str]) -> None:
    every = listed(ana, *TIME)
    for name, field in {"--outcome": "outcome", "--kind": "intent_class", "--agent": "agent"}.items():
        chosen = listed(ana, *TIME, name, every[1][field])
        assert chosen == [each for each in every if each[field] == every[1][field]]
    costs = [each["cost_usd"] for each in listed(ana, *TIME, "--sort", "cost")]
    assert costs == sorted(costs, reverse=True)
    assert "No such goal" in told(ana, "goals", "--month", "2020-02")
    found = listed(ana, *TIME, "--words", "CURSOR offset")
    assert 0 < len(found) < len(every)
    shown = told(ana, "goals", *TIME, "--words", "CURSOR offset")
    assert (found[0]["found"]["sentence"] in shown, "Looked back to 2 " in shown) == (True, True)
    assert f"{len(every)} goals of all time: " in told(ana, "goals", *TIME)


@pytest.mark.parametrize("columns", [80, 140])
def test_a_list_of_goals_fits_the_terminal_one_line_each(
    ana: tuple[Server, str], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TTY_COMPATIBLE": "1", "NO_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", str(columns))
    server, key = ana
    environment = {"SVC_KEY": key, "SVC_API_URL": server.api_url}
    lines = CliRunner().invoke(main, ["goals", *TIME], env=environment).output.splitlines()
    rows = [line for each in listed(ana, *TIME) for line in lines if each["score_v3_sub_session_id"][:8] in line]
    assert len(rows) == len(listed(ana, *TIME))
    assert max(map(len, lines)) <= columns
    assert all(any(state in row for state in STATES.values()) for row in rows)


def test_saying_otherwise_changes_the_score_and_says_so(ana: tuple[Server, str]) -> None:
    """Before and after; the explanation names what was said."""
    reached = listed(ana, "--outcome", "reached")[0]["score_v3_sub_session_id"][:8]
    before = json.loads(told(ana, "score", *TIME, "--json"))["score"]
    changed = json.loads(told(ana, "wrong", reached, "--not-reached", "--json"))
    assert changed["override"]["action"] == "mark_incomplete"
    after = json.loads(told(ana, "score", *TIME, "--json"))["score"]
    assert after["crushed_count"] == before["crushed_count"] - 1
    assert "You said: mark incomplete" in told(ana, "why", reached)
    assert "--take-back" in told(ana, "why", reached)
    assert "Taken." in told(ana, "wrong", reached, "--take-back")
    again = json.loads(told(ana, "score", *TIME, "--json"))["score"]
    assert again["crushed_count"] == before["crushed_count"]
    assert "you have said nothing of goal" in typed(ana, "wrong", reached, "--take-back").output


def test_habits_and_cost_are_counts_of_the_days_asked_for(ana: tuple[Server, str]) -> None:
    """Each with the number it is over; what has no price is told. Each goal of a single model counts once."""
    assert " of " in told(ana, "habits", *TIME)
    assert json.loads(told(ana, "habits", *TIME, "--json"))
    for by in ("model", "outcome", "day"):
        shown, found = (told(ana, "cost", *TIME, "--by", by, *more) for more in ((), ("--json",)))
        cost = json.loads(found)
        assert sum(each["goals"] for each in cost["groups"]) >= cost["total"]["goals"] == len(listed(ana, *TIME))
        assert f"All time: {cost_told(cost['total'])} for {cost['total']['goals']} goals." in shown
        assert cost["dearest"][0]["score_v3_sub_session_id"][:8] in shown


def test_lines_of_figures_are_drawn() -> None:
    assert sparks([0.0, None, 50.0, 100.0]) == "▁·▅█"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("why", "99999999"), "`svc goals` shows the ids"),
        (("wrong", "newest"), "say one thing"),
        (("wrong", "newest", "--split", "1"), "prompt 1 begins the goal already"),
        (("cost", "--days", "ever"), "There is no time “ever”"),
        (("goals", "--from", "2026-03-02", "--to", "2026-03-01"), "it ends before it begins"),
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


@beside()
def test_a_cost_says_on_which_sides_the_true_one_may_lie(
    known: float, priced: int, unpriced: int, more: int, less: int, said: str
) -> None:
    requests = {"priced_requests": priced, "unpriced_requests": unpriced}
    bounds = {"lower_bound_requests": more, "upper_bound_requests": less}
    assert cost_told({"known_cost_usd": known, **requests, **bounds}) == said


@beside()
def test_money_adds_up_as_it_is_shown_or_is_told_not_to(
    parts: list[float | None], whole: float | None, is_off: bool
) -> None:
    assert bool(rounding(parts, whole)) == is_off


def test_a_goal_is_listed_with_what_it_is_sorted_by() -> None:
    goal = {"cost_usd": 2.0, "cost_kind": "exact", "total_tokens": 12_400, "turns": 3}
    goal |= {"grade_told": None, "duration_seconds": None}
    shown = {"started": "$2.00", "cost": "$2.00", "tokens": "12.4 k", "turns": "3", "grade": "–", "duration": "–"}
    assert {sort: figure_of(goal, sort).replace("\u202f", " ") for sort in shown} == shown
    costs = {"lower_bound": "≥ $2.00", "upper_bound": "≤ $2.00", "about": "~ $2.00"}
    assert {kind: figure_of({**goal, "cost_kind": kind}, "cost") for kind in costs} == costs
    assert (figure_of({"cost_usd": None}, "cost"), bounded(None, 0, 0)) == ("–", "–")
