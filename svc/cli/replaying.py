"""`svc replay`, `backfill` and `catalog`: what is concluded anew from the log, and by which prices."""

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from aggregates.prices.prices import spellings
from aggregates.times import iso
from svc.cli import Command, Found, common
from svc.cli.access import REPLAY, Access, NotFound, NotReached, reach
from svc.process import POLL_SECONDS, Place, look_seldom
from svc.settings import Settings

if TYPE_CHECKING:
    from svc.views.replay import Progress

BACKFILLS = "/v1/admin/control/backfill"
_INTERRUPTED = (
    "the scores are as they were; run it again. Under a running server the build goes on there, and serves when it is "
    "done: `svc status` shows how far it is"
)


@click.command(cls=Command, example="svc replay --check")
@common.data_options
@click.option("--check", "only_check", is_flag=True, help="Build twice and compare with the serving tables.")
@click.option("--without-keys", is_flag=True, help="Also where key files are missing: their scores are then lost.")
def replay(settings: Settings, as_json: bool, only_check: bool, without_keys: bool) -> None:
    """The new tables are built beside those that serve, then serve instead of them. Works offline and against a running
    server. Where the key file of a developer is missing, nothing is built: without it their texts count for nothing.
    """
    from svc.log.opening import holds_data, open_log
    from svc.maintenance.verify import ADVICE, lost_keys

    if only_check:
        with common.working("building twice", "nothing was changed, and nothing is known; run it again") as heard:
            checked = common.run(_check, settings.place, heard)
        common.tell(checked, as_json, _show_check)
        if not checked["identical"]:
            raise SystemExit(1)
        return
    if not without_keys and holds_data(settings.place):
        with contextlib.closing(open_log(settings.place)) as store:
            lost = lost_keys(store)
        if lost:
            more = "" if len(lost) == 1 else f" and of {len(lost) - 1} more"
            raise click.ClickException(
                f"nothing was built: the key of {lost[0].who} is missing{more}; {lost[0].path}: {ADVICE}. "
                "--without-keys builds all the same"
            )
    look_seldom()
    with common.working("replaying", _INTERRUPTED) as heard:
        _replay(settings, heard)
    common.say("the scores were built anew from the log", err=True)


def _replay(settings: Settings, progress: "Progress") -> None:
    with reach(settings) as access:
        status = access.ask("POST", REPLAY)
        while status["state"] == "running":
            time.sleep(POLL_SECONDS)
            status = access.ask("GET", REPLAY)
            progress(status["done"], status["of"])
    if status["state"] == "failed":
        raise NotReached(status["message"] or "the replay failed; see the server's log")


def _show_check(checked: Found) -> None:
    """With as much of each digest as a person compares."""
    sides = ("live", "first", "second")
    for each in checked["tables"]:
        each["same"] = len({each[side] for side in sides}) == 1
        each |= {side: each[side][:12] for side in sides}
    common.show_records(("table", *sides, "same"), checked["tables"])
    common.show_fields((name, common.cell(checked, name, {})) for name in ("identical", "position", "failed"))


