"""What is drafted of an agent's work: records with their texts, and the exchanges of a session file."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from aggregates.event import Reason, Refused, Reply
from aggregates.reading.readings import is_for_shell, own_words
from aggregates.records.record import TOKEN_KINDS, Count, Id, Label, Record, RecordKind
from aggregates.records.tools import NOT_OBSERVED, PATCHED_FILES_MAX, Changed, ChangedFile, ToolInput
from aggregates.telemetry import otlp
from aggregates.telemetry.otlp import Attributes, Plain, count, cut_name, json_object, name, rounded, text
from aggregates.telemetry.outcomes import VOCABULARY, ToolOutcome
from aggregates.times import INSTANT_MAX_US


class RecordDraft(msgspec.Struct, frozen=True):
    """A record and its texts, before these are put into one text."""

    record: Record
    text: str | None = None
    path: str | None = None
    command: str | None = None
    input_key: Label | None = None  # equal for two calls of one tool with the same input
    more: Annotated[tuple[ChangedFile, ...], msgspec.Meta(max_length=PATCHED_FILES_MAX)] = ()
    """What the call changed beside `path`."""


def tool_draft(record: Record, ok: bool | None, known: ToolInput, lines: Changed | None = None) -> RecordDraft:
    """A tool call: in the background its end is not known, and only one that went well changed lines."""
    added, removed = (lines or known.lines) if ok else NOT_OBSERVED
    told = replace(record, ok=None if ok and known.background else ok, lines_added=added, lines_removed=removed)
    more = known.more if ok else ()
    return RecordDraft(told, path=known.path, command=known.command, input_key=known.key, more=more)


# An agent's account of a request. `inside`: what the cache read and wrote is part of the input (OpenAI, Gemini,
# Copilot, AI SDK 6). `beside`: it is not (Anthropic).

_TERMS = ("speed", "service_tier", "inference_geo")
_AS_USUAL = ("standard", "normal", "default", "auto", "not_available", "global", "on_demand")
COUNTED = (*TOKEN_KINDS, "cache_write_1h_tokens")
_ANSWERS = ("message", "fallback_message")


def terms(told: Mapping[str, Any]) -> str | None:
    """Speed, tier and region that are not the usual ones, as in `speed=fast service_tier=batch`."""
    unusual = [(key, value) for key in _TERMS if isinstance(value := told.get(key), str) and value not in _AS_USUAL]
    said = ((key, "_".join((cut_name(value) or "").lower().split())) for key, value in unusual)
    return " ".join([f"{key}={value}" for key, value in said if value and value not in _AS_USUAL]) or None


def inside(
    whole: int | None, read: int | None, written: int | None, output: int | None, uncached: int | None = None
) -> dict[str, Any]:
    """The kinds add up to the whole input; unknown is what contradicts it."""
    rest = uncached if whole is None else whole - (read or 0) - (written or 0)
    if written is None and rest is not None and uncached is not None and rest > uncached:
        written, rest = rest - uncached, uncached
    return dict(zip(COUNTED, (None if (rest or 0) < 0 else rest, output, read, written), strict=False))


def cache_writes(written: int | None, short: int | None, long: int | None) -> dict[str, Any]:
    """All of them, and those for an hour; what one of the three counts lacks follows from the others."""
    if written is None and (short, long) != (None, None):
        written = (short or 0) + (long or 0)
    if long is None and written is not None and short is not None:
        long = max(0, written - short)
    return {"cache_write_tokens": written, "cache_write_1h_tokens": long}


def beside(told: dict[str, Any], model: str | None) -> list[dict[str, Any]]:
    """The message, with all of its own passes where its sums tell fewer; then passes that they leave out."""
    listed, message = told.get("iterations"), _account(told, model)
    if not isinstance(listed, list):
        return [message]
    passes = [each for each in listed if isinstance(each, dict)]
    answered = _ANSWERS[any(each.get("type") == _ANSWERS[1] for each in passes)]
    own = [each for each in passes if each.get("type") == answered and (each.get("model") or model) == model]
    for kind in COUNTED:
        known = [part[kind] for part in (_account(each, model) for each in own) if part[kind] is not None]
        message[kind] = max(message[kind] or 0, sum(known)) if known else message[kind]
    requests = [message]
    for each in passes:
        declined = each.get("type") in _ANSWERS
        if each in own or (declined and not count(each, "output_tokens")):
            continue  # who declines before a word is said bills nothing
        other = name(each, "model") or (None if declined else model)
        speed = told.get("speed") if other == model else None
        part = _account(each, other) | {"terms": terms({**told, "speed": speed, **each})}
        requests += [part] if any(part[kind] for kind in COUNTED) else []
    return requests


def _account(told: dict[str, Any], model: str | None) -> dict[str, Any]:
    writes, tools = json_object(told.get("cache_creation")), json_object(told.get("server_tool_use"))
    spans = count(writes, "ephemeral_5m_input_tokens"), count(writes, "ephemeral_1h_input_tokens")
    return {
        **{"model": model, "web_searches": count(tools, "web_search_requests"), "terms": terms(told)},
        **{"input_tokens": count(told, "input_tokens"), "output_tokens": count(told, "output_tokens")},
        "cache_read_tokens": count(told, "cache_read_input_tokens"),
        **cache_writes(count(told, "cache_creation_input_tokens"), *spans),
    }


READER_VERSION = 2  # counted up whenever a reader of agents' files reads the same lines otherwise
BATCH_RECORDS_MAX = 200
RECORDS_MAX = 10_000  # of one exchange over the network: a longer one is sent in pieces
CWD_CHARACTERS_MAX = 32_767
Instant = Annotated[int, msgspec.Meta(ge=0, lt=INSTANT_MAX_US)]
What = Literal["prompt", "response", "records", "exchange"]  # a part, or where the whole was unreadable, all of it


class TypedPrompt(msgspec.Struct, frozen=True, omit_defaults=True):
    line_id: Id  # the id of the line it was first written on, unlike that of a copy in another session
    text: Annotated[str, msgspec.Meta(pattern=r"\S")]
    at_us: Instant
    host_prompt_id: Id | None = None
    cwd: Annotated[str, msgspec.Meta(max_length=CWD_CHARACTERS_MAX)] | None = None
    former_id: Id | None = None  # what an older reader called the line


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    at_us: Instant
    elapsed_ms: Count | None = None  # from the prompt to the agent's last line; None where the lines have no times
    model: Annotated[str, msgspec.Meta(max_length=256)] | None = None
    tokens: dict[Label, Count] = {}  # by a record's names, where the lines tell of no request by itself


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A prompt, what was done about it, and the answer; no prompt before a session's first, or for a sub-agent."""

    agent_session_id: Id
    prompt: TypedPrompt | None = None
    answer: Answer | None = None
    drafts: Annotated[tuple[RecordDraft, ...], msgspec.Meta(max_length=RECORDS_MAX)] = ()
    finished: bool = True  # whether the file says that nothing more comes; if not, later lines may still complete it
    last_us: int = 0
    reader_version: Count = 1  # of whatever read the file


