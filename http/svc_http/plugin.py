"""What a plugin asks for besides capturing: its configuration, the end of its setup, and an old stub."""

from typing import Annotated

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.commands import CompleteSetup, Refused
from aggregates.people import Principal
from svc_http.bodies import Request, read_json
from svc_http.errors import refusal
from svc_http.ports import Service
from svc_http.replies import json_reply, no_content

MAX_PROMPT_BYTES = 512 * 1024
"""What a plugin is asked to cut a prompt to: even with every byte escaped as six, it fits one frame."""

KEY_START_CHARACTERS = 12
"""As much of a key as may be kept; a plugin that sends the whole key by mistake does not make us store it."""


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


class SetupBody(msgspec.Struct):
    plugin_version: Annotated[str, msgspec.Meta(min_length=1, max_length=64, pattern=r"\S")]
    key_prefix: Annotated[str, msgspec.Meta(max_length=128)] | None = None


class PrismScores(msgspec.Struct):
    scores: tuple[()] = ()
    total: int = 0


_SETUP_DECODER = msgspec.json.Decoder(SetupBody)


async def config(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Where to send what, and what to capture."""
    settings = service.settings
    url = settings.ingest_url.rstrip("/")
    return json_reply(
        PluginConfig(
            ingest_url=url,
            gateway_url=settings.gateway_url,
            anthropic_base_url=settings.anthropic_base_url,
            dashboard_url=settings.dashboard_url,
            environment=settings.environment,
            capture=CaptureConfig(settings.capture_prompts, settings.capture_responses, MAX_PROMPT_BYTES),
            otlp=OtlpConfig("http/json", f"{url}/v1/logs", f"{url}/v1/metrics", f"{url}/v1/traces"),
        )
    )


async def setup_complete(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """204 once it is on disk."""
    body = await read_json(request, _SETUP_DECODER)
    command = CompleteSetup(
        organization_id=caller.scope.organization_id,
        developer_id=caller.scope.developer_id,
        plugin_version=body.plugin_version,
        key_prefix=None if body.key_prefix is None else body.key_prefix[:KEY_START_CHARACTERS],
    )
    reply = await service.send(command)
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    return no_content()


async def prism(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The fixed shape that is left of an older score pipeline."""
    return json_reply(PrismScores())
