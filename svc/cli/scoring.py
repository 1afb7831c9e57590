"""`svc score`, `goals`, `why`, `wrong`, `habits`, `cost`, `mcp`: what the pages show a scored developer."""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, get_args
from urllib.parse import quote

import click
from rich import box
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from aggregates.ids import plain
from aggregates.judging.prompt import next_habit
from projections import CostBy, Sort
from svc import __version__
from svc.cli import Found
from svc.cli.asking import V3, Asking, Span, ask, asked_span
from svc.cli.common import WIDE_COLUMNS, Shown, print_json, run, show_table, show_text
from svc.connect.changes import Refused
from svc.connect.connections import KeyRefused, NotAnswered, Server
from svc_http.pages import words as wording
from svc_http.pages.words import HABITS, KINDS, STATES, UNKNOWN, counted

GOALS_SHOWN = 20
GOALS_MAX = 200
FOUND_MAX = 50  # of a search
DEAREST_SHOWN = 5
ID_CHARACTERS = 8  # so many of an id are shown, and name it everywhere
NEWEST = "newest"
WIDE_FROM_COLUMNS = 120  # from so many on a table of goals has more columns
BAR_CHARACTERS = 10
_SPARKS = "▁▂▃▄▅▆▇█"
_STYLES = {"reached": "green", "not_reached": "red", "repeated": "red", "going_on": "cyan"}
_DOUBTS = {"lower_bound": "≥ ", "upper_bound": "≤ ", "about": "~ "}
NO_GOAL = "No goal yet. `svc import claude-code` reads what you have done so far."
goal_argument = click.argument("goal", metavar="GOAL")


@click.command(cls=Asking, over_time=True, example="svc score --days 90")
def score(server: Server, span: Span, as_json: bool) -> None:
    parts = {"score": "score", "skill": "skill", "prompts": "insight/summary"}
    found = {name: ask(server, f"{V3}/{path}", **span.query) for name, path in parts.items()}
    if as_json:
        return print_json(found)
    figures, habits, prompts = found.values()
    rates = [rate if of else None for rate, of in zip(figures["sparkline"], figures["sparkline_counts"], strict=True)]
    lines = {"reached": rates, "prompts": [each["apg"] for each in prompts["points"]]}
    drawn = [(name, sparks(of)) for name, of in lines.items() if sum(each is not None for each in of) > 1]
    show_text("score", **found, told=score_told(figures, span.told), lines=drawn, habit=next_of(habits))


def sparks(values: Sequence[float | None]) -> str:
    """Of percentages, one character each; a dot where there is none."""
    return "".join("·" if each is None else _SPARKS[min(int(each * len(_SPARKS) / 100), 7)] for each in values)


def next_of(habits: Found) -> str | None:
    return next_habit(habits["per_boolean"], habits["per_boolean_counts"])


def score_told(figures: Found, time: str) -> str:
    """The rate as the pages tell it, or what there is instead."""
    if figures["total_count"]:
        from aggregates.scores.grades import Interval

        fits = figures["interval"] and Interval(**figures["interval"])
        return wording.rate_told(figures["crushed_count"], figures["decided_count"], figures["undecided_count"], fits)
    newest = figures.get("newest_at")
    none = f"{time[0].upper()}{time[1:]}: no goal counts"
    return NO_GOAL if newest is None else f"{none}; your newest work is of {newest[:10]}: svc goals --days all"


