"""`svc score`, `goals`, `why`, `wrong`, `habits`, `cost`, `mcp`: what the pages show a scored developer."""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

import click
import msgspec
from click.core import ParameterSource
from rich.markup import escape

from svc import __version__
from svc.cli import Command, Found
from svc.cli.common import Shown, json_option, minute, print_json, run, settings_option, show_table
from svc.connect.changes import Refused
from svc.connect.connections import KeyRefused, NotAnswered, Server, checked_url, known_key
from svc.log.folder import running
from svc.settings import Settings
from svc_http.pages.words import HABITS, KINDS, STATES, UNKNOWN, counted, plainly, rate_told, reason_of, titled, usd
from svc_http.pages.words import kind as kind_named
from svc_http.records import DAYS_MAX, last_dates, last_days

_V3 = "/v1/score_v3"
DAYS = 30
GOALS_SHOWN = 20
GOALS_MAX = 200  # one page of the API; among these a goal is looked for by number or beginning of id
ID_CHARACTERS = 8
NOT_REPORTED = "not reported"  # the model of requests that name none
_STYLES = {"reached": "green", "not_reached": "red", "repeated": "red", "going_on": "cyan"}
days_option = click.option(
    "--days", type=click.IntRange(1, DAYS_MAX), default=DAYS, show_default=True, help="The last so many days."
)
_WHERE = (
    click.Option(["--api"], metavar="URL", envvar="SVC_API_URL", help="The API. [env: SVC_API_URL; default: here]"),
    click.Option(["--key"], envvar="SVC_KEY", help="Your key. [env: SVC_KEY; default: that of `svc connect`]"),
    click.Option(["--connection"], hidden=True, help="Whose key, where agents are connected with several."),
)


class Asking(Command):
    """A command that asks the API as a developer; its function gets the server first."""

    def __init__(
        self, *, callback: Callable[..., Any], params: list[click.Parameter], json: bool = True, **kwargs: Any
    ) -> None:
        def asked(
            settings: Settings, api: str | None, key: str | None, connection: str | None, **arguments: Any
        ) -> None:
            # What serves this folder, if it is the one that was named; else where one would by these settings.
            named = click.get_current_context().get_parameter_source("settings") is ParameterSource.COMMANDLINE
            found = running(settings.var_path) if named or api is None else None
            url = checked_url((api or f"http://{settings.api}") if found is None else found.api)
            try:
                callback(Server(url, key or known_key(connection=connection)), **arguments)
            except KeyRefused as error:
                raise KeyRefused(f"{error}; give yours with --key or SVC_KEY") from error
            except NotAnswered as error:
                hint = "" if api else "; is `svc serve` running here? --api or SVC_API_URL names another machine's API"
                raise NotAnswered(f"{error}{hint if 'cannot be reached' in str(error) else ''}") from error

        super().__init__(callback=asked, **kwargs)
        settings_option(self)
        self.params += _WHERE
        if json:
            json_option(self)
        self.params += params


def ask(server: Server, path: str, body: object = None, **query: object) -> Any:
    where = f"{path}?{urlencode(query)}" if query else path
    answer = server.answer("GET" if body is None else "POST", where, body)
    try:
        return msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a page to sign in, perhaps
        raise NotAnswered(f"{server.url} answers, but not as the API of svc does") from error


@click.command(cls=Asking, example="svc score --days 90")
@days_option
def score(server: Server, as_json: bool, days: int) -> None:
    asked = last_days(days)
    figures, habits, prompts = (ask(server, f"{_V3}/{each}", **asked) for each in ("score", "skill", "insight/summary"))
    if as_json:
        return print_json({"score": figures, "skill": habits, "prompts": prompts})
    console = Shown(highlight=False, soft_wrap=True)
    console.print(f"[bold]{score_told(figures, days)}[/bold]")
    if not figures["total_count"]:
        return
    if figures["letter_grade"] != "N/A":
        console.print(f"That is {figures['letter_grade']}.")
    if count := prompts["sample_count"]:
        console.print(f"Prompts: {prompts['apg_current']:.0f} of 100 over {counted(count, 'prompt')}.")
    if habits["worst_pillar"] in HABITS and habits["sample_count"]:
        console.print(f"Next habit: a prompt that [bold]{HABITS[habits['worst_pillar']]}[/bold].")
    console.print("`svc goals` lists the goals, `svc why 1` explains the newest.", style="dim")


