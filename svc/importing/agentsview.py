"""AgentsView's archive: the sessions of some fifty agents, which it gathers into one SQLite file.

The file is only read, also while its own program writes. Its columns differ between its versions: those that are
missing are named, and what they would tell is unknown.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from aggregates import REVIEW_MARK
from aggregates.capture.events import GATHERED
from aggregates.event import Mendable
from aggregates.records.record import OF_SUB_AGENT, USD_MAX, Count
from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.agents import SYNTHETIC_MODEL, call_arguments, called
from aggregates.telemetry.draft import Exchange, TypedPrompt, beside
from aggregates.telemetry.otlp import json_object
from aggregates.telemetry.outcomes import tool_outcome
from svc.importing.claude_code import REJECTED
from svc.importing.claude_lines import as_typed
from svc.importing.exchange import Found, Memory, Reader, ToolCall, TornLine, microseconds, note
from svc.importing.lines import fitted

CLAUDE_CODE = "claude-code"
READ_ITSELF = (CLAUDE_CODE, "codex", "gemini", "copilot")
HEARD = (*READ_ITSELF, "opencode", "visualstudio-copilot")
_NO_OTHERS = re.compile(r"[\w-]{16,}")  # a name that no other machine gives to a session
_BUSY_SECONDS = 10.0
_PARENTS_MAX = 8
_REPORTED = ("", "reported", "actual")  # any other cost is AgentsView's own reckoning
_TOOLS = {"Edit": "edit", "Write": "write", "Bash": "bash", "Read": "read", "Grep": "grep", "Glob": "glob"}
_PRINTED = "tool_result"  # by aider, in an assistant's place
_THOUGHTS = re.compile(r"\[Thinking\]\n.*?(?:\[/Thinking\]\n?|\Z)", re.DOTALL)
_CALLED = re.compile(r"^\[[A-Z][\w ]*(?:: [^\n]*)?\]$.*", re.DOTALL | re.MULTILINE)  # how calls are shown among words


class NoArchive(Mendable):
    """The file is not what AgentsView writes, or it is damaged."""


class Session(msgspec.Struct, frozen=True):
    id: str
    agent: str
    source_session_id: str | None = None
    cwd: str | None = None
    machine: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    created_at: str | None = None
    parent_session_id: str | None = None
    relationship_type: str | None = None
    is_automated: int | None = None
    transcript_revision: str | int | None = None
    deleted_at: str | None = None

    @property
    def source(self) -> str:
        return CLAUDE_CODE if self.agent == "claude" else self.agent

    @property
    def begins_us(self) -> int:
        return min(filter(None, map(_known_us, (self.started_at, self.created_at))), default=0)

    @property
    def by_agent(self) -> bool:
        """Whether it works for another session, whose cost is its own."""
        goes_on = self.relationship_type in ("continuation", "fork") or self.parent_session_id == self.id
        return bool(self.parent_session_id) and not goes_on

    @property
    def agent_session(self) -> str:
        """As svc hears it from the agent; of any other agent a name that is nobody else's."""
        own = self.id.removeprefix(f"{self.agent}:")
        if self.source == CLAUDE_CODE:
            return self.source_session_id or own
        if self.agent in HEARD:
            return own.partition("_")[0] if self.agent == "codex" else own  # a thread of Codex may be many files
        return self.id if _NO_OTHERS.search(own) or not self.machine else f"{self.id}@{self.machine}"


def _table(name: str, needed: str, texts: str, counts: str = "") -> Any:
    """Rows of a table, with the columns that are read; without those needed there are no rows."""
    fields: list[Any] = [(each, str | int) for each in needed.split()]
    fields += [(each, str | None, None) for each in texts.split()]
    return msgspec.defstruct(name, fields + [(each, Count | None, None) for each in counts.split()], frozen=True)


Message = _table(
    *("messages", "session_id id ordinal role content"),
    "dialogue_text timestamp model token_usage claude_message_id claude_request_id source_subtype source_uuid "
    "prompt_source",
    "is_system is_sidechain",
)
Call = _table(
    *("tool_calls", "message_id tool_name"),
    "category tool_use_id input_json file_path result_content subagent_session_id",
    "call_index",
)
Result = _table(
    *("tool_result_events", "session_id tool_call_message_ordinal call_index"),
    "status content timestamp",
    "event_index",
)
Usage = _table(
    *("usage_events", "session_id id", "source model cost_status occurred_at dedup_key"),
    "input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens cost_microdollars",
)
_TABLES = {"sessions": Session, **{kind.__name__: kind for kind in (Message, Call, Result, Usage)}}


