"""One work, told in any way: whichever files, imports and exports bring it, in any order and again, it counts the same.
A made-up work (any_split.txt) is written as an agent's files and as its telemetry, whole and in pieces."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate, count
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, UUID, uuid5
from zoneinfo import ZoneInfo

import trio
from hypothesis import Phase, given, settings, strategies as st
from msgspec import structs

from aggregates.capture.events import CapturePrompt, CaptureResponse, ResponseContent
from aggregates.event import Reply
from aggregates.prices.catalog import CatalogPublished
from aggregates.times import Window
from projections.scores.activity import files
from projections.sub_sessions.detail import prompt_rows, sub_session_detail
from projections.sub_sessions.listing import realtime
from projections.telemetry.usage import analytics
from svc.importing.importer import FORMATS, NEWEST_US
from tests.support import chats, rollouts, transcripts
from tests.support.catalogs import lookup, snapshot
from tests.support.facts import ANA, DIGESTER, Placed, project, reader
from tests.support.imported import SECOND, TEN_O_CLOCK_US, Actor, import_transcripts
from tests.support.otlp import log, logs, taken
from tests.support.tables import each_of, lines_of

LATER_US = TEN_O_CLOCK_US + 1_800 * SECOND + NEWEST_US
"""When some files began within the newest days, and others did not."""
SPLITS = os.environ.get("SVC_SPLITS")  # how many of each, made up anew; else a few, always the same
PHASES = tuple(Phase) if SPLITS else (Phase.generate,)  # who looks for faults has them made small
OTHER = "22222222-2222-4333-8444-555555555555"
CHAT = "x/chats/session-2026-03-02T10-00-7b8f1c2d.json"
MODELS = {"claude-code": "claude-opus-4-6", "codex": "gpt-5.6-terra", "gemini": chats.MODEL, "copilot": "gpt-5.1"}
SESSIONS = {"claude-code": transcripts.SESSION, "codex": rollouts.THREAD, "gemini": chats.SESSION, "copilot": OTHER}
SERVICES = {"claude-code": "claude-code", "codex": "codex_cli_rs", "gemini": "gemini-cli"}
TOLD = [(section, *line.split(" ", 2)) for section, line in lines_of(Path(__file__).with_name("any_split.txt"))]
WORDS = (
    *("Sort the orders by their date in src/orders.py, oldest first", "go on", "yes", "Why does the badge flicker?"),
    *("Rename Basket to Trolley everywhere and run the tests", "that does not work", "thanks, works", "also on phones"),
)


class Step(NamedTuple):
    """A response of the model, and the call that it asks for unless it is the last."""

    uncached: int
    read: int
    write: int
    output: int
    edits: bool
    ok: bool


class Asked(NamedTuple):
    text: str
    steps: Sequence[Step]
    pause_seconds: int  # before the next prompt


class Part(NamedTuple):
    """An export of the records of this number, or an import of so much of the files."""

    export: int | None = None
    share: float = 1.0
    quiet: bool = True  # whether the import comes when nothing was heard for long
    dies_at: int | None = None  # before so many commands are on disk
    grows: bool = False  # while it is read, to the whole
    twice: bool = False  # two imports at once


class Plan(NamedTuple):
    asked: Sequence[Asked]
    split: int  # so many turns stand in an earlier file
    exports: Sequence[Sequence[int]]
    parts: Sequence[Part]


def told(agent: str, how: str, work: Sequence[Asked]) -> list[list[tuple[float, dict[str, Any]]]]:
    """Each turn's lines or records, each with its second."""
    turns, spent = [], dict.fromkeys(("whole", "read", "write", "output"), 0)
    begins = accumulate((20 * len(each.steps) + each.pause_seconds for each in work), initial=10)
    for turn, (begun, asked) in enumerate(zip(begins, work, strict=False)):
        names: dict[str, Any] = {"turn": turn, "text": asked.text, "answer": f"Done with {turn}."}
        names |= {"session": SESSIONS[agent], "model": MODELS[agent], "path": f"/home/ana/shop/m{turn % 3}.py"}
        lines: list[tuple[float, dict[str, Any]]] = []
        for place, step in enumerate([None, *asked.steps]):
            occasions, names["name"] = ["prompt"], f"{turn}-{place}"
            if step is not None:
                names |= step._asdict() | {"whole": step.uncached + step.read + (agent != "gemini") * step.write}
                spent = {name: total + names[name] for name, total in spent.items()}
                names |= {f"total_{name}": total for name, total in spent.items()}
                names |= {"ok": json.dumps(step.ok), "failed": json.dumps(not step.ok), "code": int(not step.ok)}
                names["status"] = "success" if step.ok else "error"
                last = place == len(asked.steps)
                occasions = ["response", *(["answer"] if last else ["call", "edit" if step.edits else "shell"])]
            found = [
                (begun + 20 * place + int(after), filled(line, names))
                for section, occasion, after, line in TOLD
                if section == f"{agent} {how}" and occasion in occasions
            ]
            lines += sorted(found, key=lambda each: each[0])
        turns.append(lines)
    return turns