def score_told(figures: Found, days: int) -> str:
    """The rate as the pages tell it, or what there is instead."""
    if figures["total_count"]:
        from aggregates.scores.grades import Interval

        fits = figures["interval"] and Interval(**figures["interval"])
        return rate_told(figures["crushed_count"], figures["decided_count"], figures["undecided_count"], fits)
    newest = figures.get("newest_at")
    if newest is None:
        return "No goal yet. `svc import claude-code` reads what you have done so far."
    none, age = f"No goal counts in the last {days} days", datetime.now(UTC) - datetime.fromisoformat(newest)
    if age <= timedelta(days=days):
        return f"{none}; your newest work, of {newest[:10]}, goes on or does not count: svc goals"
    more = f"score --days {DAYS_MAX}" if age <= timedelta(days=DAYS_MAX) else "goals"
    return f"{none}; your newest work is of {newest[:10]}: svc {more}"


@click.command(cls=Asking, example="svc goals --limit 50")
@click.option("--limit", type=click.IntRange(1, GOALS_MAX), default=GOALS_SHOWN, show_default=True, help="How many.")
def goals(server: Server, as_json: bool, limit: int) -> None:
    found = ask(server, f"{_V3}/realtime/sub-sessions", limit=limit)
    if as_json:
        print_json(found)
    elif not found:
        Shown().print("No goal yet. `svc import claude-code` reads what you have done so far.")
    else:
        rows = []
        for place, each in enumerate(found, 1):
            kind, letter = kind_named(each["kind_told"]), each["grade_told"] or UNKNOWN
            goal = each["sub_session_id"][:ID_CHARACTERS], minute(each["started_at"]), STATES[each["outcome"]]
            spent = bounded(each["cost_usd"], each["lower_bound_requests"], each["upper_bound_requests"])
            rows.append((str(place), *goal, kind, letter, spent, _title(each)))
        show_table(("", "id", "started", "state", "kind", "prompts", "cost", "goal"), rows)


def _title(goal: Found) -> str:
    return titled(goal["title"], goal["summary"], goal["title_source"]) if goal["title"] else ""


def chosen_goal(server: Server, named: str) -> Found:
    """By its number in the list, or by the beginning of its id. Raises `Refused`."""
    found = ask(server, f"{_V3}/realtime/sub-sessions", limit=GOALS_MAX)
    if named.isdecimal() and 0 < int(named) <= len(found) and len(named) < ID_CHARACTERS:
        return dict(found[int(named) - 1])
    fitting = [each for each in found if each["sub_session_id"].startswith(named.lower())]
    if len(fitting) == 1:
        return dict(fitting[0])
    if len(named) == len("00000000-0000-0000-0000-000000000000"):  # an older one than those listed
        return dict(ask(server, f"{_V3}/sub-sessions/{quote(named)}"))
    many = f"{len(fitting)} of your newest goals begin" if fitting else "none of your newest goals begins"
    raise Refused(f"{many} with {named!r}; `svc goals --limit {GOALS_MAX}` shows their numbers and ids")


PARTS = {"outcome": "outcome", "rework": "again", "rubric": "prompts", "floor": "work", "boundary": "where it begins"}
"""In the order in which a person asks: how it came out, then what it was judged from."""


@click.command(cls=Asking, example="svc why 1")
@click.argument("goal")
def why(server: Server, as_json: bool, goal: str) -> None:
    """GOAL is a number in the list of `svc goals`, or the beginning of an id."""
    found = chosen_goal(server, goal)
    explained = ask(server, f"{_V3}/sub-sessions/{found['score_v3_sub_session_id']}/explain")
    if as_json:
        return print_json(explained)
    console, style = Shown(highlight=False, soft_wrap=True), _STYLES.get(found["outcome"], "yellow")
    console.print(f"[bold]{escape(_title(found))}[/bold]  [{style}]{STATES[found['outcome']]}[/{style}]")
    console.print(escape(explained["verdict"]))
    for gap in explained["unsure_gaps"]:
        where = f"at its prompt {gap['split_turn_idx'] + 1}, {gap['chance']:.0%} that another begins"
        console.print(f"One goal or two? {escape(gap['preview'] or '')} ({where})", style="cyan")
    for name, title in PARTS.items():
        console.print(f"\n[bold]{title}[/bold]")
        for line in lines_of(explained[name]):
            console.print(f"  {escape(line)}")
    for word in explained["overrides"]:
        console.print(f"  you said: {escape(word['action'].replace('_', ' '))}", style="cyan")
    console.print(f"\nNot so? svc wrong {goal} --reached, --not-reached, --split N, --join or --kind K", style="dim")
    if explained["overrides"]:
        console.print(f"To take your word back: svc wrong {goal} --take-back", style="dim")