@click.command(cls=Asking, over_time=True, example='svc goals --outcome undecided --sort cost --words "retry queue"')
@click.option("--outcome", type=click.Choice(list(STATES)), metavar="OUTCOME", help=f"{', '.join(STATES)}.")
@click.option("--kind", type=click.Choice(list(KINDS)), metavar="KIND", help=f"{', '.join(KINDS)}.")
@click.option("--agent", metavar="NAME", help="Worked on with this agent.")
@click.option("--project", metavar="NAME", help="Of this project; unknown where nothing told it.")
@click.option("--words", metavar="WORDS", help="In which all of them were said; the newest first.")
@click.option("--sort", type=click.Choice(get_args(Sort)), default="started", show_default=True, help="The most first.")
@click.option("--limit", type=click.IntRange(1, GOALS_MAX), default=GOALS_SHOWN, show_default=True, help="How many.")
def goals(
    server: Server, span: Span, as_json: bool, kind: str | None, words: str | None, sort: str, limit: int, **given: Any
) -> None:
    """A goal is named by the beginning of its id everywhere."""
    wanted = {**span.query, **given, "intent_class": kind, "limit": limit}
    if words is None:
        found = ask(server, f"{V3}/goals", sort=sort, **wanted)
    else:
        body = {name: value for name, value in wanted.items() if value is not None}
        found = ask(server, f"{V3}/goals/search", {**body, "limit": min(limit, FOUND_MAX), "words": words})
    if as_json:
        return print_json(found)
    if found["goals"]:
        show_goals(found["goals"], span.zone, sort)
    else:
        Shown().print("No such goal: --days all looks at all of them.")
    Shown(highlight=False, soft_wrap=True).print(listed_told(found, span), style="dim")


def listed_told(found: Found, span: Span) -> str:
    """How many goals there are, and how each came out; of a search, how far back it looked."""
    if "looked_back_to" in found:
        further = "; --to looks further back" if found["next"] else ""
        return f"Looked back to {wording.day(found['looked_back_to'], span.zone)}{further}."
    if found["counts"] is None:
        return f"More goals than are counted, of {span.told}."
    told = wording.outcomes_told(found["counts"])
    return f"{counted(found['begun'], 'goal')} of {span.told}" + (f": {told}" if told else "")


def show_goals(found: Sequence[Found], zone: tzinfo, sort: str) -> None:
    """One line each, as wide as the terminal, with what they are sorted by; whole where it goes to a file."""
    console = Shown(highlight=False)
    width = console.width if console.is_terminal else WIDE_COLUMNS
    more = width >= WIDE_FROM_COLUMNS
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    figure = "cost" if sort == "started" else sort
    for name in ("id", "began", "outcome", figure, *(("kind", "prompts", "project") if more else ())):
        table.add_column(name, no_wrap=True, justify="right" if name == figure else "left")
    table.add_column("goal")
    for each in found:
        began = wording.short_day(each["started_at"], zone, datetime.now(zone).year)
        style = _STYLES.get(each["outcome"], "yellow")
        row = [goal_id(each), began, f"[{style}]{STATES[each['outcome']]}[/{style}]", figure_of(each, sort)]
        if more:
            project = each["project"]["name"] if each["project"] else ""
            row += [wording.kind_shown(each["kind_told"]), figure_of(each, "grade"), escape(project)]
        said = f"“{each['found']['sentence']}”" if "found" in each else _title(each)
        table.add_row(*row, Text(plain(said), no_wrap=True, overflow="ellipsis"))
    console.width = min(width, Shown(width=WIDE_COLUMNS).measure(table).maximum)
    console.print(table)


def goal_id(goal: Found) -> str:
    return str(goal["score_v3_sub_session_id"][:ID_CHARACTERS])


def figure_of(goal: Found, sort: str) -> str:
    """What it was sorted by; its cost, where that is when it began."""
    match sort:
        case "duration":
            return wording.duration(goal["duration_seconds"])
        case "tokens":
            return wording.tokens(goal["total_tokens"])
        case "grade":
            return (goal["grade_told"] or UNKNOWN).removeprefix("between ").replace(" and ", "–")  # as in B–A
        case "turns":
            return str(goal["turns"])
    cost = goal["cost_usd"]
    return UNKNOWN if cost is None else _DOUBTS.get(goal["cost_kind"], "") + wording.usd(cost)


def _title(goal: Found) -> str:
    return wording.titled(goal["title"], goal["summary"], goal["title_source"]) if goal["title"] else ""


def chosen_goal(server: Server, named: str) -> Found:
    """By the beginning of its id, or the newest. Raises `Refused`, `NotAnswered`."""
    if named == NEWEST:
        newest = ask(server, f"{V3}/goals", limit=1)["goals"]
        if not newest:
            raise Refused(NO_GOAL)
        named = newest[0]["score_v3_sub_session_id"]
    try:
        return dict(ask(server, f"{V3}/sub-sessions/{quote(named, safe='')}"))
    except NotAnswered as error:
        raise NotAnswered(f"{error}; `svc goals` shows the ids") from error


