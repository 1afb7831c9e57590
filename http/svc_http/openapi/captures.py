"""What is said of the routes that take captures in, and of those that any program may ask about the service."""

from aggregates.prices.catalog import CatalogRecord
from projections.facts import reports
from projections.scores import insights
from svc_http.errors import ErrorBody
from svc_http.openapi import words as q
from svc_http.openapi.words import OneOf, Operation, Plain, Schema, Table, answered_by
from svc_http.routes.capture import Captured, PluginConfig, PrismScores, PromptBody, ResponseBody, SetupBody
from svc_http.routes.catalog import NoSnapshot
from svc_http.routes.operations import Health, NotReady
from svc_http.routes.reports import GenerateBody, NonePending, ReportStarted

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


# What is said of the routes of reports.

_REPORT = "/v1/score_v3/report"


_NOT_YOURS = {404: "No report of that id is the caller's."}


_INSIGHTS = Operation(
    about="One payload over a range: activity, habits, what went well and wrong; the last 30 days by default.",
    tag="Reports",
    query=(*q.FROM_TO, q.SCOPE),
    answers={200: answered_by(insights.insights)},
)


REPORTS: Table = {
    ("GET", "/v1/insights/report"): _INSIGHTS,
    ("POST", "/v1/insights/report/generate"): _INSIGHTS,
    ("POST", "/v1/insights/report/quick"): _INSIGHTS,
    ("GET", _REPORT): Operation(
        about="The report that was completed last.",
        tag="Reports",
        answers={200: answered_by(reports.latest_report)},
        refuses={404: "No report is completed yet."},
    ),
    ("POST", f"{_REPORT}/generate"): Operation(
        about="Ask for a report; the same period while one is made answers the same id.",
        tag="Reports",
        body=GenerateBody,
        body_required=False,
        answers={202: ReportStarted},
    ),
    ("GET", f"{_REPORT}/history"): Operation(
        about="Every report, newest first, without what it says.",
        tag="Reports",
        query=q.PAGE,
        answers={200: answered_by(reports.reports)},
    ),
    ("GET", f"{_REPORT}/pending"): Operation(
        about="The newest that is queued or running; a null id where there is none.",
        tag="Reports",
        answers={200: OneOf((reports.ReportState, NonePending))},
    ),
    ("GET", f"{_REPORT}/status/<report_id>"): Operation(
        about="How far a report has come.",
        tag="Reports",
        answers={200: reports.ReportState},
        refuses=_NOT_YOURS,
    ),
    ("POST", f"{_REPORT}/cancel/<report_id>"): Operation(
        about="Cancel a report; one that is over stays as it ended.",
        tag="Reports",
        answers={200: ReportStarted},
        refuses=_NOT_YOURS,
    ),
    ("GET", f"{_REPORT}/<report_id>"): Operation(
        about="One report, whatever its state.",
        tag="Reports",
        answers={200: answered_by(reports.report)},
        refuses=_NOT_YOURS,
    ),
    ("DELETE", f"{_REPORT}/<report_id>"): Operation(
        about="Delete a report.",
        tag="Reports",
        answers={204: None},
        refuses=_NOT_YOURS | {409: "It is queued or running; cancel it first."},
    ),
}