class NotTaken(msgspec.Struct, frozen=True):
    what: What
    message: str


class Taken(msgspec.Struct):
    created: int = 0  # prompts, responses and batches of records that are new
    corrected: int = 0  # those that count in place of what an import had told before
    known: int = 0  # those that had been there before
    repeated: bool = False  # its prompt was had from another session's file; what it caused is not taken twice
    refused: list[NotTaken] = []

    def heard(self, what: What, reply: Reply) -> bool:
        """Whether the exchange's next command is to follow."""
        if isinstance(reply, Refused):
            self.refused.append(NotTaken(what, reply.message))
            self.repeated = what == "prompt" and reply.reason is Reason.CONFLICT
            return not self.repeated
        self.created += reply.created and not reply.corrected
        self.corrected += reply.corrected
        self.known += not reply.created
        return True


_FOLDERS = ("process.working_directory", "cwd", "workspace.host_paths")
"""OpenTelemetry's own name, which one may set for any agent; Codex's; and those of Claude Code's app."""
_REDACTED = ("<REDACTED>", "[REDACTED]")
_READ: dict[str, Callable[[Plain], object]] = {
    "duration_ms": otlp.as_rounded,
    **dict.fromkeys(("model", "tool", "source"), otlp.as_name),
    **dict.fromkeys(("request_id", "call_id"), otlp.as_identifier),
}


