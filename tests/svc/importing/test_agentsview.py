"""AgentsView's archive: what is read of it, whatever its version, and that nothing in it counts twice."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
import trio

from aggregates.event import Digester, Scope
from aggregates.telemetry.batches import Sender
from aggregates.telemetry.draft import Exchange, RecordDraft
from projections.derive.sessions import session_turns
from svc.importing.agentsview import Archive, NoArchive, agents_only_in
from svc.importing.exchange import Memory
from svc.importing.importer import QUIET_US, import_into
from tests.support import transcripts
from tests.support.basics import ANA, named
from tests.support.facts import Placed, project
from tests.support.imported import NEXT_DAY_US, Actor, destination_of, prompts, records, run, shown
from tests.support.rollouts import PATCH, THREAD, meta, turn, write


def _parts(name: str) -> dict[str, str]:
    parts = re.split(r"^-- \[(.+)\]\n", (Path(__file__).parent / name).read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


MORE, TOLD = _parts("agentsview_more.sql"), _parts("agentsview.txt")
QUIET = 1 << 62


@pytest.fixture
def file(tmp_path: Path) -> Path:
    changed(tmp_path / "sessions.db", (Path(__file__).parent / "agentsview.sql").read_text())
    return tmp_path / "sessions.db"


def changed(file: Path, script: str) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.executescript(script)


def read(archive: Archive, agent: str | None = None, *, every: bool = True) -> list[Exchange]:
    found, seen = list[Exchange](), Memory()
    for sessions in archive.chosen(agent, None, every=every, quiet_before_us=QUIET).values():
        for each in sessions:
            reading = each.open(seen)
            assert reading is not None
            found += reading[1]
    return found


def drafts(exchanges: list[Exchange], kind: str) -> list[RecordDraft]:
    return [draft for each in exchanges for draft in each.drafts if draft.record.kind == kind]


async def imported(archive: Archive, actor: Actor, agent: str | None = None, *, now_us: int = NEXT_DAY_US * 2) -> int:
    """How much was new."""
    created = 0
    for source, found in archive.chosen(agent, None, every=True, quiet_before_us=now_us - QUIET_US).items():
        destination = destination_of(Sender(Scope(named("acme"), ANA), source, Digester(b"key")), actor.send)
        imports = partial(import_into, destination, found, lambda *_: None, now_us=now_us)
        report = await trio.to_thread.run_sync(imports)
        created += report.created + report.corrected
    return created


@pytest.mark.parametrize("agent", TOLD)
def test_a_session_is_read(file: Path, agent: str) -> None:
    """A sub-agent's is its parent's; what a fork repeats is told once; of no person there is no prompt."""
    found = ((each.agent_session_id, shown(each, tokens=True)) for each in read(Archive(file), agent))
    assert [f"{session} => {told}" for session, told in found if told] == TOLD[agent].splitlines()


def test_what_is_told_of_calls_and_of_those_who_work_for_others(file: Path) -> None:
    tools = {draft.record.call_id: draft for draft in drafts(read(Archive(file)), "tool")}
    assert [(tools[name].path, tools[name].command) for name in ("p1", "p2")] == [
        ("src/cart.py", None),
        (None, "pytest -q"),
    ]
    by_others = [draft.record.record_id for draft in drafts(read(Archive(file)), "request") if draft.record.sidechain]
    assert by_others == ["request:agentsview:opencode:msg_4:2026-11-23T12:00:19Z"]


@pytest.mark.parametrize(
    ("script", "lacks"),
    [
        ("ALTER TABLE messages DROP COLUMN dialogue_text", "its table messages lacks dialogue_text: what they would"),
        ("DROP TABLE usage_events; DROP TABLE tool_result_events", "its table usage_events lacks session_id, id,"),
        ("ALTER TABLE tool_calls DROP COLUMN call_index", "its table tool_calls lacks call_index: what they"),
        ("ALTER TABLE tool_result_events DROP COLUMN event_index", "tool_result_events lacks event_index: what they"),
        ("UPDATE sessions SET ended_at = 'soon', started_at = 'then'", None),
        ("PRAGMA user_version = 500; ALTER TABLE sessions ADD COLUMN novel TEXT", None),
    ],
)
def test_an_archive_of_another_version_is_read_as_far_as_it_goes(file: Path, script: str, lacks: str | None) -> None:
    changed(file, script)
    archive = Archive(file)
    assert any(lacks in each.reason for each in archive.missing) if lacks else not archive.missing
    assert sum(each.prompt is not None for each in read(archive)) == 6


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda file: file.write_bytes(file.read_bytes()[:9_000]), "malformed|cut off"),
        (lambda file: file.write_bytes(b"no database at all " * 100), "file is not a database"),
        (lambda file: changed(file, "ALTER TABLE messages DROP COLUMN role"), "its table messages lacks role$"),
        (lambda file: file.unlink(), "there is no file"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_before_anything_is_taken(
    file: Path, spoil: Callable[[Path], object], said: str
) -> None:
    spoil(file)
    with pytest.raises(NoArchive, match=said):
        Archive(file)
    assert agents_only_in(file) == []


def test_which_agents_are_read(file: Path) -> None:
    archive = Archive(file)

    def of(agent: str | None, *, every: bool, since: datetime | None = None) -> list[str]:
        return list(archive.chosen(agent, since, every=every, quiet_before_us=0))

    assert of(None, every=False) == ["cursor", "goose", "opencode", "pi"]
    assert of(None, every=True) == ["claude-code", "cursor", "goose", "opencode", "pi"]
    assert of("claude", every=False) == of("claude-code", every=False) == ["claude-code"]
    assert of(None, every=True, since=datetime(2026, 11, 23, 13, 30, tzinfo=UTC)) == ["claude-code", "goose"]
    assert agents_only_in(file) == ["cursor", "goose", "pi"]


async def test_again_it_adds_nothing_and_a_watch_reads_only_what_changed(file: Path) -> None:
    actor = Actor(now_us=NEXT_DAY_US * 2)
    archive = Archive(file)
    assert await imported(archive, actor) > 0
    assert archive.chosen(None, None, every=True, quiet_before_us=QUIET) == {}
    assert await imported(Archive(file), actor) == 0
    changed(file, "UPDATE sessions SET transcript_revision = '2' WHERE agent = 'cursor'")
    assert list(archive.chosen(None, None, every=True, quiet_before_us=QUIET)) == ["cursor"]


async def test_an_open_exchange_is_read_again_when_it_is_quiet(file: Path) -> None:
    archive, actor = Archive(file), Actor(now_us=NEXT_DAY_US * 2)
    last_us = next(each.last_us for each in read(Archive(file), "goose"))
    await imported(archive, actor, "goose", now_us=last_us + QUIET_US - 1)
    assert await imported(archive, actor, "goose", now_us=last_us + QUIET_US - 1) == 0
    assert await imported(archive, actor, "goose", now_us=last_us + QUIET_US + 1_000_000_000_000) > 0


@pytest.mark.parametrize("order", [("own", "archive"), ("archive", "own", "archive"), ("archive",)])
async def test_a_session_that_its_own_reader_reads_too_is_one(
    file: Path, tmp_path: Path, order: tuple[str, ...]
) -> None:
    """What was heard otherwise counts, whichever came first; what the archive has alone counts as well."""
    changed(file, MORE["codex"].replace("PATCH", PATCH.replace("\n", "\\n")))
    write(tmp_path / "codex", [meta(), *turn(10)])
    actor = Actor(now_us=NEXT_DAY_US)
    for each in order:
        if each == "own":
            await run("codex", tmp_path / "codex", actor)
        else:
            await imported(Archive(file), actor, "codex")
    db = project([Placed(number, event) for number, event in enumerate(actor.events, 1)])
    turns = session_turns(db, THREAD, 0)
    requests = db.execute("SELECT count(*), sum(input_tokens) FROM requests WHERE superseded = 0").fetchone()
    own = "own" in order
    assert [each.work.tool_calls for each in turns] == [2]
    assert requests == ((3, 1200) if own else (2, 800)), "a message without usage is part of the request before it"
    patch, _ = drafts(read(Archive(file), "codex"), "tool")
    assert (patch.record.tool, patch.path) == ("apply_patch", "src/login.py")


@pytest.mark.parametrize("at_once", [True, False])
async def test_sums_of_a_whole_session_count_once(file: Path, at_once: bool) -> None:
    actor, archive = Actor(now_us=NEXT_DAY_US), Archive(file)
    scripts = [MORE["copilot"], MORE["copilot goes on"]]
    for script in ["".join(scripts)] if at_once else scripts:
        changed(file, script)
        await imported(archive, actor, "copilot")
    db = project([Placed(number, event) for number, event in enumerate(actor.events, 1)])
    assert db.execute("SELECT sum(input_tokens) FROM requests WHERE superseded = 0").fetchone() == (2003,)
    assert [draft.record.input_tokens for draft in drafts(read(Archive(file), "copilot"), "request")] == [2003]
    assert [draft.record.ok for draft in drafts(read(Archive(file), "copilot"), "tool")] == [False]


def test_a_session_of_visual_studio_is_called_as_its_traces_call_it(file: Path) -> None:
    changed(file, MORE["told"])
    assert {each.agent_session_id for each in read(Archive(file), "visualstudio-copilot")} == {"4a8f"}


def test_what_aider_prints_is_no_answer_and_no_request(file: Path) -> None:
    changed(file, MORE["told"])
    told = [shown(each, tokens=True) for each in read(Archive(file), "aider")]
    assert told == ["", "add a flag (agentsview:aider:r1:1) | None+None > None | = 'It is there.' | …"]


def test_what_a_sub_agent_was_told_is_no_prompt_and_by_how_much_an_input_grew_no_input(file: Path) -> None:
    changed(file, MORE["told"])
    assert prompts(read(Archive(file), "copilot")) == ["delegate it"]
    asked = records(read(Archive(file), "gemini"), "request")
    assert [(r.input_tokens, r.cache_read_tokens, r.output_tokens) for r in asked] == [(None, None, 50), (None,) * 3]


@pytest.mark.parametrize("own_first", [True, False])
async def test_a_prompt_that_was_typed_amid_work_is_one(file: Path, tmp_path: Path, own_first: bool) -> None:
    changed(file, MORE["told"])
    queued = {"type": "queued_command", "prompt": "and a test"}
    lines = transcripts.user("u1", 0, "go"), transcripts.line("attachment", "q1", 8, attachment=queued)
    (tmp_path / "own.jsonl").write_bytes(b"".join(transcripts.raw(*lines)))
    actor = Actor(now_us=NEXT_DAY_US)
    if not own_first:
        await imported(Archive(file), actor, "claude")
    await run("claude-code", tmp_path / "own.jsonl", actor)
    await imported(Archive(file), actor, "claude")
    db = project([Placed(number, event) for number, event in enumerate(actor.events, 1)])
    assert len(session_turns(db, transcripts.SESSION, 0)) == 2


def test_a_writer_is_neither_seen_nor_hindered(file: Path) -> None:
    changed(file, "PRAGMA journal_mode = wal")
    archive = Archive(file)
    (found, _) = archive.chosen("pi", None, every=True, quiet_before_us=QUIET)["pi"]
    reading = found.open(Memory())
    assert reading is not None
    with closing(sqlite3.connect(file, timeout=0)) as writer:
        before = next(reading[1])
        writer.execute("DELETE FROM messages")
        writer.commit()
        assert [before.prompt, *(each.answer and each.answer.text for each in reading[1])] == [
            None,
            "Rounded; the tests pass.",
        ]
    assert archive.file.read_bytes()[:15] == b"SQLite format 3"
