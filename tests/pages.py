"""`python -m tests.pages`: write docs/generated/, the tables that the program itself knows; tests hold them level."""

import ast
import importlib
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any
from uuid import UUID

import click
import msgspec
import structlog
import trio
from prometheus_client.parser import text_string_to_metric_families

from aggregates.capture.events import RecordsCaptured
from aggregates.decide import TOPICS
from aggregates.event import Done, Words
from svc import settings
from svc.cli import COMMANDS, main as svc
from svc.cli.scoring import PARTS, lines_of
from svc.metrics import Metrics
from svc.service import open_service
from svc_http.app import build_api
from tests.support.basics import ANA_KEY, FixedClock
from tests.support.described import described
from tests.svc_http.doors import WHO, all_doors
from tests.svc_http.house import Caller, House, bearer, over
from tests.svc_http.isolation import Matrix, matrix, tables

FOLDER = Path(__file__).parent.parent / "docs" / "generated"
HEAD = "# {title}\n\nWritten by `python -m tests.pages`; never by hand. {about}\n\n"
Schema = Mapping[str, Any]
Row = tuple[object, ...]


def page(title: str, about: str, *parts: str) -> str:
    return HEAD.format(title=title, about=about) + "\n\n".join(parts) + "\n"


def table(columns: str, rows: Iterator[Row] | list[Row]) -> str:
    """Cells are one line each; a bar in them is escaped."""
    names = columns.split(", ")
    lines = [names, ["---"] * len(names), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: object) -> str:
    return " ".join(str(cell).split()).replace("|", "\\|")


# --- routes and shapes ----------------------------------------------------------------------------------------------


def routes() -> str:
    found: dict[str, list[Row]] = {}
    for path, methods in described()["paths"].items():
        for method, told in methods.items():
            found.setdefault(told["tags"][0], []).append(_route(method, path, told))
    parts = [f"## {tag}\n\n{table('route, on, who, takes, answers, what', rows)}" for tag, rows in found.items()]
    about = "What every route takes and answers; names in italics are spelled out in [shapes.md](shapes.md)."
    return page("Routes", about, *parts)


def _route(method: str, path: str, told: Schema) -> Row:
    on = " and ".join(each["description"].partition(":")[0] for each in told["servers"])
    who = " or ".join(dict.fromkeys(_WHO[name] for each in told.get("security", ()) for name in list(each)[:1]))
    asked = [
        f"`{each['name']}`{'' if each.get('required') else '?'} {_type(each['schema'])}"
        for each in told.get("parameters", ())
        if each["in"] == "query"
    ]
    asked += [_content(told["requestBody"]["content"])] if "requestBody" in told else []
    answers = [
        f"{status}: {_content(each.get('content', {}))}"
        for status, each in told["responses"].items()
        if "$ref" not in each
    ]
    return f"`{method.upper()} {path}`", on, who or "anybody", "; ".join(asked), "; ".join(answers), told["summary"]


_WHO = {
    "bearer": "a key",
    "apiKey": "a key",
    "internalSecret": "the internal secret",
    "delegatedOrganization": "on behalf",
}


def _content(content: Schema) -> str:
    return ", ".join(
        _type(each["schema"]) if media == "application/json" else f"`{media}`" for media, each in content.items()
    )


def shapes() -> str:
    parts = []
    for name, schema in sorted(described()["components"]["schemas"].items()):
        about = schema.get("description", "")
        fields = [_field(name, each, schema) for name, each in schema.get("properties", {}).items()]
        told = (
            table("field, what", fields) if fields else _type({k: v for k, v in schema.items() if k != "description"})
        )
        parts.append("\n\n".join(filter(None, (f"## {name}", about, told))))
    return page("Shapes", "Every shape that [routes.md](routes.md) names. A `?` marks what may be left out.", *parts)


def _field(name: str, field: Schema, schema: Schema) -> Row:
    required = name in schema.get("required", ())
    default = f", {field['default']!r} if absent" if field.get("default") not in (None, [], "") else ""
    return f"`{name}`{'' if required else '?'}", f"{_type(field)}{default}"


