"""Reports over the real store, archive and threads: a source that breaks and is repaired, a cancel within a read."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio
from msgspec import structs

from aggregates.capture.events import RecordsCaptured
from aggregates.event import Words
from aggregates.records.record import Record
from projections import reports as report_sections
from svc_http.app import build_api
from tests.support.facts import MONDAY
from tests.support.household import Household, household
from tests.svc_http.house import Caller, bearer

REPORT = "/v1/score_v3/report"
TODAY = {"period": "daily", "date": "2026-01-05"}
SAFE = "The report could not be generated. Please try again."
SECONDS_MAX = 30


class Office(NamedTuple):
    """A service with its one developer at the private listener."""

    house: Household
    api: Caller

    async def works(self) -> None:
        """A prompt, and one request for a cent; both stand in the archive then."""
        owner = structs.asdict(self.house.owner) | {"agent_session_id": "session-1", "source": "claude-code"}
        asked: dict[str, Any] = {"kind": "request", "model": "m", "input_tokens": 5, "cost_usd_nano": 10_000_000}
        record = Record(record_id="r1", at_us=MONDAY, **asked)
        await self.house.prompt("Fix src/a.py and run pytest", session="session-1")
        await self.house.service.send(RecordsCaptured(**owner, decoder_version=1, records=(record,), words=Words("")))
        await self.house.level()
        await self.house.service.archive.catch_up()

    async def asks(self) -> str:
        answer = await self.api.post(f"{REPORT}/generate", TODAY)
        assert answer.status == 202, answer.body
        report_id: str = answer.json["report_id"]
        return report_id

    async def comes_to(self, report_id: str, *states: str) -> dict[str, Any]:
        while True:
            found: dict[str, Any] = (await self.api.get(f"{REPORT}/status/{report_id}")).json
            if found["status"] in states:
                return found
            await trio.lowlevel.checkpoint()

    async def fails(self) -> None:
        report_id = await self.asks()
        told = {"report_id": report_id, "error_code": "source_unavailable", "error_message": SAFE}
        assert await self.comes_to(report_id, "failed", "completed") == told | {"status": "failed"}

    async def succeeds(self) -> None:
        report_id = await self.asks()
        assert (await self.comes_to(report_id, "failed", "completed"))["status"] == "completed"
        usage = (await self.api.get(f"{REPORT}/{report_id}")).json["sections"]["modelUsage"]
        assert usage["spending"]["rollup"]["costUsd"] == usage["modelUsage"][0]["totalCostUsd"] == 0.01
        assert usage["spending"]["readCoverage"]["reason"] == "complete"


@asynccontextmanager
async def office(var: Path) -> AsyncIterator[Office]:
    with trio.fail_after(SECONDS_MAX):
        async with household(var, now_us=MONDAY, reporting=True) as house:
            assert house.key is not None
            found = Office(house, Caller(build_api(house.service), bearer(house.key)))
            await found.works()
            yield found


async def test_an_archive_that_cannot_be_read_fails_the_report_until_it_is_repaired(tmp_path: Path) -> None:
    """A report without it would be wrong, and would not say so: a damaged file, a missing one, a file in its place."""
    archive, aside = tmp_path / "var" / "archive", tmp_path / "var" / "aside"
    async with office(tmp_path / "var") as desk:
        await desk.succeeds()
        (file,) = archive.rglob("*.parquet")
        content = file.read_bytes()
        file.write_bytes(content[:-8] + b"garbage!")
        await desk.fails()
        file.unlink()
        await desk.fails()
        file.write_bytes(content)
        await desk.succeeds()
        archive.rename(aside)
        archive.write_text("somebody put a file here")
        await desk.fails()
        await desk.fails()
        archive.unlink()
        aside.rename(archive)
        await desk.succeeds()


async def test_a_file_there_is_seen_before_anything_was_archived(tmp_path: Path) -> None:
    """Nothing would be missing yet; but nobody could tell."""
    archive = tmp_path / "var" / "archive"
    async with office(tmp_path / "var") as desk:
        for each in archive.rglob("*.parquet"):
            each.unlink()
        desk.house.service.archive.close()
        (tmp_path / "var" / "archive.db").unlink()
        await desk.succeeds()
        archive.rename(archive.with_name("aside"))
        archive.write_text("somebody put a file here")
        await desk.fails()


async def test_a_cancel_takes_effect_between_two_sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that reads gives up; what it had found is kept nowhere."""
    reading, told = threading.Event(), threading.Event()
    reached: list[object] = []

    def slow(_look: object) -> None:
        reading.set()
        assert told.wait(SECONDS_MAX)

    monkeypatch.setattr(report_sections, "SECTIONS", {"score": slow, "speed": reached.append})
    async with office(tmp_path / "var") as desk:
        report_id = await desk.asks()
        await desk.comes_to(report_id, "running")
        await trio.to_thread.run_sync(reading.wait)
        answer = await desk.api.call("POST", f"{REPORT}/cancel/{report_id}")
        assert answer.json == {"report_id": report_id, "status": "cancelled"}
        told.set()
        before = len(reached)
        await desk.comes_to(report_id, "cancelled")
        assert (await desk.api.get(f"{REPORT}/pending")).json == {"report_id": None}
        again = await desk.asks()
        assert (await desk.comes_to(again, "completed"))["status"] == "completed"
        assert (before, len(reached)) == (0, 1)


async def test_what_a_report_quotes_lies_in_no_file_in_the_clear(tmp_path: Path) -> None:
    """It is sealed under the developer's key; once that is destroyed, the report says nothing."""
    async with office(tmp_path / "var") as desk:
        report_id = await desk.asks()
        await desk.comes_to(report_id, "completed")
        shown = await desk.api.get(f"{REPORT}/{report_id}")
        assert "Fix src/a.py" in shown.body.decode()
        content = b"".join(path.read_bytes() for path in (tmp_path / "var").rglob("*") if path.is_file())
        assert b"Fix src/a.py" not in content
        desk.house.service.store.vault.destroy(desk.house.owner.developer_id)
        forgotten = (await desk.api.get(f"{REPORT}/{report_id}")).json
        assert (forgotten["status"], forgotten["sections"]) == ("completed", None)
