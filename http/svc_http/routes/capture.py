"""What an agent's plugin captures and asks: prompts, responses, its configuration."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.capture import events
from aggregates.capture.decide import content_hash
from aggregates.decide import AnyCommand
from aggregates.event import Reply, shaped
from aggregates.ids import KEY_START_CHARACTERS, prompt_stream
from aggregates.records.record import COUNT_MAX, LABEL_CHARACTERS_MAX, USD_MAX, Count
from aggregates.telemetry.batches import Sender, Step, steps
from aggregates.telemetry.draft import Exchange, Taken
from aggregates.times import INSTANT_MAX_US, iso
from svc_http.bodies import FRAME_BYTES_MAX, HttpError, accepted, decoded, json_reply
from svc_http.params import ByKey, Call, time_sent
from svc_http.ports import beside
from svc_http.records import Arrival, Refusal
from svc_http.routing import Routes

SOURCE_DEFAULT = "claude-code"
PLUGIN = "plugin"  # who sends responses, which name no agent

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1024, pattern=r"\S")]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-fA-F]{64}\Z")]
_OperationId = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
routes = Routes("intake")


class PromptBody(msgspec.Struct):
    prompt_text: str
    tool_session_id: _Name
    source: _Name | None = None
    cwd: Annotated[str, msgspec.Meta(max_length=32_767)] | None = None
    metadata: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))
    client_event_id: UUID | None = None
    host_prompt_id: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)] | None = None
    submitted_at: str | None = None
    original_char_count: Count | None = None
    untruncated_sha256: _Sha256 | None = None
    truncated: bool | None = None


class ResponseBody(events.ResponseContent, frozen=True, kw_only=True):
    prompt_id: UUID | None = None
    client_event_id: UUID | None = None
    tool_session_id: _Name | None = None
    plugin_version: str | None = None
    response_operation_id: _OperationId | None = None
    responded_at: str | None = None
    response_content_hash: _Sha256 | None = None
    cost_catalog_revision: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)] | None = None
    cost_kind: Literal["public_list_price_estimate", "reported"] | None = None


class Captured(msgspec.Struct):
    id: UUID


METADATA_BYTES_MAX = 1024 * 1024  # its values, once decoded, take up to thirty times their bytes
METADATA_LEVELS_MAX = 500  # a bound of our own: how deep a Python reads differs from version to version
_METADATA_DECODER = msgspec.json.Decoder(dict[str, Any] | None)
_PROMPT = "Capture a prompt: 201 once it is on disk, 200 where it was there before."


@routes("POST /v1/prompts", _PROMPT, answers={201: Captured, 200: Captured})
async def capture_prompt(call: ByKey, body: PromptBody) -> TrioResponse:
    if not body.prompt_text or body.prompt_text.isspace():
        raise HttpError(400, "prompt_text is blank; send the prompt as the developer wrote it")
    developer_id, event_id = call.scope.developer_id, body.client_event_id
    command = shaped(
        events.CapturePrompt,
        call.scope,
        body,
        prompt_id=uuid4() if event_id is None else prompt_stream(developer_id, event_id),
        agent_session_id=body.tool_session_id,
        source=body.source or SOURCE_DEFAULT,
        text=body.prompt_text,
        submitted_at_us=None if body.submitted_at is None else time_sent("submitted_at", body.submitted_at),
        metadata_json=_metadata(body.metadata),
        untruncated_sha256=None if body.untruncated_sha256 is None else body.untruncated_sha256.lower(),
    )
    reply = accepted(await call.service.send(command))
    assert reply.id is not None, "a captured prompt has an id"
    call.service.arrivals.took(developer_id, command.source, "prompts", call.service.now_us())
    return json_reply(Captured(reply.id), 201 if reply.created else 200)


def _metadata(raw: msgspec.Raw) -> str | None:
    """The object's JSON text as it was sent."""
    data = bytes(raw)
    if data == b"null":
        return None
    if len(data) > METADATA_BYTES_MAX:
        raise HttpError(400, f"metadata has {len(data)} bytes, and may have {METADATA_BYTES_MAX}; send less")
    try:
        level: list[Any] = [decoded(_METADATA_DECODER, data)]
    except HttpError as error:
        raise HttpError(400, f"metadata: {error.message}") from error
    levels = 0
    if data.count(b"{") + data.count(b"[") > METADATA_LEVELS_MAX:
        while level := [each for each in level if isinstance(each, dict | list)]:
            level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
            levels += 1
    if levels > METADATA_LEVELS_MAX:
        raise HttpError(400, f"metadata is nested too deeply; at most {METADATA_LEVELS_MAX} levels are taken")
    return data.decode()


