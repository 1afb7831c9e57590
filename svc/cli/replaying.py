"""`svc replay` and `svc backfill`: build the scores anew from the log, prove that they come out the same, judge again.

A proof is two builds, in two processes, under different hash seeds and batch sizes, compared with each other and with
the tables that serve.
"""

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.progress import MofNCompleteColumn, TaskProgressColumn, TimeRemainingColumn

from svc.cli import Command, Found
from svc.cli.access import REPLAY, NotReached, reach
from svc.cli.common import data_options, print_json, run, say, sentences, settings_option, show_table, tell, working
from svc.process import POLL_SECONDS, Place, look_seldom
from svc.settings import Settings

if TYPE_CHECKING:
    from svc.views.replay import Progress

_BACKFILLS = "/v1/admin/control/backfill"
DIGEST_CHARACTERS = 12  # as much of a digest as a person compares
_BUILDS: tuple[tuple[str, int], ...] = (("1", 500), ("4242", 37))  # the hash seed and the batch size of each build
_COLUMNS = (TaskProgressColumn(), MofNCompleteColumn(), TimeRemainingColumn())
_INTERRUPTED = (
    "the scores are as they were; run it again. Under a running server the build goes on there, and serves when it is "
    "done: `svc status` shows how far it is"
)


@click.command(cls=Command, example="svc replay --check")
@data_options
@click.option("--rules", type=int, help="Rule set to judge by. [default: the newest]")
@click.option("--check", "only_check", is_flag=True, help="Build twice and compare with the serving tables.")
@click.option("--without-keys", is_flag=True, help="Also where key files are missing: their scores are then lost.")
def replay(settings: Settings, as_json: bool, rules: int | None, only_check: bool, without_keys: bool) -> None:
    """The new tables are built beside those that serve, then serve instead of them. Works offline and against a running
    server. Where the key file of a developer is missing, nothing is built: without it their texts count for nothing.
    """
    from svc.log.opening import holds_data, open_log
    from svc.maintenance.verify import ADVICE, lost_keys

    if only_check:
        with working("building twice", "nothing was changed, and nothing is known; run it again", *_COLUMNS) as heard:
            checked = run(_check, settings.place, heard)
        tell(checked, as_json, _show)
        if not checked["identical"]:
            raise SystemExit(1)
    else:
        if not without_keys and holds_data(settings.place):
            with sentences():
                store, vault = open_log(settings.place)
                with contextlib.closing(store):
                    lost = lost_keys(vault.keys, store)
            if lost:
                more = "" if len(lost) == 1 else f" and of {len(lost) - 1} more"
                raise click.ClickException(
                    f"nothing was built: the key of {lost[0].who} is missing{more}; {lost[0].path}: {ADVICE}. "
                    "--without-keys builds all the same"
                )
        look_seldom()
        with working("replaying", _INTERRUPTED, *_COLUMNS) as heard:
            run(_replay, settings, rules, heard)
        say("the scores were built anew from the log", err=True)


async def _replay(settings: Settings, rules: int | None, progress: "Progress") -> None:
    import trio

    async with reach(settings) as access:
        status = await access.ask("POST", REPLAY, {} if rules is None else {"rules": rules})
        while status["state"] == "running":
            await trio.sleep(POLL_SECONDS)
            status = await access.ask("GET", REPLAY)
            progress(status["done"], status["of"])
    if status["state"] == "failed":
        raise NotReached(status["message"] or "the replay failed; see the server's log")


def _show(checked: Found) -> None:
    rows = []
    for each in checked["tables"]:
        found = [each[side] for side in ("live", "first", "second")]
        differs = "" if len(set(found)) == 1 else "DIFFERENT"
        rows.append((each["table"], *(digest[:DIGEST_CHARACTERS] for digest in found), differs))
    title = f"up to position {checked['position']}"
    show_table(("table", "live", "first build", "second build", ""), rows, title)
    same = checked["identical"]
    click.secho("identical" if same else "DIFFERENT", fg="green" if same else "red")
    if checked["failed"]:
        click.secho(f"{checked['failed']} facts could not be derived; see the table failed", fg="red")