class SourceEvent(msgspec.Struct):
    """One log record or span, in plain values."""

    record_id: str
    origin: int
    at_us: int  # a span's start
    name: str | None  # the name of the event or span, as the agent says it
    attributes: Attributes
    resource: Attributes
    trace_id: str | None = None
    prompt_id: str | None = None  # set before the event is read, as what follows
    sidechain: bool = False  # whether a sub-agent asked, or the agent by itself for a title or a summary
    end_us: int | None = None  # of a span, as all that follow
    failed: bool = False
    root: bool = False
    leaf: bool = True  # whether no other span of its kind in the export is a part of this one
    message: str | None = None  # of its status

    def record(self, kind: RecordKind, *, suffix: str = "", at_us: int | None = None, **fields: Any) -> Record:
        """A record of this; further ones of the same record or span have a suffix of their own."""
        if kind == "request":  # a good one may be told to wait, too
            fields["retry_after_ms"] = wait_told(self.attributes, None)
        return Record(
            record_id=self.record_id + suffix,
            at_us=self.at_us if at_us is None else at_us,
            kind=kind,
            name=self.name,
            origin=self.origin,
            prompt_id=self.prompt_id,
            **fields,
        )

    def only(self, kind: RecordKind, *, words: str | None = None, **fields: Any) -> list[RecordDraft]:
        if kind == "prompt" and words:
            words = own_words(words) or words
            kind = "other" if is_for_shell(words) else kind
        return [RecordDraft(self.record(kind, **fields), words, self.folder if kind == "prompt" else None)]

    def tool(
        self, tool: str, outcome: ToolOutcome, known: ToolInput, *, lines: Changed | None = None, **fields: Any
    ) -> list[RecordDraft]:
        """A finished call, and that a person stopped the agent in the middle of it."""
        drafts = [tool_draft(self.record("tool", tool=tool or None, **fields), outcome.ok, known, lines)]
        return [*drafts, *self.only("interruption", suffix="#interruption")] if outcome.stopped else drafts

    def error(self, message: str | None, status: int | None, **fields: Any) -> list[RecordDraft]:
        """A failed request; the status is looked for in the message where it is not told."""
        status = status_in(message) if status is None else status
        wait_ms = wait_told(self.attributes, message)
        return self.only("error", words=message, status_code=status, retry_after_ms=wait_ms, **fields)

    def rejection(self, *, interrupts: bool, **fields: Any) -> list[RecordDraft]:
        """The user refused a call, and may have stopped the agent with it."""
        drafts = self.only("rejection", **fields)
        return [*drafts, *self.only("interruption", suffix="#interruption")] if interrupts else drafts

    def other(self, **fields: Any) -> list[RecordDraft]:
        """Kept and shown, and of no meaning for scores."""
        return self.only("other", **{"model": name(self.attributes, "model"), "duration_ms": self.span_ms, **fields})

    def told(self, **keys: str | tuple[str, ...]) -> dict[str, Any]:
        """Fields of a record, each by the first of these attributes that is there: names, ids, else counts."""
        found, attributes = dict[str, Any](), self.attributes
        for field, told in keys.items():
            read = _READ.get(field, otlp.as_count)
            if isinstance(told, str):  # mostly
                found[field] = None if (value := attributes.get(told)) is None else read(value)
            else:
                found[field] = otlp.first(read, attributes, *told)
        return found

    def said(self, *keys: str) -> str | None:
        """The first of these attributes, unless the agent blacked it out."""
        found = text(self.attributes, *keys)
        return None if found in _REDACTED else found

    @property
    def folder(self) -> str | None:
        """That the agent works in, where it tells one, or several of which this is the first."""
        for place in (self.attributes, self.resource):
            for key in _FOLDERS:
                told = place.get(key)
                first = told[0] if isinstance(told, list) and told else told
                if isinstance(first, str) and first.strip():
                    return first[:CWD_CHARACTERS_MAX]
        return None

    @property
    def status_code(self) -> int | None:
        return count(self.attributes, "status_code", "http.status_code")

    @property
    def span_ms(self) -> int | None:
        end_us = self.end_us
        return None if end_us is None or end_us < self.at_us else (end_us - self.at_us + 500) // 1_000


Reader = Callable[[SourceEvent], list[RecordDraft]]  # Reads events of one name
_HEAD_CHARACTERS = 400
_STATUS = re.compile(r"(?:API Error:? ?\(?|^)([45]\d\d)\b")
_WAITS = VOCABULARY["waits"]
_WAIT_KEYS = frozenset((*_WAITS["attributes_ms"], *_WAITS["attributes_seconds"]))
_WAIT = re.compile(_WAITS["worded"])
_LIMITED = re.compile(_WAITS["limited"])
_PIECES = re.compile(_WAITS["piece"])
_SECONDS_ALONE = re.compile(_WAITS["seconds_alone"])
_WAIT_MS_MAX = 30 * 24 * 3_600_000


def status_in(message: str | None) -> int | None:
    """As the message words it; who speaks of a rate limit was refused for one."""
    head = (message or "")[:_HEAD_CHARACTERS]
    match = _STATUS.search(head)
    return int(match.group(1)) if match else 429 if _LIMITED.search(head) else None


def wait_told(attributes: Attributes, message: str | None) -> int | None:
    """Milliseconds that a provider asks to wait: as an attribute tells them, else as its message words them."""
    if message is None and attributes.keys().isdisjoint(_WAIT_KEYS):
        return None
    # A header is told as a list of its lines.
    lines = {key: attributes.get(key) for key in _WAIT_KEYS}
    single = {key: line[0] if isinstance(line, list) and line else line for key, line in lines.items()}
    told, seconds = (rounded(single, *_WAITS[f"attributes_{unit}"]) for unit in ("ms", "seconds"))
    head = (message or "")[:_HEAD_CHARACTERS]
    if told is None and seconds is not None:
        told = seconds * 1_000
    elif told is None and (worded := _WAIT.search(head)):
        pieces = _PIECES.findall(worded[1])
        told = round(sum(float(number) * _WAITS["units_ms"][unit.lower()] for number, unit in pieces))
    elif told is None and (alone := _SECONDS_ALONE.search(head)):
        told = int(alone[1]) * 1_000
    return told if told is not None and told <= _WAIT_MS_MAX else None