PARTS = {"outcome": "outcome", "rework": "again", "rubric": "prompts", "floor": "work", "boundary": "where it begins"}
"""In the order in which a person asks: how it came out, then what it was judged from."""


@click.command(cls=Asking, example="svc why newest")
@goal_argument
@click.option("--all", "every", is_flag=True, help="All that it was concluded from.")
def why(server: Server, as_json: bool, goal: str, every: bool) -> None:
    """GOAL is the beginning of an id, as `svc goals` shows it, or: newest."""
    found = chosen_goal(server, goal)
    explained = ask(server, f"{V3}/sub-sessions/{found['score_v3_sub_session_id']}/explain")
    if as_json:
        return print_json(explained)
    # How the habit that is surely missed would have been shown.
    habits = explained["rubric"]["booleans"].values()
    missed = (each["how_to_earn"] for each in habits if not (each["earned"] or each["unsure"]))
    words = {"title": _title(found), "style": _STYLES.get(found["outcome"], "yellow"), "id": goal_id(found)}
    how = {"parts": PARTS.items(), "every": every, "lines_of": lines_of, "evidence_of": evidence_of}
    show_text("why", goal=found, explained=explained, advice=next(filter(None, missed), None), **how, **words)


def evidence_of(part: Found) -> Iterator[str]:
    for mark, pieces in (("+", part.get("evidence_for", ())), ("−", part.get("evidence_against", ()))):
        for piece in pieces:
            yield f"{mark} {piece['what']}" + (f": “{piece['quote']}”" if piece["quote"] else "")


def lines_of(part: Found) -> Iterator[str]:
    for line in (*part["text"], *part["not_observed"]):
        if "`kept`" not in line:  # names a field of the JSON
            yield wording.plainly(line, UTC)
    yield from evidence_of(part)
    for habit, said in part.get("booleans", {}).items():
        sign = "? unsure:" if said["unsure"] else f"✓ {said['likely']}:" if said["earned"] else "✗ not found:"
        quoted = f"“{said['quote']}”" if said["quote"] else ""
        reason = " ".join(part for part in (wording.reason_of(said["what"], habit), quoted) if part)
        advice = f" Write: {said['how_to_earn']}" if said["how_to_earn"] else ""
        yield f"{sign} {HABITS[habit]}{': ' if reason else ''}{reason}.{advice}"


@click.command(cls=Asking, example="svc wrong 45863ca5 --not-reached")
@goal_argument
@click.option("--reached", "said", flag_value="mark_complete", help="The goal was reached.")
@click.option("--not-reached", "said", flag_value="mark_incomplete", help="The goal was not reached.")
@click.option("--join", "said", flag_value="merge_with_previous", help="It is one goal with the one before it.")
@click.option("--split", type=click.IntRange(1), metavar="N", help="Another goal begins with its prompt N (from 2).")
@click.option("--kind", type=click.Choice(list(KINDS)), metavar="KIND", help=f"What kind of work: {', '.join(KINDS)}.")
@click.option("--take-back", "said", flag_value="clear", help="Take back what you said last.")
def wrong(server: Server, as_json: bool, goal: str, said: str | None, split: int | None, kind: str | None) -> None:
    """GOAL is the beginning of an id, as `svc goals` shows it, or: newest."""
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
        words = ask(server, f"{V3}/sub-sessions/{found['score_v3_sub_session_id']}/explain")["overrides"]
        if not words:
            nothing = f"you have said nothing of goal {goal} that could be taken back"
            raise Refused(f"{nothing}; `svc why {goal}` explains it")
        body["field"] = words[-1]["field"]  # the newest word that stands
    span = asked_span(server)
    before = ask(server, f"{V3}/score", **span.query)
    answer = ask(server, f"/v1/sub-sessions/{found['score_v3_sub_session_id']}/override", body)
    after = ask(server, f"{V3}/score", **span.query)
    if as_json:
        return print_json({"override": answer, "before": before, "after": after})
    console = Shown(highlight=False, soft_wrap=True)
    console.print(f"Taken. [bold]{score_told(after, span.told)}[/bold]")
    if score_told(before, span.told) != score_told(after, span.told):
        console.print(f"Before: {score_told(before, span.told)}", style="dim")


