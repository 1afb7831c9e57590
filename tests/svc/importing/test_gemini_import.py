"""Importing the Gemini CLI's session files, in both of their forms, and the same figures counted another way."""

from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import Digester, Scope, cut
from aggregates.records.record import Record
from aggregates.telemetry.exchanges import Exchange
from svc.importing.exchange import Memory
from svc.importing.gemini import SessionReader
from svc.importing.here import import_transcripts
from svc.importing.importer import FORMATS, QUIET_US, ImportReport
from tests.support.captures import Actor
from tests.support.chats import (
    MODEL,
    SESSION,
    call,
    document,
    exchange,
    head,
    lines,
    message,
    said,
    tokens,
    user,
    write,
)
from tests.support.log import ANA, named
from tests.support.transcripts import at

TEN_O_CLOCK_US = 1_772_445_600_000_000
NEXT_DAY_US = TEN_O_CLOCK_US + 86_400_000_000
SECOND = 1_000_000
DOCUMENT = "session-2026-03-02T10-00-7b8f1c2d.json"


async def run(path: Path, actor: Actor, *, now_us: int = NEXT_DAY_US) -> ImportReport:
    """An import by Ana."""
    scope = Scope(named("acme"), ANA)
    return await import_transcripts(
        FORMATS["gemini"], path, actor.send, lambda _: None, scope=scope, digester=Digester(b"key"), now_us=now_us
    )


def read(*entries: dict[str, Any] | bytes, seen: Memory | None = None) -> list[Exchange]:
    """The exchanges of one file of lines."""
    return list(
        SessionReader(Path("stem.jsonl"), "s.jsonl", seen or Memory()).read(lines(*entries).splitlines(keepends=True))
    )


def records(exchanges: list[Exchange], *kinds: str) -> list[Record]:
    """The records of some kinds."""
    return [draft.record for each in exchanges for draft in each.drafts if draft.record.kind in kinds]


def captured(actor: Actor) -> dict[str, Record]:
    """Every record that was taken, by its session and id."""
    batches = [event for event in actor.events if isinstance(event, RecordsCaptured)]
    return {f"{batch.agent_session_id} {each.record_id}": each for batch in batches for each in batch.records}


def told(actor: Actor) -> list[Any]:
    """Prompts and answers, whenever they were taken."""
    prompts = [(e.prompt_id, e.prompt.text) for e in actor.events if isinstance(e, PromptCaptured)]
    answers = [(e.prompt_id, e.response and e.response.text) for e in actor.events if isinstance(e, PromptAnswered)]
    return sorted(prompts, key=str) + sorted(answers, key=str)


FORMS = pytest.mark.parametrize(
    ("name", "content"),
    [(DOCUMENT, document(exchange(10))), (f"{DOCUMENT}l", lines(*exchange(10)))],
    ids=["document", "lines"],
)


@FORMS
async def test_an_exchange_becomes_prompt_response_and_records(tmp_path: Path, name: str, content: bytes) -> None:
    """The same from the document of older versions as from the lines of newer ones."""
    actor = Actor()
    write(tmp_path, content, name)
    report = await run(tmp_path, actor)
    (prompt,) = (each for each in actor.events if isinstance(each, PromptCaptured))
    assert (prompt.prompt.text, prompt.agent_session_id, prompt.source) == (
        "fix the login",
        SESSION,
        "gemini-transcript",
    )
    (answer,) = (each for each in actor.events if isinstance(each, PromptAnswered))
    assert answer.response is not None
    assert (answer.response.text, answer.elapsed_ms) == ("Fixed 1.", 6000)
    batch = [each for each in actor.events if isinstance(each, RecordsCaptured)][-1]
    edit, shell = (record for record in batch.records if record.kind == "tool")
    assert (cut(batch.words, edit.path), edit.ok, edit.lines_added, edit.lines_removed) == (
        "/home/ana/shop/login.py",
        True,
        2,
        1,
    )
    assert (cut(batch.words, shell.command), shell.ok) == ("pytest -q", False)
    requests = [record for record in batch.records if record.kind == "request"]
    assert {(r.model, r.input_tokens, r.cache_read_tokens, r.output_tokens, r.cost_usd_nano) for r in requests} == {
        (MODEL, 400, 600, 50, None)
    }
    assert (report.prompts, report.responses, report.requests, report.tool_calls) == (1, 1, 3, 2)
    assert (report.torn, report.refused) == ([], [])


