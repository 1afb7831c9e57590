"""One figure, one read: what pages and the terminal print stands in an answer of the API about the same time."""

import html
import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from svc.cli import main
from svc.cli.demo import write_transcripts
from svc_http.pages import words
from tests.support.driver import bearer, signed_in, until
from tests.support.process import Server, init, serving, svc

V3 = "/v1/score_v3"
WEEKS = 12  # that the page of habits shows
_SHOWN = re.compile(r"(?s).*?<main\b[^>]*>(.*)</main>.*")
_LEFT_OUT = re.compile(r"(?s)<(style|script|time|nav|option|form|h1|code|textarea|blockquote|q)\b.*?</\1>|<[^>]+>")
"""Times and the choice of a time, what one may ask for or paste, what somebody wrote, and tags."""
_DATES = re.compile(
    r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\d{1,2}(?: to \d{1,2})? "
    r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*(?: \d{4})?(?:, \d\d:\d\d)?\b"
    r"|\b\d{4}-\d\d-\d\d(?: \d\d:\d\d)?\b|\b\d\d:\d\d\b"
)
_FIGURE = re.compile(
    r"\$[\d\u202f]*\d(?:\.\d+)?(?:e-\d+)?|\d+ h \d\d min|\d+ min\b|\d+ s\b|\d+\.\d days|\d+\.\d\u202f[kMG]"
    r"|\d+(?:–\d+)? %|\d[\d\u202f]*(?:\.\d+)?"
)


class Told(NamedTuple):
    """What the API answers, as people are shown it."""

    figures: set[str]
    texts: set[str]

    def holds(self, figure: str) -> bool:
        parts = re.findall(r"\d+", figure) if "–" in figure else []
        return figure in self.figures | self.texts or (
            bool(parts) and all(f"{each} %" in self.figures for each in parts)
        )


def figures_in(text: str) -> list[str]:
    return _FIGURE.findall(_DATES.sub(" ", text))


def shown_on(page: str) -> str:
    main_part = _SHOWN.sub(r"\1", page)
    return html.unescape(_LEFT_OUT.sub(" ", main_part)).replace("\u00a0%", " %")


def forms_of(value: float) -> Iterator[str]:
    """Every way in which a number may be written."""
    yield from (words.number(value), words.tokens(value), words.usd(value), words.duration(value), str(value))
    yield from (f"{each:.0f} %" for each in (value, 100 * value) if 0 <= each <= 100)
    yield from (f"{value:.1f}", words.duration(value / 1_000))  # of milliseconds


def told_by(answers: list[Any]) -> Told:
    told, left = Told(set(), set()), list(answers)
    while left:
        match left.pop():
            case bool() | None:
                pass
            case int() | float() as value:
                told.figures.update(forms_of(value))
            case str() as text:
                told.texts.update(_FIGURE.findall(text))
            case list() as several:
                told.figures.update(forms_of(len(several)))
                left += several
            case dict() as fields:
                left += [*fields.keys(), *fields.values()]
    return told