# --- responses --------------------------------------------------------------------------------------------


@routes("POST /v1/prompts/response", "Capture the response to a prompt.")
async def capture_response(call: ByKey, body: ResponseBody) -> None:
    content = msgspec.convert(body, events.ResponseContent, from_attributes=True)
    expected, prompt_id = body.response_content_hash, body.prompt_id
    if expected is not None and expected.lower() != content_hash(content):
        why = "it is the SHA-256 of the RFC 8785 JSON of response_text and the seven managed fields, absent ones null"
        raise HttpError(400, f"response_content_hash does not match: {why}")
    if prompt_id is None and body.client_event_id is not None:
        prompt_id = prompt_stream(call.scope.developer_id, body.client_event_id)
    if prompt_id is None:
        only = "; until 2026-08-16T00:00:00Z tool_session_id alone did, for plugins before 0.5.1: update the plugin"
        why = "" if body.tool_session_id is None else only
        raise HttpError(400, f"no prompt is selected; send prompt_id or client_event_id{why}")
    if body.response_operation_id is None:
        raise HttpError(400, "response_operation_id is missing; send one that stays the same over retries")
    at_us = None if body.responded_at is None else time_sent("responded_at", body.responded_at)
    told = {"prompt_id": prompt_id, "content": content, "responded_at_us": at_us}
    accepted(await call.service.send(shaped(events.CaptureResponse, call.scope, body, **told)))
    call.service.arrivals.took(call.scope.developer_id, PLUGIN, "responses", call.service.now_us())


# --- what a plugin asks for besides capturing -----------------------------------------------------------------

MAX_PROMPT_BYTES = 512 * 1024  # asked of a plugin: even with every byte escaped as six, it fits one frame


class CaptureConfig(msgspec.Struct):
    prompts: bool
    responses: bool
    max_prompt_bytes: int


class OtlpConfig(msgspec.Struct):
    protocol: str
    logs_endpoint: str
    metrics_endpoint: str
    traces_endpoint: str


class PluginConfig(msgspec.Struct):
    ingest_url: str
    gateway_url: str | None
    anthropic_base_url: str | None
    dashboard_url: str | None
    environment: str
    capture: CaptureConfig
    otlp: OtlpConfig
    arrivals: list[Arrival]  # what the caller's agents sent, and what was refused, since `arrivals_since`
    refusals: list[Refusal]
    arrivals_since: str


class SetupBody(msgspec.Struct):
    plugin_version: Annotated[str, msgspec.Meta(min_length=1, max_length=64, pattern=r"\S")]
    key_prefix: Annotated[str, msgspec.Meta(max_length=128)] | None = None


class PrismScores(msgspec.Struct):
    scores: tuple[()] = ()
    total: int = 0


