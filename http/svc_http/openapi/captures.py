"""What is said of the routes that take captures in, and of those that any program may ask about the service."""

from aggregates.catalog_shown import CatalogRecord
from svc_http.catalog import NoSnapshot
from svc_http.errors import ErrorBody
from svc_http.health import Health, NotReady
from svc_http.openapi.words import Operation, Plain, Schema, Table
from svc_http.plugin import PluginConfig, PrismScores, SetupBody
from svc_http.prompts import Captured, PromptBody, ResponseBody

_TEXT = Plain("text/plain", {"type": "string"})
_FOREIGN = "The agent session belongs to another developer, or the id was used for something else."


def _export(envelope: str, groups: str, records: str) -> Plain:
    """An export as far as it must be understood to be cut into records; what is in them is the exporter's matter."""
    group = {"type": ["object", "null"], "properties": {groups: _listed({"type": ["object", "null"]}, records)}}
    return Plain(
        "application/json", {"type": "object", "properties": {envelope: {"type": ["array", "null"], "items": group}}}
    )


def _listed(item: Schema, records: str) -> Schema:
    # Any item is taken: one that is no record is counted as rejected, and keeps no other from being stored.
    scope = item | {"properties": {records: {"type": ["array", "null"], "items": {}}}}
    return {"type": ["array", "null"], "items": scope}


def _partial(rejected: str) -> Plain:
    said: Schema = {
        "type": "object",
        "properties": {rejected: {"type": "string"}, "errorMessage": {"type": "string"}},
        "required": [rejected, "errorMessage"],
    }
    return Plain("application/json", {"type": "object", "properties": {"partialSuccess": said}})


def _intake_of(what: str, envelope: str, groups: str, records: str, rejected: str) -> Operation:
    return Operation(
        about=f"Take in {what} as OTLP JSON.",
        tag="Capture",
        body=_export(envelope, groups, records),
        answers={200: _partial(rejected)},
    )


CAPTURES: Table = {
    ("POST", "/v1/logs"): _intake_of("log records", "resourceLogs", "scopeLogs", "logRecords", "rejectedLogRecords"),
    ("POST", "/v1/metrics"): _intake_of(
        "metric points", "resourceMetrics", "scopeMetrics", "metrics", "rejectedDataPoints"
    ),
    ("POST", "/v1/traces"): _intake_of("spans", "resourceSpans", "scopeSpans", "spans", "rejectedSpans"),
    ("POST", "/v1/prompts"): Operation(
        about="Capture a prompt: 201 once it is on disk, 200 where it was there before.",
        tag="Capture",
        body=PromptBody,
        answers={201: Captured, 200: Captured},
        refuses={409: _FOREIGN},
    ),
    ("POST", "/v1/prompts/response"): Operation(
        about="Capture the response to a prompt.",
        tag="Capture",
        body=ResponseBody,
        answers={204: None},
        refuses={404: "The selected prompt does not exist.", 409: "The prompt was answered otherwise before."},
    ),
    ("GET", "/v1/plugin/config"): Operation(
        about="Where a plugin sends what, and what it captures.", tag="Plugin", answers={200: PluginConfig}
    ),
    ("POST", "/v1/setup-complete"): Operation(
        about="A plugin's setup is complete.", tag="Plugin", body=SetupBody, answers={204: None}
    ),
    ("GET", "/v1/intelligence/prism"): Operation(
        about="A fixed answer, for old plugins.", tag="Plugin", answers={200: PrismScores}
    ),
}

SERVICE: Table = {
    ("GET", "/health"): Operation(
        about="Whether the event store takes events; plain text on intake, JSON on the API.",
        tag="Service",
        answers={200: (_TEXT, Health), 503: (_TEXT, ErrorBody)},
    ),
    ("GET", "/health/ready"): Operation(
        about="Whether the service is ready: the store takes events, and there are list prices.",
        tag="Service",
        answers={200: Health, 503: NotReady},
    ),
    ("GET", "/metrics"): Operation(
        about="Counters and gauges of the process, for Prometheus.", tag="Service", answers={200: _TEXT}
    ),
    ("GET", "/openapi.json"): Operation(
        about="This document.", tag="Service", answers={200: Plain("application/json", {"type": "object"})}
    ),
    ("GET", "/docs"): Operation(
        about="This document, for people.", tag="Service", answers={200: Plain("text/html", {"type": "string"})}
    ),
    ("GET", "/v1/model-catalog"): Operation(
        about="The list prices of models; on the API with the internal secret, through intake with a key.",
        tag="Model catalog",
        answers={200: CatalogRecord, 503: NoSnapshot},
    ),
}
