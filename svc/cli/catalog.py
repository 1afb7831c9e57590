"""`svc catalog`: list prices of models, also against a running server."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from aggregates.prices.catalog import CatalogRecord, ExactLookup, ListRate, Published, Rates, Repriced, RevisionRecord
from aggregates.prices.prices import spellings
from aggregates.times import iso
from svc.cli.access import Access, NotFound
from svc.cli.common import Family, Names, Shown, columns, minute, say, show_table

REVISIONS_SHOWN = 20
_CONTROL = "/v1/admin/control/catalog"
catalog = Family("catalog", help="What models cost by list price, revision by revision.")


def _show_published(published: Published) -> None:
    before, after = ("", "is published") if published.changed else ("nothing new: ", "says the same")
    say(f"{before}revision {published.catalog_revision} {after}", err=True)


@catalog.command(show=_show_published, example="svc catalog publish prices.json")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
async def publish(access: Access, file: Path) -> Published:
    """Check FILE and make it the newest revision.

    A faulty one changes nothing.
    """
    from svc.jobs.catalog import read_file

    found = await read_file(file)
    return await access.ask(Published, "POST", _CONTROL, {"document": found.document, "source": found.source})


@catalog.command(show=_show_published, example="svc catalog refresh")
async def refresh(access: Access) -> Published:
    """Ask the source that the settings name for its newest prices, now."""
    return await access.ask(Published, "POST", f"{_CONTROL}/refresh")


def _provider(lookup: ExactLookup) -> str:
    return lookup.provider.provider or "undetermined"


def _show(found: CatalogRecord | ExactLookup) -> None:
    if isinstance(found, ExactLookup):
        name = found.model.display_name or "undetermined"
        title = f"{found.external_model_id}: {name}, {_provider(found)}; dollars per million tokens"
        head = ("from", "above input", "input", "output", "cache read", "cache write", "for 1 h")
        show_table(head, (row for each in found.list_rates for row in _rows(each)), title)
        return
    stale = "  [yellow]stale: the last refresh failed[/yellow]" if found.stale else ""
    console = Shown(highlight=False)
    console.print(f"revision [bold]{found.catalog_revision}[/bold], {len(found.exact_lookups)} ids{stale}")
    console.print(f"published {found.published_at}, refreshed {found.refreshed_at}")
    console.print(f"checksum {found.checksum_sha256}")
    counts = Counter(map(_provider, found.exact_lookups))
    console.print(", ".join(f"{name} {count}" for name, count in counts.most_common()))


def _rows(each: ListRate) -> Iterator[tuple[str, ...]]:
    bands: list[tuple[str, Rates]] = []
    if each.rate is not None:
        bands = [("", each.rate), *((f"{band.above_input_tokens:,}", band) for band in each.rate.long_context)]
    for above, rates in bands:
        values = (getattr(rates, name) for name in Rates.__struct_fields__)
        yield each.effective_from[:10], above, *("-" if value is None else f"{value:g}" for value in values)
    if each.unpriced_reason is not None:
        yield each.effective_from[:10], each.unpriced_reason


@catalog.command(show=_show, example="svc catalog show claude-sonnet-4-5")
@click.argument("model", required=False)
async def show(access: Access, model: str | None) -> CatalogRecord | ExactLookup:
    """Show what is served: a summary, or the prices of one MODEL. With --json the whole document."""
    record = await access.ask(CatalogRecord, "GET", "/v1/model-catalog")
    if model is None:
        return record
    lookups = {each.external_model_id: each for each in record.exact_lookups}
    for each in spellings(model):
        if each in lookups:
            return lookups[each]
    raise NotFound(f"{model} is not in revision {record.catalog_revision}; its requests have no price")


@columns("revision", "source", "published", "stored", "ids", "state")
def _revisions(each: RevisionRecord, _names: Names) -> tuple[str, ...]:
    ids = "" if each.lookups is None else str(each.lookups)
    times = minute(each.published_at), minute(each.stored_at)
    return str(each.catalog_revision), each.source or "", *times, ids, each.fault or "valid"


@catalog.command("list", show=_revisions, example="svc catalog list --limit 5")
@click.option("--limit", type=click.IntRange(1, 500), default=REVISIONS_SHOWN, show_default=True)
async def list_revisions(access: Access, limit: int) -> list[RevisionRecord]:
    """Show the newest revisions, valid or not."""
    return await access.ask(list[RevisionRecord], "GET", _CONTROL, limit=limit)


def _show_repriced(repriced: list[Repriced]) -> None:
    for each in repriced:
        say(f"organization {each.organization_id}: priced by revision {each.catalog_revision}", err=True)


@catalog.command(show=_show_repriced, example="svc catalog reprice --from 2026-08-01 --to 2026-09-01")
@click.option("--from", "since", required=True, metavar="TIME", help="First time to reprice, ISO 8601; UTC if bare.")
@click.option("--to", "until", metavar="TIME", help="Up to this time, exclusive. [default: now]")
@click.option("--organization", metavar="ORG", help="Whose requests, by name or id. [default: every organization]")
async def reprice(access: Access, since: str, until: str | None, organization: str | None) -> list[Repriced]:
    """Price requests that have none yet, by the newest revision.

    Those that have a price keep it.
    """
    from svc.actors.actors import SystemClock

    times = {"from": since, "to": until or iso(SystemClock().now_us())}
    bodies = [{"organization_id": each} | times for each in await access.organizations(organization)]
    return [await access.ask(Repriced, "POST", f"{_CONTROL}/reprice", each) for each in bodies]
