"""What is said of the routes of reports."""

from projections import insights, reports
from svc_http.openapi import parameters as q
from svc_http.openapi.words import OneOf, Operation, Table, answered_by
from svc_http.reports import GenerateBody, NonePending, ReportStarted

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
