"""Changed session files and price lists are read as far as possible; what was taken can be replayed."""

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import trio
from hypothesis import given, strategies as st

from aggregates.event import Refused
from aggregates.prices.catalog import PublishCatalog
from svc.importing.importer import FORMATS
from svc.jobs.catalog import read_file
from svc_http.ports import NotRefreshed
from tests.fuzz.mill import MILL, Mill
from tests.fuzz.odd import as_json, bent, damaged, examples
from tests.support import chats, rollouts, transcripts
from tests.support.basics import ANA_SCOPE, NOW_US
from tests.support.catalogs import CHANGE, list_rate, lookup, rate
from tests.support.imported import import_transcripts
from tests.support.otlp import claude, logs
from tests.svc_http.house import DIGESTER

CLAUDE_CODE: list[dict[str, Any]] = [
    transcripts.user("u1", 0, "Fix the crash in src/app.py", promptId="p1"),
    transcripts.said("a1", 5, "Let me look.", transcripts.call("t1", "Edit", file_path="/x.py", new_string="a\nb")),
    transcripts.result("u2", 6, "t1"),
    transcripts.said("a2", 9.5, "Run it.", transcripts.call("t2", "Bash", command="pytest -q"), request_id="r2"),
    transcripts.result("u3", 11, "t2", "1 failed", error=True),
    transcripts.user("u4", 20, "[Request interrupted by user]"),
    transcripts.user("u5", 30, [{"type": "text", "text": "no, undo that"}]),
    transcripts.said("a3", 40, "Done.", stop_reason="end_turn", usage=transcripts.usage(hour=5)),
]
CODEX: list[dict[str, Any]] = [
    rollouts.meta(),
    *rollouts.turn(10),
    rollouts.item("local_shell_call", 30, call_id=None, id="l1", action={"type": "exec", "command": ["ls"]}),
    rollouts.event("exec_command_end", 31, call_id="l1", exit_code=0, duration={"secs": 1, "nanos": 5}, command=["ls"]),
    rollouts.event("turn_aborted", 34, reason="interrupted"),
]
GEMINI: list[dict[str, Any]] = [
    chats.head(kind="main"),
    *chats.exchange(10),
    chats.message("error", "e", 30, "[API Error: 429]"),
    {"$set": {"kind": "main"}},
    *chats.exchange(60, "now write the docs", 2),
]
FILES = {
    "claude-code": (CLAUDE_CODE, "s.jsonl"),
    "codex": (CODEX, "rollout-2026-03-02T10-00-00-019aad50-a7e6-7422-b7a8-0b384290624f.jsonl"),
    "gemini": (GEMINI, "session-2026-03-02T10-00-7b8f1c2d.jsonl"),
}


async def imported(mill: Mill, agent: str, data: bytes) -> int:
    """How many lines were read of a file that holds this."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILES[agent][1]
        file.write_bytes(data)
        means = {"scope": ANA_SCOPE, "digester": DIGESTER, "now_us": NOW_US}
        report = await import_transcripts(FORMATS[agent], file, mill.send, lambda *_: None, **means)  # type: ignore[arg-type]
    return report.lines


@st.composite
def bent_file(draw: st.DrawFn) -> tuple[str, bytes]:
    """An agent, and a file of its transcripts; some lines are doubled, lost or moved."""
    agent = draw(st.sampled_from(sorted(FILES)))
    lines = draw(bent([FILES[agent][0]], 5))
    if draw(st.integers(0, 5)) == 5:
        lines = draw(st.permutations(lines))
    return agent, draw(damaged(b"\n".join(as_json(line, escaped=draw(st.booleans())) for line in lines)))


@examples(8)
@given(st.lists(bent_file(), min_size=1, max_size=2), st.randoms(use_true_random=False))
async def test_what_is_imported_can_be_derived_replayed_and_read(
    files: list[tuple[str, bytes]], chance: Random
) -> None:
    """Every line that is not blank is counted; none stops the import."""
    mill = MILL.empty()
    for agent, data in files:
        read = await imported(mill, agent, data)
        assert read == sum(bool(line.strip()) for line in data.split(b"\n"))
    await mill.check(chance)


PRICES: list[Any] = [
    {
        "exact_lookups": [
            lookup("m"),
            lookup("n", list_rates=[list_rate(until=CHANGE), list_rate(CHANGE, rate=rate(2, cache_write_1h=4))]),
            lookup("o", list_rates=[list_rate(unpriced_reason="free preview")]),
        ],
        "published_at": "2026-07-01T00:00:00Z",
    },
    {
        "exact_lookups": [
            lookup("m", list_rates=[list_rate(rate=rate(3, long_context=[{"above_input_tokens": 10, **rate(6)}]))])
        ]
    },
]
USAGE = {"model": "m", "input_tokens": 900, "output_tokens": 80, "cache_creation_tokens": 2**40, "session.id": "s1"}


@examples(10)
@given(st.lists(bent(PRICES), min_size=1, max_size=3), st.randoms(use_true_random=False), st.data())
async def test_a_price_list_is_published_or_refused(documents: list[Any], chance: Random, data: st.DataObject) -> None:
    """By the command's route and from a file; requests are priced by what was taken, in a replay too."""
    mill = MILL.empty()
    for number, document in enumerate(documents):
        body = data.draw(damaged(as_json(document, escaped=False)))
        usage = USAGE | {"model": chance.choice(["m", "n", "o", "p"]), "prompt.id": f"p{number}"}
        assert (await mill.intake.post("/v1/logs", as_json(logs(claude("api_request", usage))))).status == 200
        if chance.random() < 0.5:
            assert await _published_by_route(mill, body) in (200, 201, 400)
        else:
            await _published_from_file(mill, body)
    await mill.check(chance)


async def _published_by_route(mill: Mill, body: bytes) -> int:
    wrapped = b'{"document":' + body + b',"source":"by hand"}'
    kind = {"Content-Type": "application/json"}
    return (await mill.admin.call("POST", "/v1/admin/control/catalog", wrapped, kind)).status


async def _published_from_file(mill: Mill, body: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "prices.json"
        await trio.to_thread.run_sync(path.write_bytes, body)
        try:
            command: PublishCatalog = await read_file(path)
        except NotRefreshed:
            return
    reply = await mill.change_catalog(command)
    assert not isinstance(reply, Refused) or reply.message


async def test_the_files_are_taken_as_they_stand() -> None:
    """Else there would be nothing to bend."""
    mill = MILL.empty()
    for agent, (lines, _) in FILES.items():
        known = len(mill.events)
        assert await imported(mill, agent, b"\n".join(as_json(line) for line in lines)) == len(lines)
        assert len(mill.events) > known + 3
    for document in PRICES:
        assert await _published_by_route(mill, as_json(document)) == 201
    await mill.check(Random(0))