def filled(line: str, names: dict[str, Any]) -> dict[str, Any]:
    for name in sorted(names, key=len, reverse=True):
        line = line.replace(f"${name}", str(names[name]))
    found: dict[str, Any] = json.loads(line)
    return found


def written(agent: str, plan: Plan) -> dict[str, bytes]:
    """The agent's files, in the order in which they came to be; where it splits a session, two of them."""
    turns = [
        [line | {"timestamp": transcripts.at(at)} for at, line in turn] for turn in told(agent, "file", plan.asked)
    ]
    before, after = ([line for turn in some for line in turn] for some in (turns[: plan.split], turns[plan.split :]))
    match agent:
        case "claude-code" if before:  # resumed by a version that copies what was said
            copies = [each | {"uuid": f"copy-{each['uuid']}"} for each in before]
            later = [each | {"sessionId": OTHER} for each in (*copies, *after)]
            return {f"p/{transcripts.SESSION}.jsonl": rollouts.raw(before), f"p/{OTHER}.jsonl": rollouts.raw(later)}
        case "codex" if before and after:  # a thread in two segments
            first = [each | {"ordinal": number} for number, each in enumerate([rollouts.meta(), *before])]
            base: dict[str, Any] = {"history_base": {"thread_id": rollouts.THREAD, "end_ordinal_exclusive": len(first)}}
            more = [rollouts.meta(3_600, **base), *after]
            second = [each | {"ordinal": number} for number, each in enumerate(more, len(first))]
            name = f"rollout-2026-03-02T10-00-00-{rollouts.THREAD}"
            return {f"{name}.jsonl": rollouts.raw(first), f"{name}_{OTHER}.jsonl": rollouts.raw(second)}
        case "gemini" if before:  # carried on by a newer version
            newest = {each["id"]: each for each in before}
            return {CHAT: chats.document(newest.values()), f"{CHAT}l": chats.lines(*before, *after)}
        case "claude-code":
            return {f"p/{transcripts.SESSION}.jsonl": rollouts.raw(after)}
        case "codex":
            return {
                f"rollout-2026-03-02T10-00-00-{rollouts.THREAD}.jsonl": rollouts.raw([rollouts.meta(), *before, *after])
            }
        case "gemini":
            return {f"{CHAT}l": chats.lines(*after)}
        case _:
            begun = [
                {"type": f"session.{how}", "id": how, "timestamp": transcripts.at(0), "data": {"sessionId": OTHER}}
                for how in ("start", "resume")
            ]
            return {f"{OTHER}/events.jsonl": rollouts.raw([begun[0], *before, begun[1], *after])}


def exported(agent: str, work: Sequence[Asked]) -> list[dict[str, Any]]:
    found = []
    for number, turn in enumerate(told(agent, "telemetry", work), 1):
        for at, attributes in turn:
            nano = str(round((TEN_O_CLOCK_US + at * SECOND + 40_000) * 1_000))
            trace = f"{number:032x}" if agent == "codex" and "sse_event" not in attributes["event.name"] else ""
            found.append(log(attributes, timeUnixNano=nano, traceId=trace))
    return found