async def _check(place: Place, progress: "Progress") -> Found:
    """Build twice beside the serving tables and compare digests. Raises `NotReached` where there are none.

    `position`: up to it all three were compared; `failed`: facts that could not be derived.
    """
    import trio

    from projections.apply import bookmark
    from svc.log.opening import holds_data, open_log
    from svc.views.replay import digests, digests_of_child
    from svc.views.views import current_file, snapshot

    if holds_data(place):
        open_log(place)[0].close()  # one that cannot be opened says so here, and not as two builds that stopped
    path = current_file(place.var)
    if path is None:
        raise NotReached(f"{place.var} holds no tables to check; start the server once, or run `svc replay`")
    with snapshot(path) as live:
        position = bookmark(live).position
        failed = live.execute("SELECT count(*) FROM failed").fetchone()[0]
        of_live = await trio.to_thread.run_sync(digests, live)
    done = [0] * len(_BUILDS)
    builds: list[dict[str, str]] = [{} for _ in _BUILDS]

    async def build(number: int, seed: str, batch_events: int) -> None:
        def report(events: int, _of: int) -> None:
            done[number] = events
            progress(sum(done), position * len(done))

        builds[number] = await digests_of_child(
            place.var, report, batch_events=batch_events, up_to=position, hash_seed=seed
        )

    async with trio.open_nursery() as nursery:
        for number, (seed, batch_events) in enumerate(_BUILDS):
            nursery.start_soon(build, number, seed, batch_events)
    tables = [
        {"table": table, "live": live, "first": builds[0][table], "second": builds[1][table]}
        for table, live in of_live.items()
    ]
    identical = all(of_live == build for build in builds)
    return {"identical": identical, "position": position, "failed": failed, "tables": tables}


@click.command(cls=Command, example="svc backfill --from 2026-08-01 --to 2026-08-31")
@data_options
@click.option("--from", "since", required=True, metavar="TIME", help="First time, ISO 8601 or a date; UTC if bare.")
@click.option("--to", "until", required=True, metavar="TIME", help="Up to this time; a date is included.")
@click.option("--organization", metavar="ORG", help="Whose sub-sessions, by name or id. [default: every organization]")
@click.option("--developer", metavar="WHO", help="Only this developer's, by name or id.")
def backfill(
    settings: Settings, as_json: bool, since: str, until: str, organization: str | None, developer: str | None
) -> None:
    """By the judges that there are now.

    The scores are built anew as `svc replay` does it, and the log keeps who asked.
    """

    async def main() -> list[Found]:
        import trio

        async with reach(settings) as access:
            body = {"from": since, "to": until}
            if developer is not None:
                body["developer_id"] = (await access.find("developer", developer))["id"]
            wanted = await access.organizations(organization)
            begun = [await access.ask("POST", _BACKFILLS, body | {"organization_id": each}) for each in wanted]
            ids = {each["backfill_id"] for each in begun}
            while any(each["status"] == "running" for each in begun):
                await trio.sleep(POLL_SECONDS)
                begun = [each for each in await access.ask("GET", _BACKFILLS, limit=500) if each["backfill_id"] in ids]
            return begun

    records = run(main)
    if as_json:
        print_json(records)
    for each in records:
        say(f"organization {each['organization_id']}: {each['done']} sub-sessions judged again", err=True)
    if any(each["status"] != "completed" for each in records):
        raise click.ClickException("the build of the scores stopped; see the server's log")


@click.command(cls=Command, hidden=True, example="svc build-views --var var --batch-events 500 --up-to 1000")
@settings_option
@click.option("--batch-events", type=int, required=True)
@click.option("--up-to", type=int, required=True, help="The last event to read.")
def build_views(settings: Settings, batch_events: int, up_to: int) -> None:
    """Prints digests of their tables; before, how far it is. A check starts it."""
    from svc.observe.logs import set_up_logs
    from svc.views.replay import BuildStep, built_digests

    def told(*done: Any) -> None:
        sys.stdout.write(msgspec.json.encode(BuildStep(*done)).decode() + "\n")
        sys.stdout.flush()

    set_up_logs("warning")
    look_seldom()
    told(up_to, up_to, built_digests(settings.place, told, batch_events=batch_events, up_to=up_to))
