"""What is said of the routes behind the internal secret."""

from aggregates.prices.catalog import RevisionRecord
from aggregates.prices.decide import Published, Repriced
from aggregates.reports.backfill import BackfillRecord
from svc_http.openapi import words as q
from svc_http.openapi.words import Operation, Plain, Table
from svc_http.ports import ReplayStatus, Status
from svc_http.routes import people
from svc_http.routes.catalog import PublishBody, RepriceBody
from svc_http.routes.operations import ReplayBody
from svc_http.routes.reports import AdminBackfillBody, BackfillBody

_ADMIN = "/v1/admin"
_CONTROL = f"{_ADMIN}/control"
_COMMANDS = Plain("application/msgpack", {})
_NO_MEMBER = {404: "There is no such organization, or nobody of that id in it.", 409: "Too many run already."}
_GONE = {404: "There is nothing of that id."}
_STATUS = {"GET": 200, "POST": 201, "PATCH": 200, "DELETE": 204}

PEOPLE: Table = {
    (each.method, f"{_ADMIN}/{each.path}"): Operation(
        about=each.about,
        tag="Administration",
        query=(*q.PAGE, *q.FILTERS) if each.method == "GET" else (),
        body=each.body,
        answers={_STATUS[each.method]: each.answer},
        refuses=(_GONE if "<" in each.path else {}) | dict(each.refuses),
    )
    for each in people.PEOPLE
}

CONTROL: Table = {
    ("GET", f"{_CONTROL}/status"): Operation(about="The running server.", tag="Control", answers={200: Status}),
    ("POST", f"{_CONTROL}/capture"): Operation(
        about="Carry out commands of the command line.", tag="Control", body=_COMMANDS, answers={200: _COMMANDS}
    ),
    ("POST", f"{_CONTROL}/replay"): Operation(
        about="Build the scores anew from the log.",
        tag="Control",
        body=ReplayBody,
        answers={202: ReplayStatus},
        refuses={404: "There is no such rule set."},
    ),
    ("GET", f"{_CONTROL}/replay"): Operation(
        about="How far the newest replay has come.", tag="Control", answers={200: ReplayStatus}
    ),
    ("POST", "/v1/score_v3/admin/backfill"): Operation(
        about="Have the sub-sessions of a range judged again; for owners.",
        tag="Control",
        body=BackfillBody,
        answers={202: BackfillRecord},
        refuses=_NO_MEMBER,
    ),
    ("POST", f"{_CONTROL}/backfill"): Operation(
        about="The same, for any organization.",
        tag="Control",
        body=AdminBackfillBody,
        answers={202: BackfillRecord},
        refuses=_NO_MEMBER,
    ),
    ("GET", f"{_CONTROL}/backfill"): Operation(
        about="Every backfill, newest first, and how far it has come.",
        tag="Control",
        query=(q.LIMIT,),
        answers={200: list[BackfillRecord]},
    ),
    ("GET", f"{_CONTROL}/catalog"): Operation(
        about="Stored revisions of the model catalog, newest first.",
        tag="Control",
        query=(q.LIMIT,),
        answers={200: list[RevisionRecord]},
    ),
    ("POST", f"{_CONTROL}/catalog"): Operation(
        about="Publish a model catalog: 200 where the newest one says the same.",
        tag="Control",
        body=PublishBody,
        answers={201: Published, 200: Published},
    ),
    ("POST", f"{_CONTROL}/catalog/refresh"): Operation(
        about="Ask the source of prices now.",
        tag="Control",
        answers={200: Published},
        refuses={502: "The source gave nothing that can be used."},
    ),
    ("POST", f"{_CONTROL}/catalog/reprice"): Operation(
        about="Price what has no price yet.",
        tag="Control",
        body=RepriceBody,
        answers={201: Repriced},
        refuses={404: "There is no such organization."},
    ),
}
