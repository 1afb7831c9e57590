"""What is said of the routes behind the internal secret."""

from typing import Any

from aggregates.people.shown import (
    DeveloperRecord,
    KeyRecord,
    MembershipRecord,
    OrganizationRecord,
    TeamMembershipRecord,
    TeamRecord,
)
from aggregates.prices.catalog import RevisionRecord
from aggregates.prices.decide import Published, Repriced
from aggregates.reports.backfill import BackfillRecord
from svc_http.openapi import words as q
from svc_http.openapi.words import Operation, Plain, Table
from svc_http.ports import ReplayStatus, Status
from svc_http.routes import people as admin
from svc_http.routes.catalog import PublishBody, RepriceBody
from svc_http.routes.operations import ReplayBody
from svc_http.routes.reports import AdminBackfillBody, BackfillBody

_ADMIN = "/v1/admin"
_CONTROL = f"{_ADMIN}/control"
_LISTED = (*q.PAGE, *q.FILTERS)
_COMMANDS = Plain("application/msgpack", {})
_NO_MEMBER = {404: "There is no such organization, or nobody of that id in it.", 409: "Too many run already."}
_NO_MEMBER_YET = "The developer is no member of the organization: start a membership first."
_GONE = {404: "There is nothing of that id."}


def _list(about: str, record: Any) -> Operation:
    return Operation(about=about, tag="Administration", query=_LISTED, answers={200: list[record]})


def _create(about: str, body: Any, record: Any, **refuses: str) -> Operation:
    told = {int(status[1:]): text for status, text in refuses.items()}
    return Operation(about=about, tag="Administration", body=body, answers={201: record}, refuses=told)


def _change(about: str, body: Any, record: Any, **refuses: str) -> Operation:
    told = _GONE | {int(status[1:]): text for status, text in refuses.items()}
    return Operation(about=about, tag="Administration", body=body, answers={200: record}, refuses=told)


def _end(about: str) -> Operation:
    return Operation(about=about, tag="Administration", answers={204: None}, refuses=_GONE)


PEOPLE: Table = {
    ("GET", f"{_ADMIN}/organizations"): _list("Every organization.", OrganizationRecord),
    ("POST", f"{_ADMIN}/organizations"): _create("Found an organization.", admin.OrganizationBody, OrganizationRecord),
    ("PATCH", f"{_ADMIN}/organizations/<organization_id>"): _change(
        "Change settings: what is absent stays.", admin.OrganizationChange, OrganizationRecord
    ),
    ("GET", f"{_ADMIN}/developers"): _list("Every developer, with how far they have come.", admin.DeveloperShown),
    ("POST", f"{_ADMIN}/developers"): _create("Enter a developer.", admin.DeveloperBody, DeveloperRecord),
    ("PATCH", f"{_ADMIN}/developers/<developer_id>"): _change(
        "Change a profile: what is absent or null stays.", admin.DeveloperChange, DeveloperRecord
    ),
    ("GET", f"{_ADMIN}/memberships"): _list("Every membership, ended ones too.", MembershipRecord),
    ("POST", f"{_ADMIN}/memberships"): _create(
        "Take a developer into an organization.",
        admin.MembershipBody,
        MembershipRecord,
        _404="There is no such organization or developer.",
        _409="The developer is a member already.",
    ),
    ("PATCH", f"{_ADMIN}/memberships/<membership_id>"): _change(
        "Change a role.", admin.MembershipChange, MembershipRecord, _409="The membership has ended."
    ),
    ("DELETE", f"{_ADMIN}/memberships/<membership_id>"): _end("End a membership; its keys open nothing any more."),
    ("GET", f"{_ADMIN}/teams"): _list("Every team, inactive ones too.", TeamRecord),
    ("POST", f"{_ADMIN}/teams"): _create(
        "Form a team.", admin.TeamBody, TeamRecord, _404="There is no such organization."
    ),
    ("DELETE", f"{_ADMIN}/teams/<team_id>"): _end("Make a team inactive."),
    ("GET", f"{_ADMIN}/team-memberships"): _list("Every stay in a team, ended ones too.", TeamMembershipRecord),
    ("POST", f"{_ADMIN}/team-memberships"): _create(
        "Put a developer into a team.",
        admin.TeamMembershipBody,
        TeamMembershipRecord,
        _404="There is no such active team.",
        _409=f"The developer is in the team already. {_NO_MEMBER_YET}",
    ),
    ("DELETE", f"{_ADMIN}/team-memberships/<team_membership_id>"): _end("End a stay in a team."),
    ("GET", f"{_ADMIN}/keys"): _list("Every key by its first characters.", KeyRecord),
    ("POST", f"{_ADMIN}/keys"): _create(
        "Make a key; it is shown this once.",
        admin.KeyBody,
        admin.KeyShown,
        _404="There is no such developer.",
        _409=_NO_MEMBER_YET,
    ),
    ("DELETE", f"{_ADMIN}/keys/<key_id>"): _end("Revoke a key, from the very next request on."),
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