def hooked(agent: str, work: Sequence[Asked]) -> list[tuple[CapturePrompt, CaptureResponse]]:
    """A prompt and its answer, as hooks capture them."""
    found = []
    for turn, lines in enumerate(told(agent, "file", work)):
        at_us, until_us = (TEN_O_CLOCK_US + round(at * SECOND) for at in (lines[0][0], lines[-1][0]))
        named: dict[str, Any] = {**structs.asdict(ANA), "prompt_id": uuid5(NAMESPACE_OID, f"{turn}")}
        asked: dict[str, Any] = {"agent_session_id": SESSIONS[agent], "source": agent, "text": work[turn].text}
        host = f"p{turn}" if agent == "claude-code" else None
        prompt = CapturePrompt(**named, **asked, submitted_at_us=at_us, host_prompt_id=host)
        content = ResponseContent(response_text=f"Done with {turn}.", elapsed_ms=(until_us - at_us) / 1_000)
        response = CaptureResponse(**named, content=content, response_operation_id=f"{turn}", responded_at_us=until_us)
        found.append((prompt, response))
    return found


class Died(Exception):
    """The importer's process, as far as the server knows."""


class Delivery:
    """A server, and the agent's files and records on their way to it."""

    def __init__(self, folder: Path, agent: str, plan: Plan) -> None:
        self.folder, self.agent = folder, agent
        self.actor = Actor(LATER_US, DIGESTER)
        self.records: list[Any] = [*exported(agent, plan.asked), *hooked(agent, plan.asked)] if plan.exports else []
        self.content = written(agent, plan)

    async def brings(self, exports: Sequence[Sequence[int]], parts: Sequence[Part]) -> list[Placed]:
        for part in parts:
            if part.export is not None:
                await self._exports([self.records[number] for number in exports[part.export]])
                continue
            self._write(part.share)
            async with trio.open_nursery() as nursery:
                for _ in range(2 if part.twice else 1):
                    nursery.start_soon(self._imports, part)
        prices = snapshot(*(lookup(model) for model in MODELS.values()))
        events = [CatalogPublished(received_at_us=1, source="test", snapshot=prices), *self.actor.events]
        return [Placed(number, event) for number, event in enumerate(events, 1)]

    def _write(self, share: float) -> None:
        left = round(sum(map(len, self.content.values())) * share)
        for name, data in self.content.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(data[:left])
            left = max(0, left - len(data))

    async def _exports(self, records: Sequence[Any]) -> None:
        logged = [each for each in records if isinstance(each, dict)]
        commands = taken(logs(*logged, service=SERVICES[self.agent])).commands if logged else ()
        for command in (*commands, *(part for each in records if isinstance(each, tuple) for part in each)):
            await self.actor.send(command)

    async def _imports(self, part: Part) -> None:
        so_far = count()

        async def send(command: Any) -> Reply:
            if next(so_far) == part.dies_at:
                raise Died
            if part.grows:
                self._write(1.0)
            return await self.actor.send(command)

        means: dict[str, Any] = {"scope": ANA, "digester": DIGESTER}
        means["now_us"] = LATER_US if part.quiet else TEN_O_CLOCK_US
        with suppress(Died):
            report = await import_transcripts(FORMATS[self.agent], self.folder, send, lambda *_: None, **means)
            assert report.refused == []


def figures(facts: list[Placed]) -> dict[str, Any]:
    db = project(facts)
    assert db.execute("SELECT * FROM failed").fetchall() == []
    views, window = reader(db, facts), Window(0, 2 * LATER_US)
    goals = [UUID(goal.sub_session_id) for goal in realtime(views, ANA, 500, 0, None, None)]
    rows = [row for goal in goals for row in prompt_rows(views, ANA, goal, 500, 0) or ()]
    used, touched = analytics(views, ANA, window, ZoneInfo("UTC")), files(views, ANA, window, 500, 0)
    verdict = attrgetter(
        *("turns", "floor", "goal_complete", "intent_class", "letter_grade", "rework", "cost_usd", "total_tokens")
    )
    return {
        "prompts": [(row.prompt_text, row.response_text) for row in sorted(rows, key=lambda row: row.submitted_at)],
        "used": sorted(map(structs.astuple, used.models), key=str),
        "tools": sorted((each.name, each.calls, each.errors) for each in used.tools),
        "files": sorted((each.path, each.edits, each.lines_added, each.lines_removed) for each in touched),
        "goals": sorted((verdict(sub_session_detail(views, ANA, goal)) for goal in goals), key=str),
    }