def lines_of(part: Found) -> Iterator[str]:
    for line in (*part["text"], *part["not_observed"]):
        if "`kept`" not in line:  # names a field of the JSON
            yield plainly(line, UTC)
    for mark, pieces in (("+", part.get("evidence_for", ())), ("−", part.get("evidence_against", ()))):
        for piece in pieces:
            yield f"{mark} {piece['what']}" + (f": “{piece['quote']}”" if piece["quote"] else "")
    for habit, said in part.get("booleans", {}).items():
        sign = f"{'?' if said['unsure'] else '✓' if said['earned'] else '✗'} {said['likely']}:"
        quoted = f"“{said['quote']}”" if said["quote"] else ""
        reason = " ".join(part for part in (reason_of(said["what"], habit), quoted) if part)
        advice = f" Write: {said['how_to_earn']}" if said["how_to_earn"] else ""
        yield f"{sign} {HABITS[habit]}{': ' if reason else ''}{reason}.{advice}"


@click.command(cls=Asking, example="svc wrong 1 --not-reached")
@click.argument("goal")
@click.option("--reached", "said", flag_value="mark_complete", help="The goal was reached.")
@click.option("--not-reached", "said", flag_value="mark_incomplete", help="The goal was not reached.")
@click.option("--join", "said", flag_value="merge_with_previous", help="It is one goal with the one before it.")
@click.option("--split", type=click.IntRange(1), metavar="N", help="Another goal begins with its prompt N (from 2).")
@click.option("--kind", type=click.Choice(list(KINDS)), metavar="KIND", help=f"What kind of work: {', '.join(KINDS)}.")
@click.option("--take-back", "said", flag_value="clear", help="Take back what you said last.")
def wrong(server: Server, as_json: bool, goal: str, said: str | None, split: int | None, kind: str | None) -> None:
    """GOAL is a number in the list of `svc goals`, or the beginning of an id."""
    given = [each for each in (said, split, kind) if each is not None]
    if len(given) != 1:
        raise click.UsageError("say one thing: --reached, --not-reached, --split N, --join, --kind K or --take-back")
    if split == 1:
        raise click.UsageError("prompt 1 begins the goal already; --split takes 2 or more")
    field = "completion" if said in ("mark_complete", "mark_incomplete") else "boundary"
    body: Found = {"field": field, "action": said}
    if split is not None:
        body |= {"action": "split_at_turn", "payload": {"split_turn_idx": split - 1}}
    elif kind is not None:
        body = {"field": "label", "action": "set_intent", "payload": {"intent_class": kind}}
    found = chosen_goal(server, goal)
    if said == "clear":
        words = ask(server, f"{_V3}/sub-sessions/{found['score_v3_sub_session_id']}/explain")["overrides"]
        if not words:
            nothing = f"you have said nothing of goal {goal} that could be taken back"
            raise Refused(f"{nothing}; `svc why {goal}` explains it")
        body["field"] = words[-1]["field"]  # the newest word that stands
    before = ask(server, f"{_V3}/score", **last_days(DAYS))
    answer = ask(server, f"/v1/sub-sessions/{found['score_v3_sub_session_id']}/override", body)
    after = ask(server, f"{_V3}/score", **last_days(DAYS))
    if as_json:
        return print_json({"override": answer, "before": before, "after": after})
    console = Shown(highlight=False, soft_wrap=True)
    console.print(f"Taken. [bold]{score_told(after, DAYS)}[/bold]")
    if score_told(before, DAYS) != score_told(after, DAYS):
        console.print(f"Before: {score_told(before, DAYS)}", style="dim")