def _type(schema: Schema) -> str:
    """In words: a link for a shape, its bounds for a value."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"*[{name}](shapes.md#{name.lower()})*"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(_type(each) for each in schema['prefixItems'])}]"
    match schema.get("type", "anything"):
        case "array":
            return f"list of {_type(schema.get('items', {}))}{_bounds(schema)}"
        case "object":
            inner = schema.get("additionalProperties")
            return f"object of {_type(inner)}" if isinstance(inner, Mapping) else "object"
        case plain:
            return f"{schema.get('format') or plain}{_bounds(schema)}"


_BOUNDS = {
    "minimum": "from {}",
    "maximum": "up to {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
}


def _bounds(schema: Schema) -> str:
    found = [said.format(schema[name]) for name, said in _BOUNDS.items() if name in schema]
    return f" ({', '.join(found)})" if found else ""


# --- settings, metrics, commands, events ------------------------------------------------------------------------------


def settings_page() -> str:
    """Each with what its class says of it, behind the field or below it."""
    source = Path(settings.__file__).read_text(encoding="utf-8")
    body = next(each for each in ast.parse(source).body if isinstance(each, ast.ClassDef) and each.name == "Settings")
    lines, rows = source.splitlines(), list[Row]()
    for each, following in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            about = lines[(each.end_lineno or 1) - 1].partition("  # ")[2]
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                about = str(following.value.value)
            default = msgspec.json.encode(getattr(settings.Settings(), each.target.id)).decode()
            rows.append((f"`{each.target.id}`", f"`SVC_{each.target.id.upper()}`", f"`{default}`", about))
    about = "In `svc.toml`, in the environment, and most as flags of `svc serve`; docs/operating.md says which wins."
    return page("Settings", about, table("in svc.toml, in the environment, default, what", rows))


def metrics() -> str:
    found = sorted((*trio.run(_measured), *_counted()), key=attrgetter("name"))
    rows: list[Row] = [
        (f"`{each.name}`", each.type, ", ".join(_labels(each)), each.documentation)
        for each in {each.name: each for each in found}.values()
        if each.name.startswith("svc_") and not each.name.endswith("_created")
    ]
    about = "What `/metrics` tells; no label holds an id, a path or a text."
    return page("Metrics", about, table("metric, kind, labels, what", rows))


def _labels(family: Any) -> list[str]:
    return [f"`{name}`" for name in (family.samples[0].labels if family.samples else ()) if name != "le"]


def _counted() -> Iterator[Any]:
    """What is counted while somebody uses the service, once each."""
    found = Metrics()
    whose: dict[str, Any] = {"organization_id": UUID(int=1), "developer_id": UUID(int=2), "agent_session_id": "s1"}
    source: dict[str, Any] = {"source": "claude-code", "decoder_version": 1}
    found.carried_out(RecordsCaptured(**whose, **source, records=(), words=Words("")), Done(True))
    found.asked("rubric", "ok", 1)
    found.errors.labels("a request broke").inc()
    found.observe("api", "GET", "/health", 200, 0.01)
    yield from text_string_to_metric_families(_plain(found.text("")[0]))


async def _measured() -> list[Any]:
    """What a service knows of itself."""
    with tempfile.TemporaryDirectory(prefix="svc-pages-") as folder:
        chosen = settings.Settings(var=f"{folder}/var", catalog_refresh=False, backup_every=24)
        async with open_service(chosen, clock=FixedClock(1_780_000_000_000_000)) as service:
            return list(text_string_to_metric_families(_plain(service.metrics("")[0])))


def _plain(text: bytes) -> str:
    return text.decode().replace("# EOF\n", "")


def commands() -> str:
    rows = []
    for name, entry in COMMANDS.items():
        if entry.hidden:
            continue
        importlib.import_module(f"svc.cli.{entry.module}")
        command = svc.get_command(click.Context(svc), name)
        assert command is not None
        rows.append((f"`{_usage(name, command)}`", entry.summary))
        if isinstance(command, click.Group):
            rows += [
                (f"`{_usage(f'{name} {sub}', each)}`", each.get_short_help_str(200))
                for sub, each in command.commands.items()
            ]
    about = "`svc COMMAND --help` shows the options and an example."
    return page("Commands", about, table("command, what", list(rows)))


def _usage(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"svc {name}")
    return " ".join(each for each in command.get_usage(context).split()[1:] if each != "[OPTIONS]")


def events() -> str:
    rows: list[Row] = [
        (f"`{topic}`", ", ".join(f"`{name}`" for name in event.__struct_fields__))
        for topic, event in sorted(TOPICS.items())
    ]
    return page("Events", "Every event that can stand in the log, by its topic.", table("topic, fields", rows))


def bounds() -> str:
    rows: list[Row] = [
        (f"`{door.name}`", WHO[door.route.kind], size(door.body_bytes_max), door.bounds, door.cost)
        for door in all_doors()
    ]
    about = "Who may knock at each door, how much it takes, and by which mechanisms of docs/security.md it is bounded."
    return page("Doors and their bounds", about, table("door, who, body, bounds, cost at most", rows))


def size(size_bytes: int) -> str:
    for unit, of in (("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= of:
            return f"{size_bytes // of} {unit}"
    return "none"


# --- what takes a while -----------------------------------------------------------------------------------------------


def doors(found: Matrix) -> str:
    about = "What every route answered to everybody who must not get in, and to those who may."
    return page("Doors", about, tables(found))


EXPLAINED = """# Two explanations