@FORMS
async def test_running_it_twice_adds_nothing(tmp_path: Path, name: str, content: bytes) -> None:
    """Every id comes from a message's own."""
    actor = Actor()
    write(tmp_path, content, name)
    first = await run(tmp_path, actor)
    second = await run(tmp_path, actor)
    assert (second.created, second.known, second.prompts) == (0, first.created, 1)


async def test_a_document_that_was_carried_on_as_lines_counts_once(tmp_path: Path) -> None:
    """A newer version that resumes an older session copies it, and leaves the document where it is."""
    actor = Actor()
    write(tmp_path, document(exchange(10)), DOCUMENT)
    first = await run(tmp_path, actor)
    write(tmp_path, lines(*exchange(10), *exchange(60, "thanks", 2)))
    second = await run(tmp_path, actor)
    assert (second.prompts, second.requests, second.known) == (2, 6, first.created)
    assert (await run(tmp_path, actor)).created == 0


async def test_the_last_exchange_is_left_until_it_is_quiet_or_another_follows(tmp_path: Path) -> None:
    """Nothing in the file says that the agent is done."""
    actor = Actor()
    write(tmp_path, lines(*exchange(10)))
    just_then = TEN_O_CLOCK_US + 16 * SECOND
    early = await run(tmp_path, actor, now_us=just_then + 1)
    assert (early.prompts, early.responses, early.unfinished) == (1, 0, 1)
    assert (await run(tmp_path, actor, now_us=just_then + QUIET_US)).responses == 1


def test_a_message_that_is_written_again_is_one() -> None:
    """First without its tokens and calls, then with them."""
    start = said("g1", 1, "")
    del start["tokens"]
    running = {**start, "toolCalls": [call("c1", "read_file", 2, "executing", absolute_path="/a.py")]}
    done = said("g1", 1, "", call("c1", "read_file", 3, absolute_path="/a.py"))
    found = read(user("u1", 0, "go"), start, {"$set": {"lastUpdated": at(1)}}, running, done)
    assert [r.output_tokens for r in records(found, "request")] == [50]
    assert [r.ok for r in records(found, "tool")] == [True]


@pytest.mark.parametrize(
    ("status", "kind", "ok"),
    [
        ("success", "tool", True),
        ("error", "tool", False),
        ("cancelled", "rejection", None),
        ("executing", "tool", None),
        ("awaiting_approval", "tool", None),
        ("of tomorrow", "tool", None),
    ],
)
def test_a_call_is_what_its_status_says(status: str, kind: str, ok: bool | None) -> None:
    """One that has not ended has no outcome."""
    found = read(user("u1", 0, "go"), said("g1", 1, "", call("c1", "write_file", 2, status, content="a\nb")))
    (record,) = records(found, "tool", "rejection")
    assert (record.kind, record.ok, record.lines_added) == (kind, ok, 2 if ok else None)


def test_a_request_without_tokens_is_not_guessed() -> None:
    """Which response they belonged to is not known."""
    (found,) = read(user("u1", 0, "go"), said("g1", 1, "Hi.", tokens=None))[-1:]
    assert found.answer is not None
    assert records([found], "request") == []


def test_cached_tokens_are_part_of_the_input_and_thoughts_are_output() -> None:
    """As telemetry counts them."""
    found = read(user("u1", 0, "go"), said("g1", 1, "Hi.", tokens=tokens(100, 0, 7, 3)))
    assert [(r.input_tokens, r.cache_read_tokens, r.output_tokens) for r in records(found, "request")] == [(100, 0, 10)]