def summed(found: dict[str, Any]) -> dict[str, Any]:
    """What was made up, as far as it is a number."""
    kinds = {"used": (5, 6, 7, 8, 9), "tools": (1, 2), "files": (1, 2, 3)}
    return {kind: [sum(each[place] or 0 for each in found[kind]) for place in places] for kind, places in kinds.items()}


def made_up(agent: str, work: Sequence[Asked]) -> dict[str, Any]:
    steps = [step for each in work for step in each.steps]
    calls = [step for each in work for step in each.steps[:-1]]
    edits = sum(step.edits and step.ok for step in calls)
    tokens = [sum(kinds) for kinds in zip(*(step[:4] for step in steps), strict=True)]
    output = tokens[3] + (7 * len(steps) if agent == "gemini" else 0)
    return {
        "used": [len(steps), tokens[0], output, tokens[1], 0 if agent == "gemini" else tokens[2]],
        "tools": [len(calls), sum(not step.ok for step in calls)],
        "files": [edits, 2 * edits, edits],
    }


COUNTS = st.integers(0, 9_000)
STEPS = st.builds(Step, COUNTS, COUNTS, COUNTS, st.integers(1, 5_000), st.booleans(), st.booleans())
PAUSES = st.sampled_from((9, 400, 4_000))
ASKED = st.builds(Asked, st.sampled_from(WORDS), st.lists(STEPS, min_size=1, max_size=3), PAUSES)
MAYBE = st.integers(0, 9).map(lambda number: number == 9)
IMPORTS = st.builds(
    Part,
    export=st.none(),
    share=st.floats(0, 1),
    quiet=st.booleans(),
    dies_at=st.none() | st.integers(0, 12),
    grows=MAYBE,
    twice=MAYBE,
)


@st.composite
def plans(draw: st.DrawFn, agent: str, live: bool) -> Plan:
    work = draw(st.lists(ASKED, min_size=1, max_size=4))
    where = [draw(st.integers(0, 2)) for _ in (*exported(agent, work), *work)] if live else []
    exports = [[number for number, place in enumerate(where) if place == each] for each in range(3 * live)]
    again = draw(st.lists(IMPORTS | st.builds(Part, export=st.integers(0, 2)) if live else IMPORTS, max_size=4))
    parts = draw(st.permutations([Part(), *(Part(export=each) for each in range(len(exports))), *again]))
    return Plan(work, draw(st.integers(0, len(work))), exports, parts)


WAYS = [(agent, live) for agent in MODELS for live in (False, True) if agent in SERVICES or not live]


def check(agent: str, plan: Plan) -> None:
    def shown(exports: Sequence[Sequence[int]], parts: Sequence[Part]) -> dict[str, Any]:
        with TemporaryDirectory() as folder:
            return figures(trio.run(Delivery(Path(folder), agent, plan).brings, exports, parts))

    everything = [sorted(number for each in plan.exports for number in each)] if plan.exports else []
    whole = shown(everything, [*(Part(export=0) for _ in everything), Part()])
    assert whole["prompts"] == [(each.text, f"Done with {turn}.") for turn, each in enumerate(plan.asked)]
    assert summed(whole) == made_up(agent, plan.asked)
    assert shown(plan.exports, plan.parts) == whole


@each_of(WAYS)
def test_what_is_told_in_pieces_counts_as_what_is_told_whole(agent: str, live: bool) -> None:
    @settings(max_examples=int(SPLITS or 6), derandomize=SPLITS is None, phases=PHASES)
    @given(plan=plans(agent, live))
    def holds(plan: Plan) -> None:
        check(agent, plan)

    holds()
