"""`svc catalog`: list prices of models, also against a running server."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console

from aggregates.prices.catalog import CatalogRecord, ExactLookup, ListRate, Rates, RevisionRecord
from aggregates.prices.decide import Published, Repriced
from aggregates.records.models import spellings
from aggregates.times import iso
from svc.cli.access import reach
from svc.cli.common import json_option, minute, print_json, run, settings_from, show_table, var_option
from svc.jobs.sources import read_file
from svc.log.folder import SystemClock
from svc.settings import Settings

T = TypeVar("T")

REVISIONS_SHOWN = 20
_CONTROL = "/v1/admin/control/catalog"
_JSON = {"Content-Type": "application/json"}


@click.group()
def catalog() -> None:
    """What models cost by list price, revision by revision."""


@catalog.command()
@var_option
@json_option
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def publish(var: str | None, as_json: bool, file: Path) -> None:
    """Check FILE and make it the newest revision.

    A faulty one changes nothing.

    Example: svc catalog publish prices.json
    """
    _show_published(run(_publish, settings_from(var=var), file), as_json)


async def _publish(settings: Settings, file: Path) -> Published:
    found = await read_file(file)
    body = msgspec.json.encode({"document": found.document, "source": found.source})
    return await _asked(settings, Published, "POST", _CONTROL, content=body, headers=_JSON)


@catalog.command()
@var_option
@json_option
def refresh(var: str | None, as_json: bool) -> None:
    """Ask the source that the settings name for its newest prices, now.

    Example: svc catalog refresh
    """
    _show_published(run(_asked, settings_from(var=var), Published, "POST", f"{_CONTROL}/refresh"), as_json)


@catalog.command()
@var_option
@json_option
@click.argument("model", required=False)
def show(var: str | None, as_json: bool, model: str | None) -> None:
    """Show what is served: a summary, or the prices of one MODEL. With --json the whole document.

    Example: svc catalog show claude-sonnet-4-5
    """
    record = run(_asked, settings_from(var=var), CatalogRecord, "GET", "/v1/model-catalog")
    if as_json:
        print_json(record if model is None else _entry(record, model))
    elif model is None:
        _show_summary(record)
    else:
        _show_entry(_entry(record, model))


def _entry(record: CatalogRecord, model: str) -> ExactLookup:
    lookups = {each.external_model_id: each for each in record.exact_lookups}
    found = next((lookups[each] for each in spellings(model) if each in lookups), None)
    if found is None:
        raise click.ClickException(f"{model} is not in revision {record.catalog_revision}; its requests have no price")
    return found


def _show_summary(record: CatalogRecord) -> None:
    stale = "  [yellow]stale: the last refresh failed[/yellow]" if record.stale else ""
    console = Console(highlight=False)
    console.print(f"revision [bold]{record.catalog_revision}[/bold], {len(record.exact_lookups)} ids{stale}")
    console.print(f"published {record.published_at}, refreshed {record.refreshed_at}")
    console.print(f"checksum {record.checksum_sha256}")
    counts = Counter(map(_provider, record.exact_lookups))
    console.print(", ".join(f"{name} {count}" for name, count in counts.most_common()))


def _provider(lookup: ExactLookup) -> str:
    return lookup.provider.provider or "undetermined"


def _show_entry(lookup: ExactLookup) -> None:
    name = lookup.model.display_name or "undetermined"
    title = f"{lookup.external_model_id}: {name}, {_provider(lookup)}; dollars per million tokens"
    head = ("from", "above input", "input", "output", "cache read", "cache write", "for 1 h")
    show_table(head, (row for each in lookup.list_rates for row in _rows(each)), title)


def _rows(each: ListRate) -> Iterator[tuple[str, ...]]:
    bands: list[tuple[str, Rates]] = []
    if each.rate is not None:
        bands = [("", each.rate), *((f"{band.above_input_tokens:,}", band) for band in each.rate.long_context)]
    for above, rates in bands:
        values = (getattr(rates, name) for name in Rates.__struct_fields__)
        yield each.effective_from[:10], above, *("-" if value is None else f"{value:g}" for value in values)
    if each.unpriced_reason is not None:
        yield each.effective_from[:10], each.unpriced_reason


@catalog.command("list")
@var_option
@json_option
@click.option("--limit", type=click.IntRange(1, 500), default=REVISIONS_SHOWN, show_default=True)
def list_revisions(var: str | None, as_json: bool, limit: int) -> None:
    """Show the newest revisions, valid or not.

    Example: svc catalog list --limit 5
    """
    found = list[RevisionRecord]
    revisions = run(_asked, settings_from(var=var), found, "GET", f"{_CONTROL}?limit={limit}")
    if as_json:
        print_json(revisions)
        return
    show_table(("revision", "source", "published", "stored", "ids", "state"), map(_revision, revisions))


def _revision(each: RevisionRecord) -> tuple[str, ...]:
    ids = "" if each.lookups is None else str(each.lookups)
    times = minute(each.published_at), minute(each.stored_at)
    return str(each.catalog_revision), each.source or "", *times, ids, each.fault or "valid"


@catalog.command()
@var_option
@json_option
@click.option("--from", "since", required=True, metavar="TIME", help="First time to reprice, ISO 8601; UTC if bare.")
@click.option("--to", "until", metavar="TIME", help="Up to this time, exclusive. [default: now]")
@click.option("--organization", metavar="ORG", help="Whose requests, by name or id. [default: every organization]")
def reprice(var: str | None, as_json: bool, since: str, until: str | None, organization: str | None) -> None:
    """Price requests that have none yet, by the newest revision.

    Those that have a price keep it.

    Example: svc catalog reprice --from 2026-08-01 --to 2026-09-01
    """
    until = until or iso(SystemClock().now_us())
    repriced = run(_reprice, settings_from(var=var), organization, {"from": since, "to": until})
    if as_json:
        print_json(repriced)
        return
    for each in repriced:
        click.echo(f"organization {each.organization_id}: priced by revision {each.catalog_revision}", err=True)


async def _reprice(settings: Settings, organization: str | None, times: dict[str, str]) -> list[Repriced]:
    async with reach(settings) as access:
        wanted = [{"organization_id": str(each)} | times for each in await access.organizations(organization)]
        return [await access.ask(Repriced, "POST", f"{_CONTROL}/reprice", json=each) for each in wanted]


async def _asked(settings: Settings, kind: type[T], method: str, path: str, **arguments: Any) -> T:
    """Ask a route, of this process or of the running server."""
    async with reach(settings) as access:
        return await access.ask(kind, method, path, **arguments)


def _show_published(published: Published, as_json: bool) -> None:
    if as_json:
        print_json(published)
    elif published.changed:
        click.echo(f"revision {published.catalog_revision} is published", err=True)
    else:
        click.echo(f"nothing new: revision {published.catalog_revision} says the same", err=True)
