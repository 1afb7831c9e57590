"""What is said of the routes that show scores, telemetry and what follows from them."""

from projections.explain import explain
from projections.prices import models as model_usage
from projections.prices import spending as team_cost
from projections.reports import days as team_day
from projections.reports import days as today
from projections.scores import activity, integrity, peers, score, skill, throttle
from projections.scores import activity as model_tasks
from projections.scores import integrity as trivia_trend
from projections.scores import skill as top_prompts
from projections.sub_sessions import detail as prompt_rows
from projections.sub_sessions import detail as sub_session_detail
from projections.sub_sessions import listing as sub_sessions
from projections.sub_sessions import overrides
from projections.telemetry import records as telemetry
from svc_http.openapi import words as q
from svc_http.openapi.words import Operation, Parameter, Plain, Schema, Table, answered_by
from svc_http.params import Trend
from svc_http.routes.activity import Listed, TaskTimesShown
from svc_http.routes.sub_sessions import EditBody, Overridden, OverrideBody
from svc_http.routes.telemetry import AnalyticsShown, Groups, TurnsBody, TurnsUse

_SCORE = "/v1/score_v3"
_NOT_YOURS = {404: "No sub-session of that id is the caller's."}
_NO_TEAM = {404: "The caller is in no active team of that id."}
_EVENT: Schema = {
    "description": "One event of the stream; what `data` holds is JSON. One without `data` only moves the id on.",
    "type": "object",
    "properties": {
        "event": {"type": "string", "pattern": r"^svc\.score_v3\.sub_session\."},
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "retry": {"type": "integer"},
    },
}


def _read(about: str, answer: object, *query: Parameter, tag: str = "Scores", **more: object) -> Operation:
    return Operation(about=about, tag=tag, query=query, answers={200: answer}, **more)  # type: ignore[arg-type]


SCORES: Table = {
    ("GET", f"{_SCORE}/score"): _read("The completion rate of a window.", answered_by(score.score), q.WINDOW),
    ("GET", f"{_SCORE}/speed"): _read("How fast goals were reached.", answered_by(score.speed), q.WINDOW),
    ("GET", f"{_SCORE}/speed/sessions"): _read(
        "The scored sub-sessions of a window, newest first.", answered_by(sub_sessions.speed_rows), q.WINDOW, *q.PAGE
    ),
    ("GET", f"{_SCORE}/tokens"): _read("What reaching goals took in tokens.", answered_by(score.tokens), q.WINDOW),
    ("GET", f"{_SCORE}/tokens/trend"): _read(
        "The tokens of the last windows.", answered_by(score.token_trend), q.WINDOW, q.POINTS
    ),
    ("GET", f"{_SCORE}/skill"): _read("Which habits prompts show.", answered_by(skill.skill), q.WINDOW),
    ("GET", f"{_SCORE}/insight/sessions"): _read(
        "Graded sub-sessions, newest first.", answered_by(sub_sessions.rubric_items), *q.PAGE
    ),
    ("GET", f"{_SCORE}/insight/summary"): _read(
        "The average prompt grade of a window.", answered_by(skill.insight_summary), q.WINDOW
    ),
    ("GET", f"{_SCORE}/insight/rubric"): _read(
        "Graded sub-sessions of a range.", answered_by(sub_sessions.rubric_items_in), *q.FROM_TO, *q.PAGE
    ),
    ("GET", f"{_SCORE}/trivia"): _read(
        "What fell below the substance floor, and why.", answered_by(sub_sessions.trivia), q.WINDOW, *q.PAGE
    ),
    ("GET", f"{_SCORE}/trivia/trend"): _read(
        "Trivia by period.", Trend[trivia_trend.TriviaPoint], *q.FROM_TO, q.PERIOD
    ),
    ("GET", f"{_SCORE}/integrity"): _read("What was flagged in a window.", answered_by(integrity.integrity), q.WINDOW),
    ("GET", f"{_SCORE}/integrity/trend"): _read(
        "Flags by period.", Trend[integrity.IntegrityPoint], *q.FROM_TO, q.PERIOD
    ),
    ("GET", f"{_SCORE}/integrity/recent"): _read(
        "The flags themselves, newest first.", answered_by(integrity.recent_flags), q.SINCE, *q.PAGE
    ),
    ("GET", f"{_SCORE}/peer-comparison"): _read(
        "The caller's completion rate beside the team's.", answered_by(peers.peer_comparison), *q.FROM_TO, q.TZ
    ),
    ("GET", f"{_SCORE}/today-summary"): _read("One day.", answered_by(today.today_summary), q.DATE_OF, q.TIMEZONE),
    ("GET", f"{_SCORE}/files"): _read("Files that were worked on.", Listed[activity.TouchedFile], *q.RANGE, *q.PAGE),
    ("GET", f"{_SCORE}/prompts/top"): _read("The best prompts.", Listed[top_prompts.TopPrompt], *q.RANGE, *q.PAGE),
    ("GET", f"{_SCORE}/task-time"): _read("Active time per sub-session.", TaskTimesShown, *q.RANGE, *q.PAGE),
    ("GET", f"{_SCORE}/model-task"): _read(
        "Models per kind of task.", Listed[model_tasks.ModelTask], *q.RANGE, *q.PAGE
    ),
}