class Archive:
    """Raises `NoArchive`, as all that reads it."""

    def __init__(self, file: Path) -> None:
        self.file = file = file / "sessions.db" if file.is_dir() else file
        self.missing: list[TornLine] = []  # columns, by name
        self._selects: dict[str, str] = {}  # by table, where it can be read
        self.read: dict[str, tuple[object, int]] = {}
        """By session its revision, unless something may go on, and until when it was read."""
        self._known: dict[str, Session] = {}
        self._family = frozenset[str]()  # those that have a parent, and the parents
        if not file.is_file():
            raise NoArchive(f"there is no file {file}: AgentsView makes it, or name another")
        with self.opened() as db:
            for table, kind in _TABLES.items():
                there = {row["name"] for row in db.execute(f"PRAGMA table_info({table})")}
                fields = msgspec.structs.fields(kind)
                gone = [field for field in fields if field.name not in there]
                needed = ", ".join(field.name for field in gone if field.required)
                if needed and table in ("sessions", "messages"):
                    raise NoArchive(f"{file} is no archive of AgentsView: its table {table} lacks {needed}")
                if gone:
                    lacks = f"its table {table} lacks {', '.join(field.name for field in gone)}"
                    self.missing.append(TornLine(str(file), 0, f"{lacks}: what they would tell is unknown"))
                if not needed:
                    columns = ", ".join(field.name for field in fields if field not in gone)
                    self._selects[table] = f"SELECT {columns} FROM {table} "
            (page_bytes,), (pages,) = (db.execute(f"PRAGMA {told}").fetchone() for told in ("page_size", "page_count"))
            # While a checkpoint is written it may be short for a moment.
            is_short = file.stat().st_size < page_bytes * pages
            if is_short and db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise NoArchive(f"{file} is cut off: copy it again, while AgentsView does not run")

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """One read transaction; whoever writes meanwhile is neither seen nor hindered."""
        try:
            uri = f"{self.file.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, timeout=_BUSY_SECONDS, uri=True, check_same_thread=False)) as db:
                db.isolation_level, db.row_factory = None, sqlite3.Row
                db.execute("BEGIN")
                yield db
        except sqlite3.Error as error:
            told = f"{self.file} cannot be read as AgentsView's archive: {error}"
            raise NoArchive(f"{told}; name its sessions.db, or let AgentsView mend it") from error

    def rows(self, db: sqlite3.Connection, table: str, where: str = "", *values: object) -> Iterator[dict[str, Any]]:
        if table in self._selects:
            yield from map(dict, db.execute(self._selects[table] + where, values))

    def chosen(
        self, agent: str | None, since: datetime | None, *, every: bool, quiet_before_us: int
    ) -> dict[str, list[Found]]:
        """By agent what was not read before; agents that svc reads itself only where they are asked for.

        Originals stand before what was forked from them, and sub-agents' sessions last.
        """
        with self.opened() as db:
            found = [msgspec.convert(row, Session, strict=False) for row in self.rows(db, "sessions")]
        found.sort(key=lambda each: (each.by_agent, bool(each.parent_session_id), each.begins_us, each.id))
        self._known = {each.id: each for each in found}
        families = ((each.id, parent.id) for each in found if (parent := self._parent_of(each)))
        self._family = frozenset(name for family in families for name in family)
        by_agent, from_us = dict[str, list[Found]](), 0 if since is None else int(since.timestamp() * 1_000_000)
        for each in found:
            wanted = agent in (each.agent, each.source) if agent else every or each.source not in READ_ITSELF
            wanted = wanted and not each.deleted_at and (_known_us(each.ended_at) or each.begins_us) >= from_us
            revision, _ = self.read.get(each.id, (None, 0))
            if wanted and (revision is None or revision != each.transcript_revision):
                opened = partial(self._open, each, quiet_before_us)
                by_agent.setdefault(each.source, []).append(Found(each.id, opened))
        return dict(sorted(by_agent.items()))

    def _open(self, session: Session, quiet_before_us: int, seen: Memory) -> tuple[Reader, Iterator[Exchange]] | None:
        if REVIEW_MARK in (session.cwd or ""):
            return None
        root = session
        for _ in range(_PARENTS_MAX):
            root = (root.by_agent and self._parent_of(root)) or root
        # What stands alone repeats nothing of others, and is forgotten when it is read.
        seen = seen if session.id in self._family else Memory()
        reader = SessionReader(self, session, root.agent_session, seen)
        return reader, self._unread(session, reader.exchanges(), quiet_before_us)

    def _parent_of(self, session: Session) -> Session | None:
        """Named by its id, or as Pi's is, by its file."""
        named = session.parent_session_id or ""
        return self._known.get(named) or self._known.get(f"{session.agent}:{named.rpartition('_')[2]}")

    def _unread(self, session: Session, exchanges: Iterator[Exchange], quiet_before_us: int) -> Iterator[Exchange]:
        """What came after that which was read before; noted only when all of it was taken."""
        _, before_us = self.read.get(session.id, (None, -1))
        until_us, revision = 0, session.transcript_revision
        for exchange in exchanges:
            quiet = exchange.finished or exchange.last_us <= quiet_before_us
            until_us, revision = (exchange.last_us, revision) if quiet else (until_us, None)
            if exchange.last_us > before_us:
                yield exchange
        self.read[session.id] = revision, until_us