The best and the worst scored sub-session of the bundled demo (`make demo`), in the words of `svc why`.
Written by `python -m tests.pages`; never by hand.
"""


async def demo_page() -> str:
    """Of the best and the worst that is scored: reached with the most habits, and not reached with the fewest."""
    house = House()
    await house.has_demo()
    api = Caller(over(house, build_api), bearer(ANA_KEY))
    rows = (await api.get("/v1/score_v3/insight/sessions?limit=500")).json
    scored = [row["score_v3_sub_session_id"] for row in rows if row["letter_grade"] is not None]
    found = [(await api.get(f"/v1/score_v3/sub-sessions/{each}/explain")).json for each in scored]
    worst, *_, best = sorted(found, key=_rank)
    return "\n".join([EXPLAINED, *_section("The best", best), *_section("The worst", worst)])


def _rank(shown: Any) -> tuple[object, ...]:
    """Ties go by how many habits apply, and then by time."""
    rubric, outcome = shown["rubric"], shown["outcome"]
    reached = (False, None, True).index(outcome["goal_complete"])
    return reached, rubric["score"], len(rubric["booleans"]), rubric["prompts"][0]["submitted_at"]


def _section(name: str, shown: Any) -> list[str]:
    ended = "complete" if shown["outcome"]["goal_complete"] else "not complete"
    lines = [f"## {name}: {shown['rubric']['letter_grade']}, {ended}", "", shown["verdict"], ""]
    lines += [f"{place}. “{each['quote']}” {each['text']}" for place, each in enumerate(shown["rubric"]["prompts"], 1)]
    for part, title in PARTS.items():
        lines += ["", f"### {title.capitalize()}", "", *(f"- {line}" for line in lines_of(shown[part]))]
    return [*lines, ""]


QUICK: dict[str, Callable[[], str]] = {
    "routes": routes,
    "shapes": shapes,
    "settings": settings_page,
    "metrics": metrics,
    "commands": commands,
    "events": events,
    "bounds": bounds,
}
SLOW: dict[str, Callable[[], str]] = {
    "doors": lambda: doors(trio.run(matrix)),
    "explanations": lambda: trio.run(demo_page),
}


def written(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def check(name: str, given: str) -> None:
    """Raises `AssertionError` where the page has aged."""
    assert written(name) == given, f"docs/generated/{name}.md has aged; `python -m tests.pages {name}` writes it anew"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*QUICK, *SLOW]))
def main(names: tuple[str, ...]) -> None:
    """Write these pages of docs/generated/, or all."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    pages = QUICK | SLOW
    for name in names or pages:
        (FOLDER / f"{name}.md").write_text(pages[name](), encoding="utf-8")
        click.echo(name)


if __name__ == "__main__":
    main()
