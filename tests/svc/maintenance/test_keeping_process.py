"""Keeping data by command, on the real program: real sockets, real SQLite, real kill -9."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aggregates.reading.verdicts import BOOLEANS
from tests.support.process import Server, init, serving, svc

pytestmark = pytest.mark.process

PLANTED = "heliotrope-4711"


def capture(server: Server, number: int) -> int:
    return server.capture(number, f"Please fix {PLANTED} in src/a", sessions=3).status_code


def json_of(*arguments: str | Path, check: bool = True) -> Any:
    return msgspec.json.decode(svc(*arguments, "--json", check=check).stdout)


def test_a_backup_under_load_restored_elsewhere_verifies_and_scores_the_same(tmp_path: Path) -> None:
    """Made while captures come in, as a tar file and as a folder; what it holds is what was there at one moment."""
    var, other = tmp_path / "var", tmp_path / "other"
    made = init(var)
    with serving(var, made["key"]) as server:
        with ThreadPoolExecutor(2) as pool:
            load = [pool.submit(capture, server, number) for number in range(1, 300)]
            load[60].result()
            backup = json_of("backup", tmp_path / "b.tar", "--var", var)
            assert {each.result() for each in load} == {201}
        assert 60 < backup["head"] < 700
        server.goals()
        json_of("backup", tmp_path / "folder", "--var", var)
        before = server.goals()
        assert server.stop() == 0
    assert json_of("restore", tmp_path / "b.tar", "--var", tmp_path / "early")["head"] == backup["head"]
    assert json_of("verify", "--var", tmp_path / "early")["clean"]
    (tmp_path / "folder" / ".DS_Store").write_bytes(b"left by a file manager")
    svc("restore", tmp_path / "folder", "--var", other)
    with serving(other, made["key"]) as server:
        assert server.goals() == before
        assert capture(server, 1) == 200
        assert server.stop() == 0
    events = json_of("verify", "--var", var)["events"]
    wanted = {"clean": True, "events": events, "position": events, "findings": [], "more": 0, "archive_files": 0}
    assert json_of("verify", "--var", other) | {"archive_files": 0} == wanted


def test_neither_a_backup_nor_a_folder_is_written_over(tmp_path: Path) -> None:
    var = tmp_path / "var"
    init(var)
    svc("backup", tmp_path / "b", "--var", var)
    for command, said in (("backup", "is there already"), ("restore", "is not empty")):
        again = svc(command, tmp_path / "b", "--var", var, check=False)
        assert (again.returncode, said in again.stderr) == (1, True)


def test_an_export_holds_everything_of_one_developer(tmp_path: Path) -> None:
    """Their events with their words, their conclusions as lines and as Parquet; the same numbers in both."""
    import duckdb

    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server:
        assert {capture(server, number) for number in range(1, 8)} == {201}
        listed = {row["score_v3_sub_session_id"]: row for row in server.goals()}
        told = json_of("export", "Owner", tmp_path / "out", "--var", var)
        assert server.stop() == 0
    assert (told["sub_sessions"], told["prompts"]) == (3, 7)
    events, lines, goals = (
        [msgspec.json.decode(line) for line in (tmp_path / "out" / f"{name}.jsonl").read_bytes().splitlines()]
        for name in ("events", "prompts", "sub_sessions")
    )
    prompts = [each["prompt"] for each in events if each["topic"] == "prompt.captured"]
    assert prompts == [f"Please fix {PLANTED} in src/a {number}" for number in range(1, 8)]
    parquet = duckdb.sql(f"SELECT * FROM '{tmp_path}/out/prompts.parquet'")
    assert parquet is not None
    rows = [dict(zip(parquet.columns, row, strict=True)) for row in parquet.fetchall()]
    assert rows == lines
    for row in goals:
        one = listed.pop(row["score_v3_sub_session_id"])
        assert {name: row[name] for name in row if name in one} == {name: one[name] for name in one if name in row}
        assert {"unsure_count", "undecided_reason"} <= row.keys() & one.keys()
    assert not listed
    for row in (*lines, *goals):
        unsure = [name for name in BOOLEANS if row[f"{name}_applicability"] == "unsure"]
        assert (row["unsure_count"] or 0) == len(unsure)
        assert all((row[name] is None) == (row[f"{name}_applicability"] != "applies") for name in BOOLEANS)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    tables = [f"{name}.{kind}" for name in ("prompts", "requests", "sub_sessions") for kind in ("jsonl", "parquet")]
    assert names == ["events.jsonl", *tables]
