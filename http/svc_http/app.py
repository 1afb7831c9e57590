"""The two listeners and everything they serve. The table is the contract's, one line a route."""

from quart_trio import QuartTrio

from svc_http.auth import caller_of_api, caller_of_intake
from svc_http.bodies import CONTROL_BYTES_MAX, EXPORT_BYTES_MAX
from svc_http.listener import ByKey, BySecret, Public, Route, attach, new_listener
from svc_http.openapi.document import routes as description_routes
from svc_http.ports import Service
from svc_http.routes import activity, catalog, events, otlp, people, reports, scores, sub_sessions, team, telemetry
from svc_http.routes import activity as insights
from svc_http.routes import activity as today
from svc_http.routes import capture as plugin
from svc_http.routes import capture as prompts
from svc_http.routes import operations as control
from svc_http.routes import operations as health
from svc_http.routes import operations as metrics
from svc_http.routes import reports as backfills
from svc_http.routes import scores as integrity
from svc_http.routes import scores as intelligence
from svc_http.routes import scores as peers
from svc_http.routes import scores as trends
from svc_http.routes import sub_sessions as explain
from svc_http.routes import sub_sessions as overrides

_SCORE = "/v1/score_v3"
_ADMIN = "/v1/admin"

INSIGHTS: tuple[Route, ...] = (
    ByKey("GET", "/v1/insights/report", insights.report),
    ByKey("POST", "/v1/insights/report/generate", insights.report),
    ByKey("POST", "/v1/insights/report/quick", insights.report),
)
"""On both listeners."""

INTAKE: tuple[Route, ...] = (
    Public("GET", "/health", health.intake_health),
    ByKey("POST", "/v1/prompts", prompts.capture_prompt),
    ByKey("POST", "/v1/prompts/response", prompts.capture_response),
    ByKey("GET", "/v1/plugin/config", plugin.config),
    ByKey("POST", "/v1/setup-complete", plugin.setup_complete),
    ByKey("GET", "/v1/intelligence/prism", plugin.prism),
    ByKey("GET", f"{_SCORE}/realtime/sub-sessions", sub_sessions.realtime),
    ByKey("GET", f"{_SCORE}/today-summary", today.summary),
    ByKey("GET", "/v1/telemetry/logs", telemetry.logs),
    ByKey("GET", "/v1/model-catalog", catalog.snapshot_by_key),
    *INSIGHTS,
)