class SessionReader(Reader):
    def __init__(self, archive: Archive, session: Session, agent_session: str, seen: Memory) -> None:
        super().__init__(Path(session.id), session.id, seen)
        self._archive, self._row, self._session = archive, session, agent_session
        self._source = session.source
        self._last_us = session.begins_us  # of what has no time the order alone is known
        self._tells_usage = False
        self._handed = set[object]()  # what sub-agents were told, which Copilot's archive shows as a person's words
        self._rows: Callable[..., Iterator[dict[str, Any]]]

    def exchanges(self) -> Iterator[Exchange]:
        with self._archive.opened() as db:
            self._rows = partial(self._archive.rows, db)
            sums = _whole_sums(self._rows("usage_events", "WHERE session_id = ? ORDER BY id", self._row.id))
            of_it = "WHERE session_id = ? ORDER BY ordinal", self._row.id
            self._tells_usage = bool(sums) or any(row.get("token_usage") for row in self._rows("messages", *of_it))
            for row in chain(self._rows("messages", *of_it), sums):
                self.lines += 1
                try:
                    self._line(row, self.lines)
                except (ValueError, RecursionError) as error:
                    self._tear(self.lines, error, row)
                while self._done:
                    yield self._done.popleft()
            self._cut(finished=False)
            yield from self._done

    def _line(self, value: dict[str, Any], number: int) -> None:
        if "role" not in value:
            return self._sum(fitted(value, Usage, self.pass_over))
        message = fitted(value, Message, self.pass_over)
        self._timed = bool(message.timestamp)
        at_us = microseconds(message.timestamp) if message.timestamp else self._last_us + 1
        self._last_us = max(self._last_us, at_us)
        aside, name = self._row.by_agent or bool(message.is_sidechain), self._name_of(message)
        if not aside and self._seen.add("session", self._session):
            source = OF_SUB_AGENT if self._row.is_automated else None
            self._add(note("session_start", self._session, at_us, source=source))
        match message.role, message.source_subtype:
            case _, "interrupted" if not aside:
                self._add(note("interruption", name, at_us))
                self._open.stopped = True
            case _, "compact_boundary":
                self._add(note("compaction", name, at_us))
            case "user", _ if not (message.is_system or aside or message.prompt_source == "system"):
                self._typed(message, name, at_us)
            case "assistant", kind if not message.is_system and message.model != SYNTHETIC_MODEL and kind != _PRINTED:
                self._worked(message, name, at_us, aside)
            case role, kind:
                self.pass_over(f"{role} {kind or ''}".strip())

    def _name_of(self, message: Any) -> str:
        """As its agent names it, which forks repeat; else by its place."""
        if not message.source_uuid:
            return f"{self._row.id}:{message.ordinal}"
        if self._source == CLAUDE_CODE:
            return str(message.source_uuid)
        return f"{self._source}:{message.source_uuid}:{message.timestamp}"

    def _typed(self, message: Any, name: str, at_us: int) -> None:
        text = as_typed(message.content)
        if message.content in self._handed:
            self.pass_over("told to a sub-agent")
        elif text is None or self._row.is_automated or not self._seen.add("prompt", name):
            self.pass_over("no person's prompt, or one seen before")
            self._cut()
        elif not self._commanded(text, name, at_us):
            named: dict[str, Any] = dict.fromkeys(("line_id", "host_prompt_id"), GATHERED + name)
            if self._source == CLAUDE_CODE and message.source_uuid:  # there is none of what was typed amid work
                named = {"line_id": f"{self._session}:{name}", "former_id": name}
            self._ask(TypedPrompt(text=text, at_us=at_us, cwd=self._row.cwd or None, **named))

    def _worked(self, message: Any, name: str, at_us: int, aside: bool) -> None:
        self._asked(message, name, at_us, aside)
        rows = self._rows("tool_calls", "WHERE message_id = ?", message.id)
        calls = sorted((fitted(row, Call, self.pass_over) for row in rows), key=lambda each: each.call_index or 0)
        for index, call in enumerate(calls):
            # Gemini's own reader knows a call by no name.
            call_id = (call.tool_use_id if self._source != "gemini" else None) or f"{GATHERED}{name}:{index}"
            if self._seen.add("call", call_id):
                where = "WHERE session_id = ? AND tool_call_message_ordinal = ? AND call_index = ?"
                told = self._rows("tool_result_events", where, self._row.id, message.ordinal, call.call_index or 0)
                results = [fitted(row, Result, self.pass_over) for row in told]
                results.sort(key=lambda each: each.event_index or 0)
                self._add(self._called(call, ToolCall(call_id, call.tool_name, {}, at_us + 1 + index, aside), results))
        if not aside:
            said = message.dialogue_text
            if said is None:
                said = _THOUGHTS.sub("", message.content)
                said = _CALLED.sub("", said) if calls else said
            self._said(said, at_us)

    def _asked(self, message: Any, name: str, at_us: int, aside: bool) -> None:
        """Its request. Where nothing tells the tokens they are unknown, and so is the cost."""
        usage, request_id = json_object(message.token_usage), message.claude_request_id or None
        if not usage and self._tells_usage:
            return  # one of several messages of a request, or a sum tells it
        if self._source == "gemini":
            # Of input and cache the archive tells by how much they grew; no output is none that was told.
            usage = {"output_tokens": usage.get("output_tokens") or None}
        key = f"{message.claude_message_id or name}:{request_id or ''}"
        if self._source != CLAUDE_CODE:
            key = request_id = GATHERED + name
        copied = self._open.prompt is not None and self._seen.add("copied", (self._session, key))
        if self._seen.add("request", key) or copied:  # a copied prompt is known as one by its requests
            for number, told in enumerate(beside(usage, message.model or None)):
                told |= {"request_id": request_id, "sidechain": aside}
                self._add(note("request", f"{key}#{number}" if number else key, at_us, **told))

    def _sum(self, usage: Any) -> None:
        """In place of requests that are not told one by one."""
        at_us = microseconds(usage.occurred_at) if usage.occurred_at else self._last_us
        key = GATHERED + (usage.dedup_key or f"{self._row.id}:{usage.id}")
        (told,) = beside(msgspec.structs.asdict(usage), usage.model or None)
        cost = usage.cost_microdollars
        if cost is not None and usage.cost_status in _REPORTED and cost <= USD_MAX * 1_000_000:
            told["cost_usd_nano"] = cost * 1_000
        asked = note("request", key, at_us, request_id=key, sidechain=self._row.by_agent, **told)
        if asked.tokens or cost:  # beside requests that are told one by one, Copilot's sums are empty
            self._add(asked)

    def _called(self, call: Any, made: ToolCall, results: Sequence[Any]) -> ToolCall:
        if tool_effect(made.name) == "other":
            made.name = _TOOLS.get(call.category or "", made.name)  # AgentsView knows the tools of more agents
        made.name, made.arguments = called(made.name, call_arguments(call.input_json))
        effect = tool_effect(made.name)
        texts = [each.content for each in results if each.content] or [call.result_content or ""]
        if self._source == CLAUDE_CODE and texts[-1].lstrip().startswith(REJECTED):
            made.reject()
            return made
        # What a shell completed may have failed; Claude Code alone marks every failure.
        states = [each.status for each in results if each.status]
        well = bool(results) if self._source == CLAUDE_CODE else "completed" in states and effect != "shell"
        told = json_object(texts[-1]) if self._source == "copilot" else None  # whose texts it wraps
        made.ok = tool_outcome(self._source, told or texts[-1], False if "errored" in states else well or None).ok
        times = [microseconds(each.timestamp) for each in results if each.timestamp]
        made.at_us = times[0] if times[1:] else made.at_us
        made.duration_ms = made.took_ms(times[-1]) if times else None
        made.known = tool_input(made.name, made.arguments)
        if made.known.path is None and call.file_path and effect in ("edit", "write", "read"):
            made.known = msgspec.structs.replace(made.known, path=call.file_path)
        if call.category == "Task" or call.subagent_session_id:
            made.spawn(made.at_us, made.arguments.get("subagent_type"))
            self._handed.add(made.arguments.get("prompt"))
        return made


def _known_us(timestamp: str | None) -> int:
    """Zero where it tells no time."""
    with suppress(ValueError):
        return microseconds(timestamp or "")
    return 0


def _whole_sums(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is told of each end of Copilot's is of the whole session: the last counts in place of the first."""
    found: dict[object, dict[str, Any]] = {}
    for row in rows:
        name = row.get("model") if row.get("source") == "shutdown" else row["id"]
        place = found.get(name, row)
        found[name] = row | {key: place.get(key) for key in ("dedup_key", "occurred_at")}
    return list(found.values())


def default_file() -> Path:
    folder = os.environ.get("AGENTSVIEW_DATA_DIR")
    return (Path(folder).expanduser() if folder else Path.home() / ".agentsview") / "sessions.db"


def agents_only_in(file: Path) -> list[str]:
    """The agents of an archive that svc cannot hear otherwise; none where there is none."""
    with suppress(NoArchive):
        return [each for each in Archive(file).chosen(None, None, every=True, quiet_before_us=0) if each not in HEARD]
    return []