class World(NamedTuple):
    """A developer of a small team with the demo's work, and their last four weeks."""

    server: Server
    key: str
    cookie: str
    team_id: str
    first: datetime

    @property
    def span(self) -> str:
        return self._days(self.first, 28)

    def _days(self, first: datetime, days: int) -> str:
        return f"from={first:%Y-%m-%d}&to={first + timedelta(days=days - 1):%Y-%m-%d}"

    def get(self, path: str) -> Any:
        answer = self.server.api.get(path, headers=bearer(self.key))
        assert answer.status_code == 200, f"{path}: {answer.text}"
        return answer.json()

    def page(self, path: str) -> str:
        answer = self.server.api.get(path, headers={"Cookie": self.cookie}, follow_redirects=True)
        assert answer.status_code == 200, path
        return answer.text

    def typed(self, *arguments: str) -> str:
        told = {"SVC_KEY": self.key, "SVC_API_URL": self.server.api_url, "COLUMNS": "160"}
        first, last = (part.partition("=")[2] for part in self.span.split("&"))
        result = CliRunner().invoke(main, [*arguments, "--from", first, "--to", last], env=told)
        assert result.exit_code == 0, result.output
        return result.output

    def reads(self, *paths: str) -> list[Any]:
        return [self.get(f"{path}{'&' if '?' in path else '?'}{self.span}") for path in paths]

    @property
    def before(self) -> str:
        return self._days(self.first - timedelta(days=28), 28)

    def by_part(self, path: str) -> list[Any]:
        """A read of each day and of each week."""
        days = [self._days(self.first + timedelta(days=day), 1) for day in range(28)]
        monday = self.first + timedelta(days=27 - (self.first + timedelta(days=27)).weekday())
        weeks = [self._days(monday - timedelta(days=7 * week), 7) for week in range(WEEKS)]
        return [self.get(f"{path}?{span}") for span in (*days, *weeks)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, now = tmp_path_factory.mktemp("one"), datetime.now(UTC)
    var, made = folder / "var", init(folder / "var")
    sessions = write_transcripts(folder / "sessions", now_us=time.time_ns() // 1_000)
    svc("import", "claude-code", next(iter(sessions.values())), "--var", var)
    team = json.loads(svc("team", "create", "Core", "--var", var, "--json").stdout)
    svc("team", "add", "Core", made["developer_id"], "--var", var)
    first = datetime(now.year, now.month, now.day, tzinfo=UTC) - timedelta(days=27)
    with serving(var, made["key"]) as server:
        yield World(server, made["key"], signed_in(server.api_port, made["key"]), team["id"], first)


SCORE = tuple(f"{V3}/{name}" for name in ("score", "goals?limit=50", "skill", "insight/summary"))
COST = tuple(f"{V3}/cost?by={by}" for by in ("outcome", "day", "week", "model", "project", "agent", "day&parts=model"))
LOST = "/v1/intelligence/throttle"


def of_home(world: World) -> list[Any]:
    before = [world.get(f"{path}?{world.before}") for path in (f"{V3}/score", f"{V3}/cost", LOST)]
    return [*world.reads(*SCORE, *COST, LOST), *before, *world.by_part(f"{V3}/score")]


def of_team(world: World) -> list[Any]:
    team = f"team_id={world.team_id}"
    reads = f"/v1/team/trend?{team}", f"{LOST}/team?{team}", f"{V3}/peer-comparison", *SCORE
    return [*world.reads(*reads), world.get(f"/v1/team/cost?{team}"), world.get(f"{V3}/score?{world.before}")]


FIXED = ["SHA-256", "A browser that is not used for 14 days is signed out"]  # what Settings says to everybody
ANSWERS: dict[str, Callable[[World], list[Any]]] = {
    "/": of_home,
    "/goals": lambda world: world.reads(*SCORE),
    "/goals?outcome=not_counted": lambda world: world.reads(f"{V3}/goals?outcome=not_counted"),
    "/goals?sort=cost&project=unknown": lambda world: world.reads(f"{V3}/goals?sort=cost&project=unknown"),
    "/habits": lambda world: [*world.reads(*SCORE), *world.by_part(f"{V3}/skill")],
    **{f"/cost?by={by}": lambda world: world.reads(*COST, LOST) for by in ("outcome", "model", "project", "agent")},
    "/team": of_team,
    "/reports": lambda world: [world.get(f"{V3}/report/history")],
    "/mine": lambda world: [world.get("/v1/judge/verdicts"), *FIXED],
}
"""Each page but those of one goal, of one report and of administration: the reads that tell its figures."""
COMMANDS = ("score", "goals", "cost", "cost --by day", "cost --by project", "habits")


def with_time(path: str, span: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}{span}"


def untold(text: str, answers: list[Any]) -> list[str]:
    told = told_by(answers)
    return [each for each in figures_in(text) if not told.holds(each)]


@pytest.mark.parametrize("path", ANSWERS)
def test_every_figure_of_a_page_is_in_an_answer(world: World, path: str) -> None:
    text = shown_on(world.page(with_time(path, world.span)))
    assert untold(text, ANSWERS[path](world)) == []


@pytest.mark.parametrize("sort", ["cost", "turns", "started"])
def test_every_figure_of_a_goal_is_in_an_answer(world: World, sort: str) -> None:
    (page,) = world.reads(f"{V3}/goals?sort={sort}&limit=1")
    (goal,) = page["goals"]
    one = f"{V3}/sub-sessions/{goal['score_v3_sub_session_id'][:8]}"
    answers = [goal, *(world.get(f"{one}{part}") for part in ("", "/turns", "/explain", "/prompts"))]
    text = shown_on(world.page(with_time(f"/goals/{goal['score_v3_sub_session_id'][:8]}", world.span)))
    assert (len(figures_in(text)) > 5, untold(text, answers)) == (True, [])


def test_every_figure_of_a_report_is_in_it(world: World) -> None:
    report = world.server.api.post(f"{V3}/report/generate", json={"period": "monthly"}).json()["report_id"]
    assert until(lambda: world.get(f"{V3}/report/status/{report}")["status"] == "completed")
    text = shown_on(world.page(f"/reports/{report}"))
    assert untold(text, [world.get(f"{V3}/report/{report}")]) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_figure_of_the_terminal_is_in_an_answer(world: World, command: str) -> None:
    shown = world.typed(*command.split())
    assert len(figures_in(shown)) >= 5
    assert untold(shown, world.reads(*SCORE, *(COST if "cost" in command else ()))) == []


def test_a_figure_of_another_time_is_not_found(world: World) -> None:
    """So the tests above would notice one."""
    for path in ("/", "/goals", "/cost?by=outcome"):
        text = shown_on(world.page(with_time(path, world.span)))
        assert len(untold(text, [world.get(f"{V3}/cost?{world.before}"), world.get(f"{V3}/goals?{world.before}")])) > 5