API: tuple[Route, ...] = (
    Public("GET", "/health", health.api_health),
    Public("GET", "/health/ready", health.ready),
    Public("GET", "/metrics", metrics.metrics),
    ByKey("GET", f"{_SCORE}/score", scores.score),
    ByKey("GET", f"{_SCORE}/speed", scores.speed),
    ByKey("GET", f"{_SCORE}/speed/sessions", sub_sessions.speed_sessions),
    ByKey("GET", f"{_SCORE}/tokens", scores.tokens),
    ByKey("GET", f"{_SCORE}/tokens/trend", scores.token_trend),
    ByKey("GET", f"{_SCORE}/skill", scores.skill),
    ByKey("GET", f"{_SCORE}/insight/sessions", sub_sessions.insight_sessions),
    ByKey("GET", f"{_SCORE}/insight/summary", scores.insight_summary),
    ByKey("GET", f"{_SCORE}/insight/rubric", sub_sessions.insight_rubric),
    ByKey("GET", f"{_SCORE}/trivia", sub_sessions.trivia),
    ByKey("GET", f"{_SCORE}/trivia/trend", trends.trivia),
    ByKey("GET", f"{_SCORE}/files", activity.files),
    ByKey("GET", f"{_SCORE}/prompts/top", activity.top_prompts),
    ByKey("GET", f"{_SCORE}/task-time", activity.task_time),
    ByKey("GET", f"{_SCORE}/model-task", activity.model_task),
    ByKey("GET", f"{_SCORE}/realtime/sub-sessions", sub_sessions.realtime),
    ByKey("GET", f"{_SCORE}/today-summary", today.summary),
    ByKey("GET", f"{_SCORE}/integrity", integrity.integrity),
    ByKey("GET", f"{_SCORE}/integrity/trend", integrity.trend),
    ByKey("GET", f"{_SCORE}/integrity/recent", integrity.recent),
    ByKey("GET", f"{_SCORE}/peer-comparison", peers.comparison),
    ByKey("GET", f"{_SCORE}/sub-sessions/<sub_session_id>", sub_sessions.detail),
    ByKey("PATCH", f"{_SCORE}/sub-sessions/<sub_session_id>", sub_sessions.edit),
    ByKey("GET", f"{_SCORE}/sub-sessions/<sub_session_id>/prompts", sub_sessions.prompts),
    ByKey("GET", f"{_SCORE}/sessions/<sub_session_id>/prompts", sub_sessions.prompts),
    ByKey("GET", f"{_SCORE}/sub-sessions/<sub_session_id>/explain", explain.explain),
    ByKey("POST", "/v1/sub-sessions/<sub_session_id>/override", overrides.override),
    ByKey("GET", "/v1/sub-sessions/accuracy", overrides.accuracy),
    ByKey("GET", "/v1/telemetry/logs", telemetry.logs),
    ByKey("GET", "/v1/telemetry/metrics", telemetry.metrics),
    ByKey("GET", "/v1/telemetry/traces", telemetry.traces),
    ByKey("GET", "/v1/telemetry/stats", telemetry.stats),
    ByKey("GET", "/v1/telemetry/analytics", telemetry.analytics),
    ByKey("POST", "/v1/telemetry/per-turn", telemetry.per_turn),
    ByKey("GET", "/v1/intelligence/throttle", intelligence.throttle),
    ByKey("GET", "/v1/intelligence/throttle/team", intelligence.throttle_of_team),
    ByKey("GET", "/v1/intelligence/rightsizing", intelligence.rightsizing),
    ByKey("GET", "/v1/team/cost", team.cost),
    ByKey("GET", "/v1/team/daily-summary", team.daily_summary),
    *INSIGHTS,
    ByKey("POST", f"{_SCORE}/admin/backfill", backfills.backfill),
    ByKey("GET", f"{_SCORE}/report", reports.latest),
    ByKey("POST", f"{_SCORE}/report/generate", reports.generate),
    ByKey("GET", f"{_SCORE}/report/history", reports.history),
    ByKey("GET", f"{_SCORE}/report/pending", reports.pending),
    ByKey("GET", f"{_SCORE}/report/status/<report_id>", reports.status),
    ByKey("POST", f"{_SCORE}/report/cancel/<report_id>", reports.cancel),
    ByKey("GET", f"{_SCORE}/report/<report_id>", reports.one),
    ByKey("DELETE", f"{_SCORE}/report/<report_id>", reports.delete),
    BySecret("GET", "/v1/model-catalog", catalog.snapshot),
    *people.ROUTES,
    BySecret("GET", f"{_ADMIN}/control/status", control.status),
    BySecret("POST", f"{_ADMIN}/control/capture", control.capture),
    BySecret("POST", f"{_ADMIN}/control/replay", control.start_replay),
    BySecret("GET", f"{_ADMIN}/control/replay", control.replay_status),
    BySecret("GET", f"{_ADMIN}/control/backfill", backfills.listed),
    BySecret("POST", f"{_ADMIN}/control/backfill", backfills.start),
    BySecret("GET", f"{_ADMIN}/control/catalog", catalog.revisions),
    BySecret("POST", f"{_ADMIN}/control/catalog", catalog.publish),
    BySecret("POST", f"{_ADMIN}/control/catalog/refresh", catalog.refresh),
    BySecret("POST", f"{_ADMIN}/control/catalog/reprice", catalog.reprice),
)


def intake_routes() -> tuple[Route, ...]:
    """Everything that the public listener answers."""
    return (*INTAKE, *otlp.routes())


def api_routes() -> tuple[Route, ...]:
    """Everything that the private listener answers, the description of both among it."""
    routes = (*API, *events.routes())
    return (*routes, *description_routes(intake_routes(), routes))


def build_intake(service: Service) -> QuartTrio:
    """The public listener: captures, and what is proxied to the outside. The internal secret means nothing here."""
    app = new_listener("intake", service, EXPORT_BYTES_MAX)
    attach(app, service, caller_of_intake, intake_routes())
    return app


def build_api(service: Service) -> QuartTrio:
    """The private listener: reads, edits and administration."""
    app = new_listener("api", service, CONTROL_BYTES_MAX)
    attach(app, service, caller_of_api, api_routes())
    return app
