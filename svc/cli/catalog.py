"""`svc catalog`: list prices of models, also against a running server."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from aggregates.prices.prices import spellings
from aggregates.times import iso
from svc.cli import Found
from svc.cli.access import Access, NotFound
from svc.cli.common import Family, Shown, say, show_table

REVISIONS_SHOWN = 20
_CONTROL = "/v1/admin/control/catalog"
_RATES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
catalog = Family("catalog")


def _show_published(published: Found) -> None:
    before, after = ("", "is published") if published["changed"] else ("nothing new: ", "says the same")
    say(f"{before}revision {published['catalog_revision']} {after}", err=True)


@catalog.command(show=_show_published, example="svc catalog publish prices.json")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
async def publish(access: Access, file: Path) -> Any:
    """Check FILE and make it the newest revision. A faulty one changes nothing."""
    from svc.jobs.catalog import read_file

    found = await read_file(file)
    return await access.ask("POST", _CONTROL, {"document": found.document, "source": found.source})


@catalog.command(show=_show_published, example="svc catalog refresh")
async def refresh(access: Access) -> Any:
    """Ask the source that the settings name for its newest prices, now."""
    return await access.ask("POST", f"{_CONTROL}/refresh")


def _show(found: Found) -> None:
    """The whole document in some lines, or one of its models in full."""
    if "list_rates" in found:
        name = found["model"]["display_name"] or "undetermined"
        title = f"{found['external_model_id']}: {name}, {_provider(found)}; dollars per million tokens"
        head = ("from", "above input", "input", "output", "cache read", "cache write", "for 1 h")
        show_table(head, (row for each in found["list_rates"] for row in _rows(each)), title)
        return
    stale = "  [yellow]stale: the last refresh failed[/yellow]" if found["stale"] else ""
    console, lookups = Shown(highlight=False), found["exact_lookups"]
    console.print(f"revision [bold]{found['catalog_revision']}[/bold], {len(lookups)} ids{stale}")
    console.print(f"published {found['published_at']}, refreshed {found['refreshed_at']}")
    console.print(f"checksum {found['checksum_sha256']}")
    console.print(", ".join(f"{name} {count}" for name, count in Counter(map(_provider, lookups)).most_common()))


def _provider(lookup: Found) -> str:
    return str(lookup["provider"]["provider"] or "undetermined")


def _rows(each: Found) -> Iterator[tuple[str, ...]]:
    since, rate = each["effective_from"][:10], each.get("rate")
    if rate is None:
        yield since, each["unpriced_reason"]
        return
    for band in (rate, *rate.get("long_context", ())):
        above = f"{band['above_input_tokens']:,}" if "above_input_tokens" in band else ""
        values = (band.get(name) for name in _RATES)
        yield since, above, *("-" if value is None else f"{value:g}" for value in values)


@catalog.command(show=_show, example="svc catalog show claude-sonnet-4-5")
@click.argument("model", required=False)
async def show(access: Access, model: str | None) -> Any:
    """Show what is served: a summary, or the prices of one MODEL. With --json the whole document."""
    record = await access.ask("GET", "/v1/model-catalog")
    lookups = {each["external_model_id"]: each for each in record["exact_lookups"]}
    named = (lookups.get(each) for each in spellings(model or ""))
    found = record if model is None else next(filter(None, named), None)
    if found is None:
        raise NotFound(f"{model} is not in revision {record['catalog_revision']}; its requests have no price")
    return found


@catalog.command(
    "list", show="catalog_revision source published_at stored_at lookups fault", example="svc catalog list --limit 5"
)
@click.option("--limit", type=click.IntRange(1, 500), default=REVISIONS_SHOWN, show_default=True)
async def list_revisions(access: Access, limit: int) -> Any:
    """Show the newest revisions, valid or not."""
    return await access.ask("GET", _CONTROL, limit=limit)


def _show_repriced(repriced: list[Found]) -> None:
    for each in repriced:
        say(f"organization {each['organization_id']}: priced by revision {each['catalog_revision']}", err=True)


@catalog.command(show=_show_repriced, example="svc catalog reprice --from 2026-08-01 --to 2026-09-01")
@click.option("--from", "since", required=True, metavar="TIME", help="First time to reprice, ISO 8601; UTC if bare.")
@click.option("--to", "until", metavar="TIME", help="Up to this time, exclusive. [default: now]")
@click.option("--organization", metavar="ORG", help="Whose requests, by name or id. [default: every organization]")
async def reprice(access: Access, since: str, until: str | None, organization: str | None) -> list[Found]:
    """Price requests that have none yet, by the newest revision. Those that have a price keep it."""
    times = {"from": since, "to": until or iso(time.time_ns() // 1_000)}
    bodies = [{"organization_id": each} | times for each in await access.organizations(organization)]
    return [await access.ask("POST", f"{_CONTROL}/reprice", each) for each in bodies]