@click.command(cls=Asking, over_time=True, example="svc habits --days 90")
def habits(server: Server, span: Span, as_json: bool) -> None:
    found = ask(server, f"{V3}/skill", **span.query)
    if as_json:
        return print_json(found)
    counts, rows = found["per_boolean_counts"], []
    for name, does in HABITS.items():
        rate, of = found["per_boolean"].get(name, 0.0), counts.get(name, 0)
        told = f"about {rate * 100:.0f} % of {of}" if of else UNKNOWN
        rows.append((does, "█" * round(rate * BAR_CHARACTERS) if of else "", told))
    show_table(("a prompt of yours", "", "prompts"), rows)
    show_text("habits", unsure=found.get("unsure_count"), habit=next_of(found))


@click.command(cls=Asking, over_time=True, example="svc cost --days 7 --by project")
@click.option("--by", type=click.Choice(get_args(CostBy)), default="model", show_default=True, help="Told apart by.")
def cost(server: Server, span: Span, as_json: bool, by: str) -> None:
    found = ask(server, f"{V3}/cost", by=by, **span.query)
    if as_json:
        return print_json(found)
    console, total = Shown(highlight=False, soft_wrap=True), found["total"]
    if found["is_partial"]:
        return console.print(f"More goals than one read may sum up, of {span.told}: ask for a shorter time.")
    spent = wording.cost_told(total) if total["requests"] else "No request was reported"
    goals = counted(total["goals"], "goal")
    console.print(f"{span.told[0].upper()}{span.told[1:]}: [bold]{spent}[/bold] for {goals}.")
    if found["not_reached"]["goals"]:
        console.print(f"{wording.cost_told(found['not_reached'])} of it went to goals not reached, or repeated.")
    rows, unpriced = [], total["unpriced_requests"]
    for each in found["groups"]:
        name = STATES.get(each["key"], each["name"]) if by == "outcome" else each["name"]
        row = name or "unknown", str(each["goals"]), wording.tokens(each["total_tokens"]), wording.cost_told(each)
        rows.append((*row, f"{each['unpriced_requests']:,}") if unpriced else row)
    if rows:
        show_table((by, "goals", "tokens", "cost", *(("requests without a price",) if unpriced else ())), rows)
    off = wording.rounding([each["known_cost_usd"] for each in found["groups"]], total["known_cost_usd"])
    how = {"id_of": goal_id, "title_of": _title, "bounded": wording.bounded}
    show_text("cost", rounding=off, dearest=found["dearest"][:DEAREST_SHOWN], unpriced=unpriced, **how)


@click.command(cls=Asking, json=False, example="svc mcp --api http://127.0.0.1:8318")
def mcp(server: Server) -> None:
    """Reads JSON-RPC on standard input; an agent starts it, `svc connect claude-code --mcp` has it do so. Seven tools,
    all of them read only: my_day, my_goals, explain_goal, my_habits, my_limits, my_cost, grade_prompt.
    """
    try:
        from mcp.server.mcpserver.exceptions import ToolError

        from svc_http.tools import SEARCH, build
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise click.ClickException(
            "svc mcp needs the extra `mcp`: pip install 'coding-agent-mirror[mcp]' (or uv tool install, pipx install)"
        ) from error
    import anyio

    from aggregates.scores.prompt_grade import grade_text

    async def asked(_ctx: Any, path: str, query: dict[str, object]) -> Any:
        try:
            body = query if path == SEARCH else None
            return await anyio.to_thread.run_sync(lambda: ask(server, path, body, **({} if body else query)))
        except (KeyRefused, NotAnswered) as error:
            raise ToolError(str(error)) from error

    async def grade(_ctx: Any, text: str) -> Any:
        return await anyio.to_thread.run_sync(grade_text, text)

    if sys.stdin.isatty():
        click.echo("svc mcp waits for an agent's questions on standard input; Ctrl-C ends it", err=True)

    run(build(asked, grade, __version__).run_stdio_async)
