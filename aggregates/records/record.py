"""The one vocabulary for what agents report, whichever agent sent it.

A record is a telemetry line, or a transcript line, brought to these fields. Texts (paths, commands, messages) lie
in the event's single `Words` value; a record only points at them, so one seal covers the whole batch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import msgspec

from aggregates.event import Redacted, Span

COUNT_MAX = 10**12  # tokens, characters, milliseconds, by whichever road: sums of such stay integers of 64 bits
Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
LABEL_CHARACTERS_MAX = 1_024
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=LABEL_CHARACTERS_MAX, pattern=r"\S")]
Label = Annotated[str, msgspec.Meta(max_length=LABEL_CHARACTERS_MAX)]
USD_MAX = 1_000_000  # the cost of one request, by whichever road
RecordKind = Literal[
    "prompt",  # the agent's own report of a user's prompt
    "response",  # the agent's final answer text
    "request",  # one answered model request: tokens, cost
    "error",  # one failed model request
    "tool",  # one finished tool call
    "rejection",  # a tool call the user refused
    "interruption",  # the user stopped the agent
    "session_start",
    "session_end",
    "compaction",
    "subagent",
    "lines",  # changed lines, by a counter, where no tool call tells them
    "other",
]
OF_SUB_AGENT = "subagent"  # the session is one of a sub-agent: an agent asks there, and no person
TOKEN_KINDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")  # no two overlap
STOP_FAILURE = "svc.stop_failure"  # a hook's word that an answer failed, of its turn; the request is another's to tell


class FileChange(msgspec.Struct, frozen=True, array_like=True):
    path: Span
    lines_added: int
    lines_removed: int


class Record(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing an agent reported. A field that was not observed is None; None is never zero."""

    record_id: str  # unique within the agent session; a record sent twice has the same id
    former_id: str | None = None  # what an older reader of an agent's files called it
    at_us: int
    kind: RecordKind
    name: str | None = None  # what the agent calls it: the name of its log event or span; None for a transcript line
    origin: int | None = None
    """Which log record or span of the batch's raw export this was read from, counted from 0 in the order in which they
    stand there; the first record of each origin stands for it in telemetry reads. None for a transcript line."""
    prompt_id: str | None = None  # the agent's own id of the prompt this belongs to
    text: Span | None = None  # prompt, response, error or end-of-session text
    source: str | None = None  # of session_start: startup, resume, clear, compact, `OF_SUB_AGENT`; of session_end: why

    model: str | None = None
    input_tokens: int | None = None  # uncached input only
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None  # all cache writes, whatever their duration
    cache_write_1h_tokens: int | None = None  # the part of the cache writes that lasts an hour, where the agent says so
    web_searches: int | None = None  # that the provider made for it, and bills beside the tokens
    terms: str | None = None  # under which it is billed where that is not as usual: `speed=fast service_tier=batch`
    cost_usd_nano: int | None = None  # as the agent reported it, in nano-dollars
    request_id: str | None = None
    duration_ms: int | None = None
    status_code: int | None = None
    retry_after_ms: int | None = None  # how long the provider told the agent to wait
    sidechain: bool = False

    tool: str | None = None
    call_id: str | None = None
    ok: bool | None = None
    path: Span | None = None  # of a tool call; of a prompt the folder that it was typed in
    command: Span | None = None
    input_digest: int | None = None  # keyed digest of the tool's name and input, to see identical calls
    lines_added: int | None = None
    lines_removed: int | None = None  # of all files that the call changed
    more_files: tuple[FileChange, ...] = ()  # what it changed beside `path`


PointKind = Literal["gauge", "sum", "histogram", "exponential_histogram", "summary"]

PointMeaning = Literal[
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_usd",
    "lines_added",
    "lines_removed",
    "commits",
    "pull_requests",
]
"""What a counter counts, where it is one that we know. Token and cost counters are shown, never added to requests."""


class Point(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One metric data point as received; a cumulative one is differenced only where it is read."""

    record_id: str
    at_us: int
    name: str
    kind: PointKind
    origin: int  # which point of the batch's raw export, counted from 0 in the order in which they stand there
    unit: str | None = None
    temporality: Literal["delta", "cumulative"] | None = None
    monotonic: bool | None = None
    start_us: int | None = None  # where the interval of a sum or distribution starts; a change starts a series anew
    value: float | None = None  # of a gauge or sum; a distribution's numbers stand in the raw export
    series: str = ""  # digest of resource, scope, name and attributes: points of one can be differenced
    meaning: PointMeaning | None = None
    model: str | None = None


class TextPool:
    """Collects texts and answers where each one stands. The same text stands once."""

    def __init__(self, known: Mapping[str, Redacted] | None = None) -> None:
        """`known`: what was found in texts that were looked through before; without it they are looked through here."""
        self._known = known
        self._pieces: list[str] = []
        self._spans: dict[str, Span] = {}
        self._length = 0
        self.redactions: Counter[str] = Counter()  # how many secrets of each kind were taken out

    def add_all(self, texts: Iterable[str | None]) -> None:
        """Put many texts in, looked through for secrets at once; `add` then answers where each one stands."""
        new = [text for text in dict.fromkeys(texts) if text is not None and text not in self._spans]
        known = self._known
        if known is None:
            from aggregates.reading.redaction import redact_among  # late: loaded with the first text

            known = {new[index]: found for index, found in redact_among(new).items()}
        for text in new:
            redacted = text
            if text in known:
                redacted, counts = known[text]
                self.redactions.update(counts)
            start = self._length
            self._pieces.append(redacted)
            self._length += len(redacted)
            self._spans[text] = Span(start, self._length)

    def add(self, text: str | None) -> Span | None:
        """The span at which the redacted text stands in `words`; None for None."""
        return None if text is None else self.place_of(text)

    def place_of(self, text: str) -> Span:
        if text not in self._spans:
            self.add_all((text,))
        return self._spans[text]

    @property
    def words(self) -> str:
        return "".join(self._pieces)
