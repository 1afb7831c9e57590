"""`svc demo`: a month of two imaginary developers, from transcripts to scores, on a folder of its own."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click
import msgspec
from rich.console import Console
from rich.table import Table

from aggregates.event import Refused, Scope
from aggregates.people.commands import CreateDeveloper, StartMembership
from svc.cli import Command
from svc.cli.common import Shown, drawn, minute, run, settings_from
from svc.log.folder import held, new_key
from svc.settings import Settings

if TYPE_CHECKING:
    import httpx

    from svc.importing.importer import ImportReport
    from svc.service import RunningService

WINDOW = "monthly"
PICTURE_COLUMNS = 110


class Person(msgspec.Struct, frozen=True):
    """A developer of the demo and a key to look as that developer."""

    name: str
    scope: Scope
    key: str


@click.command(cls=Command, example="svc demo --var var/demo --keep")
@click.option("--var", "var", metavar="DIR", help="Folder for the demo's data. [default: a temporary one]")
@click.option("--keep", is_flag=True, help="Go on serving afterwards, until Ctrl-C.")
@click.option("--picture", type=click.Path(path_type=Path), help="Save what is shown as an SVG file as well.")
def demo(var: str | None, keep: bool, picture: Path | None) -> None:
    """Show the scores of two imaginary developers.

    Imports their bundled sample sessions into a folder of its own.
    """
    with tempfile.TemporaryDirectory(prefix="svc-demo-") as temporary:
        settings = settings_from(var=var or temporary, intake="127.0.0.1:0", api="127.0.0.1:0")
        console = Shown() if picture is None else Shown(record=True, width=PICTURE_COLUMNS)
        run(_demo, settings, console, keep)
    if picture is not None:
        picture.write_text(drawn(console, "svc demo"), encoding="utf-8")


async def _demo(settings: Settings, console: Console, keep: bool) -> None:
    import httpx

    from svc.app import open_service
    from svc.serving import listening, stop_signal

    with held(settings.var_path):
        async with open_service(settings, reporting=True) as service, listening(settings, service) as addresses:
            people = await _people(service, settings.var_path)
            with tempfile.TemporaryDirectory(prefix="svc-demo-") as folder:
                await _import_all(service, people, Path(folder), console)
            for person in people:
                headers = {"Authorization": f"Bearer {person.key}"}
                async with httpx.AsyncClient(base_url=addresses.api_url, headers=headers) as client:
                    await _show(client, person, console)
            if keep:
                api = addresses.api_url
                console.print(f"\nServing on {api} until Ctrl-C. Every figure stands on rows, for example:")
                for person in people:
                    console.print(f"# {person.name}", highlight=False)
                    asked = f"curl -H 'Authorization: Bearer {person.key}' '{api}/v1/score_v3/insight/sessions'"
                    console.print(asked, highlight=False, soft_wrap=True, markup=False)
                await stop_signal()


async def _people(service: "RunningService", var: Path) -> list[Person]:
    from svc.serving import initialize, issue_key

    made = await initialize(service, var, "Demo team", "Ana")
    if made is None:
        raise FileNotFoundError(f"{var} is set up already; the demo needs an empty folder")
    ben, key = Scope(made.organization_id, uuid4()), new_key("svc")
    for command in (
        CreateDeveloper(developer_id=ben.developer_id, display_name="Ben"),
        StartMembership(organization_id=ben.organization_id, developer_id=ben.developer_id),
        issue_key(ben.organization_id, ben.developer_id, key, "demo"),
    ):
        reply = await service.administer(command)
        assert not isinstance(reply, Refused), reply
    return [Person("Ana", Scope(made.organization_id, made.developer_id), made.key), Person("Ben", ben, key)]


async def _import_all(service: "RunningService", people: list[Person], folder: Path, console: Console) -> None:
    from svc.actors.actors import SystemClock
    from svc.demo import write_transcripts
    from svc.importing.claude_code import CLAUDE_CODE
    from svc.importing.here import import_transcripts

    now_us = SystemClock().now_us()
    written = write_transcripts(folder, now_us=now_us)
    for person in people:
        digester, place = service.vault.digester(person.scope.developer_id), written[person.name]
        report: ImportReport = await import_transcripts(
            CLAUDE_CODE, place, service.send, lambda _: None, scope=person.scope, digester=digester, now_us=now_us
        )
        console.print(
            f"{person.name}: {report.files} transcripts, {report.prompts} prompts, "
            f"{report.requests} requests, {report.tool_calls} tool calls",
            highlight=False,
        )


async def _show(client: "httpx.AsyncClient", person: Person, console: Console) -> None:
    """What a person reads."""
    names = ("score", "speed", "tokens", "skill", "insight/summary", "trivia")
    figures = {name: await _get(client, f"{name}?window={WINDOW}") for name in names}
    rows = await _get(client, "realtime/sub-sessions?limit=500")
    console.rule(f"[bold]{person.name}[/bold], this month")
    console.print(headline(figures))
    console.print(_habits(figures["skill"]))
    trivia = _foldable("Trivia", "when", "why it is not scored", "title")
    for each in figures["trivia"][:8]:
        trivia.add_row(minute(each["created_at"]), _words(each["reason"]), each["title"])
    console.print(trivia)
    newest = _foldable("Newest goals", "started", "goal", "kind", "grade", "reached")
    for row in [row for row in rows if row["substance_floor_passed"]][:8]:
        reached = "open" if row["is_preview"] else "rework" if row["rework"] else "yes" if row["crushed"] else "no"
        kind = _words(row["intent_class"])
        newest.add_row(minute(row["started_at"]), row["title"], kind, row["letter_grade"], reached)
    console.print(newest)


async def _get(client: "httpx.AsyncClient", path: str) -> Any:
    answer = await client.get(f"/v1/score_v3/{path}")
    answer.raise_for_status()
    return answer.json()


def headline(figures: dict[str, Any]) -> Table:
    """The figures by route; what is over nothing is shown as not known."""
    score, speed, tokens, summary = (figures[name] for name in ("score", "speed", "tokens", "insight/summary"))
    apg, reached, counted = summary["apg_current"], score["crushed_count"], score["total_count"]
    rate = _known(f"{score['svc_score']:.0f} %", counted)
    months = zip(score["sparkline"], score["sparkline_counts"], strict=True)
    spark = " ".join(f"{value:.0f}" if count else "–" for value, count in months)  # a month without work has no rate
    minutes = _known(f"{speed['ttc_median_seconds'] / 60:.0f} min", reached)
    weight = _known(f"{tokens['crush_weight']:,.0f}", tokens["crush_weight_count"])
    spoken = _known(f"{tokens['tpt']:,.0f} spoken per turn", tokens["request_count"])
    dollars = _known(f"$ {tokens['cpcs_estimate']:.2f}", tokens["cpcs_count"])
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row("Average prompt grade", _number(apg), f"over {summary['sample_count']} prompts")
    table.add_row("Completion rate", rate, f"{score['letter_grade']}, {reached} of {counted} goals reached")
    table.add_row("Tier", score["personal_tier"], f"last four months {spark}")
    table.add_row("Median time to goal", minutes, f"{speed['cspw']} this month")
    table.add_row("Tokens per goal", weight, spoken)
    table.add_row("Cost per goal", dollars, f"over {tokens['cpcs_count']} of {reached} goals")
    return table


def _habits(skill: dict[str, Any]) -> Table:
    from aggregates.judging.evidence import HABITS, ONE_SIDED

    worst = skill["worst_pillar"]
    weakest = f"; weakest habit: {_words(worst)} ({HABITS['en'][worst].label.lower()})" if worst else ""
    title = f"Skill {_number(skill['skill_index'])}, {skill['tier']}{weakest}"
    table = Table("habit", "share", title=title, title_justify="left")
    for name, share in skill["per_boolean"].items():
        asked = skill["per_boolean_counts"][name] > 0
        silent = ONE_SIDED if skill["per_boolean_one_sided"][name] else "never called for"
        table.add_row(_words(name), f"{'█' * round(20 * share):<20} {100 * share:3.0f} %" if asked else silent)
    return table


def _foldable(title: str, *head: str) -> Table:
    """A table whose words go on in the next line, a path of many letters too."""
    table = Table(title=title, title_justify="left")
    for name in head:
        table.add_column(name, overflow="fold", min_width=len(name))
    return table


def _words(name: str) -> str:
    """A name of the wire, as a person reads it."""
    return name.replace("_", " ")


def _number(value: float | None) -> str:
    return "not known" if value is None else f"{value:.0f}"


def _known(shown: str, count: int) -> str:
    """A figure over nothing is none."""
    return shown if count else "not known"