async def _check(place: Place, progress: "Progress") -> Found:
    """Build twice beside the serving tables and compare digests. Raises `NotReached` where there are none.

    The other build is another process's, with another hash seed and another size of batches.
    """
    import trio

    from projections.apply import bookmark
    from svc.log.opening import holds_data, open_log
    from svc.views.replay import built_digests, digests, digests_of_child
    from svc.views.views import current_file, snapshot

    if holds_data(place):
        open_log(place).close()  # one that cannot be opened says so here, and not as two builds that stopped
    path = current_file(place.var)
    if path is None:
        raise NotReached(f"{place.var} holds no tables to check; start the server once, or run `svc replay`")
    with snapshot(path) as live:
        position = bookmark(live).position
        failed = live.execute("SELECT count(*) FROM failed").fetchone()[0]
        of_live = await trio.to_thread.run_sync(digests, live)
    builds: list[dict[str, str]] = []

    async def build_elsewhere() -> None:
        builds.append(await digests_of_child(place.var, batch_events=37, up_to=position, hash_seed="4242"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(build_elsewhere)
        build = partial(built_digests, place, progress, batch_events=500, up_to=position)
        first = await trio.to_thread.run_sync(partial(build, give_way=trio.from_thread.check_cancelled))
    (second,) = builds
    tables = [
        {"table": table, "live": live, "first": first[table], "second": second[table]}
        for table, live in of_live.items()
    ]
    return {"identical": of_live == first == second, "position": position, "failed": failed, "tables": tables}


@click.command(cls=Command, hidden=True, example="svc build-views --var var --batch-events 500 --up-to 1000")
@common.settings_option
@click.option("--batch-events", type=int, required=True)
@click.option("--up-to", type=int, required=True, help="The last event to read.")
def build_views(settings: Settings, batch_events: int, up_to: int) -> None:
    """Prints digests of their tables; before, how far it is. A check starts it."""
    from svc.logs import set_up_logs
    from svc.views.replay import BuildStep, built_digests

    def told(*done: Any) -> None:
        sys.stdout.write(msgspec.json.encode(BuildStep(*done)).decode() + "\n")
        sys.stdout.flush()

    set_up_logs("warning")
    look_seldom()
    told(up_to, up_to, built_digests(settings.place, told, batch_events=batch_events, up_to=up_to))


@click.command(
    cls=common.Reaching,
    show="organization_id from to status done",
    example="svc backfill --from 2026-08-01 --to 2026-08-31",
)
@click.option("--from", "since", required=True, metavar="TIME", help="First time, ISO 8601 or a date; UTC if bare.")
@click.option("--to", "until", required=True, metavar="TIME", help="Up to this time; a date is included.")
@click.option("--organization", metavar="ORG", help="Whose sub-sessions, by name or id. [default: every organization]")
@click.option("--developer", metavar="WHO", help="Only this developer's, by name or id.")
def backfill(access: Access, since: str, until: str, organization: str | None, developer: str | None) -> list[Found]:
    """By the judges that there are now.

    The scores are built anew as `svc replay` does it, and the log keeps who asked.
    """
    body = {"from": since, "to": until}
    if developer is not None:
        body["developer_id"] = access.find("developer", developer)["id"]
    wanted = access.organizations(organization)
    begun = [access.ask("POST", BACKFILLS, body | {"organization_id": each}) for each in wanted]
    ids = {each["backfill_id"] for each in begun}
    while any(each["status"] == "running" for each in begun):
        time.sleep(POLL_SECONDS)
        begun = [each for each in access.ask("GET", BACKFILLS, limit=500) if each["backfill_id"] in ids]
    if any(each["status"] != "completed" for each in begun):
        raise NotReached("the build of the scores stopped; see the server's log")
    return begun


# --- list prices of models ----------------------------------------------------------------------------------------

REVISIONS_SHOWN = 20
_CONTROL = "/v1/admin/control/catalog"
_RATES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
catalog = common.Family("catalog")


@catalog.command(show="catalog_revision changed", example="svc catalog publish prices.json")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def publish(access: Access, file: Path) -> Any:
    """Check FILE and make it the newest revision. A faulty one changes nothing."""
    import trio

    from svc.jobs.catalog import read_file

    found = trio.run(read_file, file)
    return access.ask("POST", _CONTROL, {"document": found.document, "source": found.source})


@catalog.command(show="catalog_revision changed", example="svc catalog refresh")
def refresh(access: Access) -> Any:
    """Ask the source that the settings name for its newest prices, now."""
    return access.ask("POST", f"{_CONTROL}/refresh")


def _show_catalog(found: Found) -> None:
    """The whole document in some lines, or one of its models in full."""
    if "list_rates" in found:
        name = found["model"]["display_name"] or "undetermined"
        title = f"{found['external_model_id']}: {name}, {_provider(found)}; dollars per million tokens"
        head = ("from", "above input", "input", "output", "cache read", "cache write", "for 1 h")
        common.show_table(head, (row for each in found["list_rates"] for row in _rates(each)), title)
        return
    providers = Counter(map(_provider, found.pop("exact_lookups")))
    common.show_fields((name, common.cell(found, name, {})) for name in found)
    common.show_table(("provider", "ids"), ((name, str(count)) for name, count in providers.most_common()))


def _provider(lookup: Found) -> str:
    return str(lookup["provider"]["provider"] or "undetermined")


def _rates(each: Found) -> Iterator[tuple[str, ...]]:
    since, rate = each["effective_from"][:10], each.get("rate")
    if rate is None:
        yield since, each["unpriced_reason"]
        return
    for band in (rate, *rate.get("long_context", ())):
        above = f"{band['above_input_tokens']:,}" if "above_input_tokens" in band else ""
        values = (band.get(name) for name in _RATES)
        yield since, above, *("-" if value is None else f"{value:g}" for value in values)


@catalog.command("show", show=_show_catalog, example="svc catalog show claude-sonnet-4-5")
@click.argument("model", required=False)
def show_catalog(access: Access, model: str | None) -> Any:
    """Show what is served: a summary, or the prices of one MODEL. With --json the whole document."""
    record = access.ask("GET", "/v1/model-catalog")
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
def list_revisions(access: Access, limit: int) -> Any:
    """Show the newest revisions, valid or not."""
    return access.ask("GET", _CONTROL, limit=limit)


@catalog.command(
    show="organization_id catalog_revision", example="svc catalog reprice --from 2026-08-01 --to 2026-09-01"
)
@click.option("--from", "since", required=True, metavar="TIME", help="First time to reprice, ISO 8601; UTC if bare.")
@click.option("--to", "until", metavar="TIME", help="Up to this time, exclusive. [default: now]")
@click.option("--organization", metavar="ORG", help="Whose requests, by name or id. [default: every organization]")
def reprice(access: Access, since: str, until: str | None, organization: str | None) -> list[Found]:
    """Price requests that have none yet, by the newest revision. Those that have a price keep it."""
    times = {"from": since, "to": until or iso(time.time_ns() // 1_000)}
    bodies = [{"organization_id": each} | times for each in access.organizations(organization)]
    return [access.ask("POST", f"{_CONTROL}/reprice", each) for each in bodies]
