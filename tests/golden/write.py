"""Writes the golden folder: five weeks of an invented company, told to the real service over HTTP.

`python -m tests.golden.write` writes the folder and what is expected of it; it was run once, with
the program of commit 102b59e. `--expected-only` reads the folder that is there with the program that is there now, and
writes only what is expected: for a change that an issue asks for. Every difference is then listed in CHANGELOG.md.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import trio

from svc.app import open_service
from svc.clock import FixedClock
from svc.settings import Settings
from svc_http.app import build_api, build_intake
from tests.golden import decisions, work
from tests.golden.folder import (
    EXPECTED,
    TOPICS,
    Asked,
    Expected,
    answers,
    expected,
    pack,
    rebuilt_tables,
    stored_events,
    topics_of,
    unpacked,
    words_of,
)
from tests.golden.world import MINUTE_US, NOW_US, World, at


async def tell(var: Path, scratch: Path) -> tuple[Asked, dict[str, str], dict[str, list[str]]]:
    """Five weeks; who reads them, sealed texts from before anything was taken away, and what is to be read."""
    clock = FixedClock(at("06-25 09:00"))
    settings = Settings(var=str(var), catalog_refresh=False)
    async with open_service(settings, clock=clock) as service:
        world = World(var, service, clock)
        await work.found(world)
        await decisions.publish(world, "gpt-5.3-codex")
        sealed = await work.old_work(world)
        await work.young_work(world)
        await service.archive.look()
        asked = await work.schema(world)
        await work.imports(world, scratch)
        await decisions.judged(world, asked)
        await decisions.overrides(world)
        await decisions.reports_that_fail(world)
        await decisions.backfilled(world)
        await decisions.publish(world, "gpt-5.3-codex", "gemini-2.5-pro", "claude-sonnet-4-5-20250929")
        await decisions.reprice(world)
    async with open_service(settings, clock=clock, reporting=True) as service:
        world.service, world.intake, world.api = service, build_intake(service), build_api(service)
        await decisions.reports_that_come(world)
        await world.until(NOW_US - 10 * MINUTE_US)
        assert await service.keeper.keep_terms_once(), "some words are old enough"
        await decisions.forget(world)
        await world.until(NOW_US)
        return world.asked, sealed, await questions(world)


async def questions(world: World) -> dict[str, list[str]]:
    """What the main reads are asked: by developer, and by an internal caller."""
    ana, ben = await sub_sessions(world, "ana"), await sub_sessions(world, "ben")
    v3 = "/v1/score_v3"
    read = {
        "ana": common_questions() + [f"{v3}/sub-sessions/{ana[session]}" for session in SHOWN],
        "ben": common_questions() + [f"{v3}/sub-sessions/{each}" for each in list(ben.values())[:4]],
        "internal": [f"/v1/admin/{each}" for each in ("organizations", "developers", "memberships", "teams", "keys")],
    }
    # One whose words are gone and which has a title, one that a text model judged; and one that was joined of two.
    read["ana"] += [f"{v3}/sub-sessions/{ana[session]}/explain" for session in ("ana-rounding", "ana-schema")]
    read["ben"] += [f"{v3}/sub-sessions/{ben['ben-stock-1']}/explain"]
    read["ana"] += [f"{v3}/sub-sessions/{ana['ana-export']}/prompts", f"{v3}/sessions/{ana['ana-schema']}/prompts"]
    read["ana"] += [f"{v3}/report", f"{v3}/report/history", f"{v3}/report/pending"]
    team = f"team_id={world.team_id}"
    read["ana"] += [f"/v1/team/cost?{team}&window=monthly", f"/v1/team/daily-summary?{team}&date=2026-07-28"]
    read["ana"] += [f"/v1/intelligence/throttle/team?{team}&{JULY}"]
    read["internal"] += ["/v1/admin/team-memberships", "/v1/admin/control/catalog", "/v1/model-catalog"]
    return read


JULY = "from=2026-06-01&to=2026-08-01"
SHOWN = ("ana-rounding", "ana-again", "ana-export", "ana-header", "ana-page-1", "ana-small-talk", "ana-schema")


def common_questions() -> list[str]:
    """What every developer is shown."""
    days = "from_date=2026-06-20&to_date=2026-07-30"
    v3, ai, telemetry = "/v1/score_v3", "/v1/intelligence", "/v1/telemetry"
    windows = ("daily", "weekly", "monthly")
    asked = [f"{v3}/{name}?window={window}" for name in ("score", "speed", "tokens", "skill") for window in windows]
    asked += [f"{v3}/{name}?window=monthly" for name in ("speed/sessions", "trivia", "integrity", "tokens/trend")]
    asked += [f"{v3}/{name}?{JULY}" for name in ("insight/rubric", "peer-comparison")]
    asked += [f"{v3}/{name}?{JULY}&period=week" for name in ("trivia/trend", "integrity/trend")]
    asked += [f"{v3}/insight/summary", f"{v3}/integrity/recent?from=2026-06-01", f"{v3}/today-summary?date=2026-07-29"]
    asked += [f"{v3}/realtime/sub-sessions?limit=100", f"{v3}/insight/sessions?limit=2&offset=3"]
    asked += [f"{v3}/{name}?{days}&limit=10" for name in ("files", "prompts/top", "task-time", "model-task")]
    asked += [f"{ai}/throttle?{JULY}", f"{ai}/rightsizing?{JULY}", "/v1/sub-sessions/accuracy?window_days=90"]
    asked += [f"{telemetry}/{name}?{JULY}&limit=10" for name in ("logs", "metrics", "traces")]
    return [*asked, f"{telemetry}/stats?{JULY}&group_by=session_id", f"{telemetry}/analytics?{JULY}"]


async def sub_sessions(world: World, name: str) -> dict[str, str]:
    """By agent session the first sub-session of a developer that begins in it."""
    rows = await world.send(name, "GET", "/v1/score_v3/realtime/sub-sessions?limit=100")
    return {row["agent_session_id"]: row["sub_session_id"] for row in rows}


def look(
    var: Path, asked: Asked, sealed: dict[str, str], paths: Mapping[str, Sequence[str]], scratch: Path
) -> Expected:
    """Everything that the program finds in the folder."""
    return Expected(
        asked=asked,
        head=len(list(stored_events(var))),
        topics=topics_of(var),
        words=words_of(var, asked.developers),
        sealed=sealed,
        tables=rebuilt_tables(var, scratch / "views.db"),
        reads=trio.run(answers, var, asked, paths),
    )


def write_expected(found: Expected) -> None:
    """Indented, so that a review shows what differs."""
    EXPECTED.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


def write_all(scratch: Path) -> None:
    """The folder, and what is expected of it."""
    var = scratch / "var"
    asked, sealed, paths = trio.run(tell, var, scratch)
    missing = set(TOPICS.read_text().split()) - set(topics_of(var))
    assert not missing, f"the story does not lead to {missing}"
    for name in ("lock", "running.json"):
        (var / name).unlink(missing_ok=True)
    pack(var)
    write_expected(look(unpacked(scratch / "copy"), asked, sealed, paths, scratch))


def write_expected_only(scratch: Path) -> None:
    """What is expected of the folder that is there."""
    known = expected()
    paths = {name: list(reads) for name, reads in known.reads.items()}
    write_expected(look(unpacked(scratch), known.asked, known.sealed, paths, scratch))


def main() -> None:
    """One of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expected-only", action="store_true", help="keep the folder, renew what is expected")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="svc-golden-") as scratch:
        (write_expected_only if options.expected_only else write_all)(Path(scratch))


if __name__ == "__main__":
    main()