def test_a_cancelled_request_is_an_interruption_and_ends_its_exchange() -> None:
    """What comes after it stands apart."""
    *_, cancelled, after = read(
        user("u1", 0, "go"), message("info", "i1", 2, "Request cancelled."), said("g1", 3, "late")
    )
    assert [r.kind for r in records([cancelled], "interruption")] == ["interruption"]
    assert cancelled.finished
    assert after.prompt is None


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("[API Error: quota exceeded (Status: RESOURCE_EXHAUSTED)]", None),
        ("[API Error: 429 Too Many Requests]", 429),
    ],
)
def test_an_error_of_the_api_is_a_failed_request(text: str, status: int | None) -> None:
    """Another error is none."""
    other = message("error", "e2", 3, "Extension not found")
    found = read(user("u1", 0, "go"), message("error", "e1", 2, text), other)
    assert [r.status_code for r in records(found, "error")] == [status]


@pytest.mark.parametrize(
    "content",
    [
        "<state_snapshot>so far</state_snapshot>",
        [{"text": "This is the Gemini CLI. We are setting up the context for our chat. Today is"}],
        [{"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "x"}}}],
        "System: Please continue.",
        "",
    ],
)
def test_what_the_agent_put_in_is_no_prompt(content: Any) -> None:
    """A person typed none of it."""
    assert [each.prompt for each in read(user("u1", 0, content)) if each.prompt] == []


def test_the_agents_own_going_on_is_no_prompt_and_a_persons_is() -> None:
    """It comes at once."""
    found = read(
        user("u1", 0, "go"),
        said("g1", 5, "Half."),
        user("u2", 5.5, "Please continue."),
        said("g2", 9, "Rest."),
        user("u3", 60, "Please continue."),
    )
    assert [each.prompt.text for each in found if each.prompt] == ["go", "Please continue."]


def test_a_prompt_is_what_was_typed_and_not_the_files_that_were_put_into_it() -> None:
    """Telemetry tells of the same text."""
    sent = [{"text": "look at @a.py"}, {"text": "--- Content from referenced files ---"}]
    (found,) = read(user("u1", 0, sent, displayContent=[{"text": "look at @a.py"}]))[-1:]
    assert found.prompt is not None
    assert found.prompt.text == "look at @a.py"


def test_a_rewind_and_a_compression_take_nothing_back() -> None:
    """The tokens are spent; the messages that stand for shortened ones are none of their own."""
    shortened = [user("s1", 0, "<state_snapshot>"), said("s2", 0, "Got it.")]
    found = read(*exchange(10), {"$rewindTo": "u1"}, {"$set": {"messages": shortened}}, *exchange(100, "once more", 2))
    assert len(records(found, "request")) == 6
    assert [each.prompt.text for each in found if each.prompt] == ["fix the login", "once more"]


async def test_a_sub_agents_work_belongs_to_its_parents_session(tmp_path: Path) -> None:
    """As in telemetry; what it was told is no prompt."""
    actor = Actor()
    write(tmp_path, lines(*exchange(10)))
    child = lines(user("s1", 12, "look"), said("s2", 13, "Seen."), session="sub-1", kind="subagent")
    write(tmp_path, child, f"{SESSION}/sub-1.jsonl")
    report = await run(tmp_path, actor)
    assert (report.files, report.prompts, report.requests) == (2, 1, 4)
    assert captured(actor)[f"{SESSION} request:s2"].sidechain


@pytest.mark.parametrize(
    ("torn", "reason"),
    [
        (b'{"id":"x","timestamp":"2026-03', "truncated"),
        (b"not json\n", "malformed"),
        (b"[1]\n", "object"),
        (b'{"id":"x","type":"user","content":"y"}\n', "timestamp"),
        (b'{"id":"x","type":"user","timestamp":"soon","content":"y"}\n', "soon"),
        (b'{"id":"x","type":"gemini","timestamp":"2026-03-02T10:00:00Z","tokens":{"input":-1}}\n', "tokens.input"),
    ],
)
def test_a_torn_line_is_named_and_the_others_are_used(torn: bytes, reason: str) -> None:
    """By its number."""
    reader = SessionReader(Path("stem.jsonl"), "s.jsonl", Memory())
    whole = [lines(user("u1", 0, "one")), torn, *([lines(user("u2", 9, "two"))] if torn.endswith(b"\n") else [])]
    found = list(reader.read(b"".join(whole).splitlines(keepends=True)))
    assert [each.prompt.text for each in found if each.prompt] == ["one", "two"][: len(whole) - 1]
    (named_one,) = reader.torn
    assert named_one.line == 3
    assert reason in named_one.reason


async def test_an_unreadable_message_of_a_document_is_named_and_the_others_are_used(tmp_path: Path) -> None:
    """Its messages are what lines are elsewhere."""
    actor = Actor()
    write(tmp_path, document([*exchange(10), {"id": 5}, *exchange(60, "thanks", 2)]), DOCUMENT)
    report = await run(tmp_path, actor)
    assert (report.prompts, report.lines, [each.line for each in report.torn]) == (2, 9, [5])


@pytest.mark.parametrize("other", [{"$rewindTo": "u1"}, {"of": "tomorrow"}, {"$set": {"summary": "x"}}, head("stem")])
def test_lines_without_meaning_here_are_read_and_left(other: dict[str, Any]) -> None:
    """They are neither torn nor counted as anything but the session's beginning."""
    reader = SessionReader(Path(f"{SESSION}.jsonl"), "s.jsonl", Memory())
    found = list(reader.read(lines(other).splitlines()))
    assert records(found, "request", "tool") == []
    assert (reader.lines, reader.torn) == (2, [])


async def test_other_files_of_the_agent_are_left_alone(tmp_path: Path) -> None:
    """Its log of prompts repeats what the sessions hold."""
    write(tmp_path, b"[]", "../logs.json")
    write(tmp_path, b"{}", "notes.md")
    assert (await run(tmp_path, Actor())).files == 0


CUT = {
    f"{DOCUMENT}l": lines(*exchange(10), *exchange(100, "and the logout", 2)),
    DOCUMENT: document([*exchange(10), *exchange(100, "and the logout", 2)]),
}


@pytest.mark.parametrize("name", list(CUT))
@settings(max_examples=40)
@given(part=st.floats(0, 1))
def test_a_file_cut_anywhere_says_nothing_false_and_the_next_run_completes_it(
    tmp_path_factory: pytest.TempPathFactory, name: str, part: float
) -> None:
    """While its session runs, as the agent writes it."""
    folder, whole = tmp_path_factory.mktemp("cut"), CUT[name]

    async def import_both() -> None:
        at_once, in_two = Actor(), Actor()
        write(folder, whole, name)
        await run(folder, at_once)
        write(folder, whole[: int(part * len(whole))], name)
        await run(folder, in_two, now_us=TEN_O_CLOCK_US + 110 * SECOND)
        assert captured(in_two).items() <= captured(at_once).items()
        write(folder, whole, name)
        report = await run(folder, in_two)
        assert captured(in_two) == captured(at_once)
        assert told(in_two) == told(at_once)
        assert report.refused == []

    trio.run(import_both)


async def test_an_independent_count_agrees(tmp_path: Path) -> None:
    """Prompts, calls and tokens as plain loops over the messages find them."""
    messages = [each for n in range(1, 6) for each in exchange(100 * n, f"do {n}", n)]
    write(tmp_path, lines(*messages))
    report = await run(tmp_path, Actor())
    spent = [each["tokens"] for each in messages if each["type"] == "gemini"]
    assert report.prompts == sum(each["type"] == "user" for each in messages)
    assert report.tool_calls == sum(len(each.get("toolCalls", ())) for each in messages)
    assert report.requests == len(spent)
    assert report.tokens.input_tokens == sum(each["input"] - each["cached"] for each in spent)
    assert report.tokens.cache_read_tokens == sum(each["cached"] for each in spent)
    assert report.tokens.output_tokens == sum(each["output"] + each["thoughts"] for each in spent)
