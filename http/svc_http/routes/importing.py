"""`POST /v1/import`: what `svc import --url` has read from an agent's session files on another machine.

The exchanges become the same commands as in an import beside the log, so a second run of either finds them known.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
import trio

from aggregates.records.record import COUNT_MAX, USD_MAX, RecordKind
from aggregates.records.tools import PATCHED_FILES_MAX
from aggregates.telemetry.exchanges import Exchange, Taken
from aggregates.telemetry.steps import Sender, Step, steps
from aggregates.times import INSTANT_MAX_US
from svc_http.bodies import cpu_time
from svc_http.params import ByKey
from svc_http.routing import Routes

EXCHANGES_MAX = 1_000
RECORDS_MAX = 10_000  # of one exchange: the client cuts a longer one
_MAKING = trio.CapacityLimiter(1)
"""Taking secrets out of records takes processor time: one import at a time, beside the loop."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
_Instant = Annotated[int, msgspec.Meta(ge=0, lt=INSTANT_MAX_US)]  # microseconds since 1970
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=1_024, pattern=r"\S")]
_Label = Annotated[str, msgspec.Meta(max_length=1_024)]
_Folder = Annotated[str, msgspec.Meta(max_length=32_767)]
_Words = Annotated[str, msgspec.Meta(pattern=r"\S")]
routes = Routes("intake")


class SentRecord(msgspec.Struct, kw_only=True):
    """`aggregates.records.record.Record` without its texts."""

    record_id: _Id
    at_us: _Instant
    kind: RecordKind
    name: _Label | None = None
    prompt_id: _Label | None = None
    source: _Label | None = None
    model: _Label | None = None
    input_tokens: _Count | None = None
    output_tokens: _Count | None = None
    cache_read_tokens: _Count | None = None
    cache_write_tokens: _Count | None = None
    cache_write_1h_tokens: _Count | None = None
    cost_usd_nano: Annotated[int, msgspec.Meta(ge=0, le=USD_MAX * 10**9)] | None = None
    request_id: _Label | None = None
    duration_ms: _Count | None = None
    status_code: Annotated[int, msgspec.Meta(ge=0, le=999)] | None = None
    retry_after_ms: _Count | None = None
    sidechain: bool = False
    tool: _Label | None = None
    call_id: _Label | None = None
    ok: bool | None = None
    lines_added: _Count | None = None
    lines_removed: _Count | None = None


class SentDraft(msgspec.Struct):
    """A record and its texts."""

    record: SentRecord
    text: str | None = None
    path: str | None = None
    command: str | None = None
    input_key: _Label | None = None
    more: Annotated[list[tuple[str, _Count, _Count]], msgspec.Meta(max_length=PATCHED_FILES_MAX)] = []
    """Further files that the call changed: path, lines added, lines removed."""


class SentPrompt(msgspec.Struct):
    line_id: _Id  # of the line it was first written on, whichever file repeats it
    text: _Words
    at_us: _Instant
    host_prompt_id: _Id | None = None
    cwd: _Folder | None = None


class SentAnswer(msgspec.Struct):
    text: str
    at_us: _Instant
    elapsed_ms: _Count | None = None


class SentExchange(msgspec.Struct):
    """A prompt, the records of what was done about it, and the answer."""

    agent_session_id: _Id
    prompt: SentPrompt | None = None
    answer: SentAnswer | None = None
    drafts: Annotated[list[SentDraft], msgspec.Meta(max_length=RECORDS_MAX)] = []


class ImportBody(msgspec.Struct):
    source: Literal["claude-code", "codex", "gemini", "copilot"]
    exchanges: Annotated[list[SentExchange], msgspec.Meta(max_length=EXCHANGES_MAX)]


class Imported(msgspec.Struct):
    exchanges: list[Taken]  # one for each, in their order


_ABOUT = "Import exchanges of an agent's session files; each is on disk then, or refused with its reason."


@routes("POST /v1/import", _ABOUT)
async def import_exchanges(call: ByKey, body: ImportBody) -> Imported:
    """After a 503 the whole body is sent again: what is on disk is known then."""
    sender = Sender(call.scope, body.source, call.service.digester(call.scope))
    return Imported([await _imported(call, each, sender) for each in body.exchanges])


async def _imported(call: ByKey, sent: SentExchange, sender: Sender) -> Taken:
    taken, took = Taken(), cpu_time()
    exchange = msgspec.convert(sent, Exchange, from_attributes=True)
    following: Iterator[Step] = steps(exchange, sender)

    def made() -> Step | None:
        with took:
            return next(following, None)

    while step := await trio.to_thread.run_sync(made, limiter=_MAKING):
        if not taken.heard(step.what, await call.service.send(step.command)):
            break
    return taken