@routes("GET /v1/plugin/config", "Where a plugin sends what, and what it captures.")
async def config(call: ByKey) -> PluginConfig:
    settings = call.service.settings
    url = settings.ingest_url.rstrip("/")
    arrivals, refusals = call.service.arrivals.of(call.scope.developer_id)
    told = {
        "ingest_url": url,
        "capture": CaptureConfig(settings.capture_prompts, settings.capture_responses, MAX_PROMPT_BYTES),
        "otlp": OtlpConfig("http/json", f"{url}/v1/logs", f"{url}/v1/metrics", f"{url}/v1/traces"),
        "arrivals": arrivals,
        "refusals": refusals,
        "arrivals_since": iso(call.service.arrivals.since_us),
    }
    return msgspec.convert(msgspec.structs.asdict(settings) | told, PluginConfig, from_attributes=True)


@routes("POST /v1/setup-complete", "A plugin's setup is complete.")
async def setup_complete(call: ByKey, body: SetupBody) -> None:
    # A plugin that sends the whole key by mistake does not make us store it.
    start = None if body.key_prefix is None else body.key_prefix[:KEY_START_CHARACTERS]
    accepted(await call.service.send(shaped(events.SetupCompleted, call.scope, body, key_prefix=start)))


@routes("GET /v1/intelligence/prism", "A fixed answer, for old plugins.")
async def prism(call: ByKey) -> PrismScores:
    return PrismScores()


# --- what `svc import` has read --------------------------------------------------------------------------------

EXCHANGES_MAX = 1_000
_MOST = {"at_us": INSTANT_MAX_US - 1, "cost_usd_nano": USD_MAX * 10**9, "status_code": 999}  # what are no counts


class ImportBody(msgspec.Struct):
    source: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]  # an agent, as its reader calls it
    exchanges: Annotated[list[Exchange], msgspec.Meta(max_length=EXCHANGES_MAX)]


class Imported(msgspec.Struct):
    exchanges: list[Taken]  # one for each, in their order


_ABOUT = "Import exchanges of an agent's session files; each is on disk then, or refused with its reason."


@routes("POST /v1/import", _ABOUT)
async def import_exchanges(call: ByKey, body: ImportBody) -> Imported:
    return await imported(call, Sender(call.scope, body.source, call.service.digester(call.scope)), body)


async def imported(call: Call, sender: Sender, body: ImportBody) -> Imported:
    await call.service.held_back(sender.scope.developer_id)
    # Taking secrets out of records takes processor time.
    made = await beside(call.body.cpu, FRAME_BYTES_MAX, partial(made_of, body.exchanges, sender))
    return Imported(await carried_out(made, call.service.send_all))


def made_of(exchanges: list[Exchange], sender: Sender) -> list[list[Step]]:
    _check(exchanges)
    return [list(steps(exchange, sender)) for exchange in exchanges]


async def carried_out(
    made: list[list[Step]], send_all: Callable[[Sequence[AnyCommand]], Awaitable[list[Reply]]]
) -> list[Taken]:
    """All prompts first: an answer needs its own, and what another session had caused is not taken twice."""
    taken = [Taken() for _ in made]
    for prompts in (True, False):
        pairs = zip(taken, made, strict=True)
        following = [(each, step) for each, its in pairs if not each.repeated for step in its]
        following = [(each, step) for each, step in following if (step.what == "prompt") == prompts]
        replies = await send_all([step.command for _, step in following])
        for (each, step), reply in zip(following, replies, strict=True):
            each.heard(step.what, reply)
    return taken


def _check(exchanges: list[Exchange]) -> None:
    """Refuse what no agent says. A record's texts are made here, of those beside it."""
    for place, record in ((place, draft.record) for place, each in enumerate(exchanges) for draft in each.drafts):
        for name, value in msgspec.structs.asdict(record).items():
            if isinstance(value, str):
                right = len(value) <= LABEL_CHARACTERS_MAX and bool(value.strip() or name != "record_id")
            elif isinstance(value, int) and not isinstance(value, bool):
                right = 0 <= value <= _MOST.get(name, COUNT_MAX)
            else:
                continue
            if not right or name == "origin":
                raise HttpError(400, f"$.exchanges[{place}]: a record's {name} is out of its bounds")