@click.command(cls=Asking, example="svc habits --days 90")
@days_option
def habits(server: Server, as_json: bool, days: int) -> None:
    found = ask(server, f"{_V3}/skill", **last_days(days))
    if as_json:
        return print_json(found)
    counts, rows = found["per_boolean_counts"], []
    for name, does in HABITS.items():
        of = counts.get(name, 0)
        rows.append((does, f"about {found['per_boolean'][name] * of:.0f} of {of}" if of else UNKNOWN))
    show_table(("a prompt of yours", "so often"), rows)
    console = Shown(highlight=False, soft_wrap=True)
    if unsure := found.get("unsure_count"):
        console.print(f"{counted(unsure, 'verdict')} unsure; each counts by how likely it is.", style="dim")
    if found["worst_pillar"] in HABITS and found["sample_count"]:
        console.print(f"Next habit: a prompt that [bold]{HABITS[found['worst_pillar']]}[/bold].")


@click.command(cls=Asking, example="svc cost --days 7")
@days_option
def cost(server: Server, as_json: bool, days: int) -> None:
    found = ask(server, f"{_V3}/model-task", **last_dates(days), limit=GOALS_MAX)["items"]
    if as_json:
        return print_json(found)
    if (told := cost_told(found)) != UNKNOWN:
        Shown(highlight=False).print(f"[bold]{told}[/bold] in the last {days} days.")
    models: dict[str, list[Found]] = {}
    for each in found:
        models.setdefault(each["model"] or NOT_REPORTED, []).append(each)
    rows = []
    for model, parts in models.items():
        goals, counting, reached, unpriced = (
            sum(each[name] for each in parts) for name in ("subSessions", "qualifying", "crushed", "unpricedRequests")
        )
        tokens = [each["totalTokens"] for each in parts]
        used = "–" if None in tokens else f"{sum(tokens):,}"  # a part would be taken for the sum
        counts = str(goals), str(counting), str(reached)
        rows.append((model, *counts, used, cost_told(parts), f"{unpriced:,}" if unpriced else ""))
    show_table(("model", "goals", "that count", "reached", "tokens", "cost", "requests without a price"), rows)
    if any(each["unpricedRequests"] for each in found):
        Shown(highlight=False).print("A cost was more than is known where requests have no price.", style="yellow")


def cost_told(parts: list[Found]) -> str:
    """As in "$1.20", "at least" or "at most $1.20" where some rates are unknown, and "–" where all of it is."""
    told = [each["lowerBoundCostUsd"] if each["costUsd"] is None else each["costUsd"] for each in parts]
    known = [each for each in told if each is not None]
    more = sum(each["unpricedRequests"] + each["lowerBoundRequests"] for each in parts)
    return bounded(sum(known) if known else None, more, sum(each["upperBoundRequests"] for each in parts))


def bounded(cost: float | None, more: int, less: int) -> str:
    """`more` and `less`: how many requests may have cost so."""
    inexact = "about " if more and less else "at least " if more else "at most " if less else ""
    return UNKNOWN if cost is None else f"{inexact}{usd(cost)}"


@click.command(cls=Asking, json=False, example="svc mcp --api http://127.0.0.1:8318")
def mcp(server: Server) -> None:
    """Reads JSON-RPC on standard input; an agent starts it, `svc connect claude-code --mcp` has it do so. Seven tools,
    all of them read only: my_day, my_goals, explain_goal, my_habits, my_limits, my_cost, grade_prompt.
    """
    try:
        from mcp.server.mcpserver.exceptions import ToolError

        from svc_http.tools import build
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise click.ClickException(
            "svc mcp needs the extra `mcp`: pip install 'coding-agent-mirror[mcp]' (or uv tool install, pipx install)"
        ) from error
    import anyio

    from aggregates.scores.prompt_grade import grade_text

    one_at_a_time = anyio.Lock()  # one connection

    async def asked(_ctx: Any, path: str, query: dict[str, object]) -> Any:
        async with one_at_a_time:
            try:
                return await anyio.to_thread.run_sync(lambda: ask(server, path, **query))
            except (KeyRefused, NotAnswered) as error:
                raise ToolError(str(error)) from error

    async def grade(_ctx: Any, text: str) -> Any:
        return await anyio.to_thread.run_sync(grade_text, text)

    if sys.stdin.isatty():
        click.echo("svc mcp waits for an agent's questions on standard input; Ctrl-C ends it", err=True)

    run(build(asked, grade, __version__).run_stdio_async)