SUB_SESSIONS: Table = {
    ("GET", f"{_SCORE}/events"): Operation(
        about="What happens to the caller's sub-sessions, as server-sent events.",
        tag="Sub-sessions",
        query=(q.LAST_EVENT_ID,),
        answers={200: Plain("text/event-stream", _EVENT)},
        refuses={429: "The caller has as many streams open as one may have."},
    ),
    ("GET", f"{_SCORE}/realtime/sub-sessions"): _read(
        "Sub-sessions as they stand now, newest first.",
        answered_by(sub_sessions.realtime),
        q.SINCE,
        *q.AGENT_SESSIONS,
        *q.PAGE,
        tag="Sub-sessions",
    ),
    ("GET", f"{_SCORE}/sub-sessions/<sub_session_id>"): _read(
        "One sub-session, under its present or a former id.",
        answered_by(sub_session_detail.sub_session_detail),
        tag="Sub-sessions",
        refuses=_NOT_YOURS,
    ),
    ("PATCH", f"{_SCORE}/sub-sessions/<sub_session_id>"): _read(
        "Name a sub-session.",
        answered_by(sub_sessions.rubric_item),
        tag="Sub-sessions",
        body=EditBody,
        refuses=_NOT_YOURS,
    ),
    ("GET", f"{_SCORE}/sub-sessions/<sub_session_id>/prompts"): _read(
        "Its prompts, each with its own grade.",
        answered_by(prompt_rows.prompt_rows),
        *q.PAGE,
        tag="Sub-sessions",
        refuses=_NOT_YOURS,
    ),
    ("GET", f"{_SCORE}/sessions/<sub_session_id>/prompts"): _read(
        "The same under another name.",
        answered_by(prompt_rows.prompt_rows),
        *q.PAGE,
        tag="Sub-sessions",
        refuses=_NOT_YOURS,
    ),
    ("GET", f"{_SCORE}/sub-sessions/<sub_session_id>/explain"): _read(
        "Why it is what it is.", answered_by(explain.explanation), tag="Sub-sessions", refuses=_NOT_YOURS
    ),
    ("POST", "/v1/sub-sessions/<sub_session_id>/override"): _read(
        "Say otherwise than what was judged.", Overridden, tag="Sub-sessions", body=OverrideBody
    ),
    ("GET", "/v1/sub-sessions/accuracy"): _read(
        "How often people let stand what was judged.",
        answered_by(overrides.accuracy),
        q.WINDOW_DAYS,
        tag="Sub-sessions",
    ),
}

TELEMETRY: Table = {
    ("GET", "/v1/telemetry/logs"): _read(
        "Log records as received.", answered_by(telemetry.logs), *q.DAY_BEFORE, q.SESSION, *q.RECORDS, tag="Telemetry"
    ),
    ("GET", "/v1/telemetry/metrics"): _read(
        "Metric points as received.",
        answered_by(telemetry.metrics),
        *q.DAY_BEFORE,
        q.SESSION,
        *q.RECORDS,
        tag="Telemetry",
    ),
    ("GET", "/v1/telemetry/traces"): _read(
        "Spans as received.", answered_by(telemetry.traces), *q.DAY_BEFORE, q.SESSION, *q.RECORDS, tag="Telemetry"
    ),
    ("GET", "/v1/telemetry/stats"): _read(
        "Records counted by hour, day or agent session.",
        Groups,
        *q.DAY_BEFORE,
        q.SIGNAL,
        q.GROUP_BY,
        q.TIMEZONE,
        tag="Telemetry",
    ),
    ("GET", "/v1/telemetry/analytics"): _read(
        "Tools, failures, models and hours of a range.", AnalyticsShown, *q.FROM_TO, *q.RANGE, tag="Telemetry"
    ),
    ("POST", "/v1/telemetry/per-turn"): _read("What some prompts used.", TurnsUse, tag="Telemetry", body=TurnsBody),
}

TEAMS: Table = {
    ("GET", "/v1/intelligence/throttle"): _read(
        "What throttling cost the caller.",
        answered_by(throttle.personal_throttle),
        *q.FROM_TO,
        q.TZ_OFFSET,
        tag="Intelligence",
    ),
    ("GET", "/v1/intelligence/throttle/team"): _read(
        "What it cost a team.",
        answered_by(throttle.team_throttle),
        q.TEAM_ID,
        *q.FROM_TO,
        q.TZ_OFFSET,
        tag="Intelligence",
        refuses=_NO_TEAM,
    ),
    ("GET", "/v1/intelligence/rightsizing"): _read(
        "What each model was used for.", answered_by(model_usage.rightsizing), *q.MONTHS_BEFORE, tag="Intelligence"
    ),
    ("GET", "/v1/team/cost"): _read(
        "What a team spent.",
        answered_by(team_cost.team_cost),
        q.TEAM_ID,
        q.WINDOW,
        q.TZ,
        tag="Team",
        refuses=_NO_TEAM,
    ),
    ("GET", "/v1/team/daily-summary"): _read(
        "What a team did in one day: counts, and a narrative where a text model wrote one.",
        answered_by(team_day.team_summary),
        q.TEAM_ID,
        q.DATE_OF,
        q.LANG,
        q.TZ,
        tag="Team",
        refuses=_NO_TEAM,
    ),
}
