"""Who gets what from which route: the contract's words on keys and people, as two tables to read.

Rows come from the contract (its listeners, its keys and people, its statuses), never from what the program does.
"""

from typing import NamedTuple

CALLERS = """
none        no credential at all
malformed   what is no key of this service
unknown     a well-formed key that nobody was given
revoked     a key of the developer themself that was revoked
former      the key of somebody who was in the organization and in the team
wrong       the internal secret with one character changed, on the developer's behalf
secret      the internal secret, on nobody's behalf
colleague   the key of another member of the organization, in no team
stranger    the key of the owner of another organization
owner       the key of the owner of the developer's organization, not in the team
delegated   the internal secret, on the developer's behalf
themself    the developer's own key
operator    no key, but the browser that `svc open --operator` opened where the server runs
"""
"""Column → who that is. Whatever is asked for belongs to the developer.

Whoever has, or had, a key has the cookie of a sign-in by it as well, which alone opens pages; 303 without one leads to
the sign-in.
"""

EXPECTED = """
kind of route                none  malformed  unknown  revoked  former  wrong  secret  colleague  stranger  owner  delegated  themself  operator
public                       ok    ok         ok       ok       ok      ok     ok      ok         ok        ok     ok         ok        ok
intake, own data             401   401        401      401      401     401    401     ok         ok        ok     401        ok        401
intake, into a session       401   401        401      401      401     401    401     409*       409*      409*   401        ok        401
intake, onto a prompt        401   401        401      401      401     401    401     404        404       404    401        ok        401
intake, export of a session  401   401        401      401      401     401    401     none*      none*     none*  401        ok        401
API, own data                401   401        401      401      401     401    403     ok         ok        ok     ok         ok        401
API, a thing of one's own    401   401        401      401      401     401    403     404        404       404    ok         ok        401
API, an override             401   401        401      401      401     401    403     400        400       400    ok         ok        401
API, a team's                401   401        401      401      401     401    403     404        404       404    ok         ok        401
API, an owner's              401   401        401      401      401     401    403     403        404       ok     403        403       401
pages, before a sign-in      ok    ok         ok       ok       ok      ok     ok      ok         ok        ok     ok         ok        ok
pages, the way in            401   401        401      401      401     401    401     401        401       401    401        401       401
pages, a link that is gone   410   410        410      410      410     410    410     410        410       410    410        410       410
pages, from elsewhere        403   403        403      403      403     403    403     403        403       403    403        403       403
pages, own data              303   303        303      303      303     303    303     ok         ok        ok     303        ok        303
pages, a team's             303   303        303      303      303     303    303     404        404       404    303        ok         303
pages, a thing of one's own  303   303        303      303      303     303    303     404        404       404    303        ok        303
pages, an owner's            303   303        303      303      303     303    303     403        ok        ok     303        403       ok
pages, a thing of an owner's 303   303        303      303      303     303    303     403        404       ok     303        403       ok
pages, an owner's link       303   303        303      303      303     303    303     403        404       409    303        403       ok
pages, the operator's        303   303        303      303      303     303    303     403        403       403    303        403       ok
pages, an override           303   303        303      303      303     303    303     400        400       400    303        ok        303
API, administration          401   401        401      401      401     401    ok      403        403       403    403        403       401
"""  # noqa: E501
"""Kind of route → status, by caller.

`ok`: the status of the route below, and with `own data` the caller's own and nothing of the developer's. `*`: all that
is stored is a flag for the caller. `none`: 200, and all of the export, or import, is rejected. Everything but `ok` and
`*` stores nothing, and says of a thing that is another's exactly what it says of one that does not exist.
"""

ROUTES = """
public
  intake GET    /health 200
  api    GET    /health 200
  api    GET    /health/ready 200
  api    GET    /metrics 200
  api    GET    /openapi.json 200
  api    GET    /docs 200
intake, own data
  intake GET    /v1/plugin/config 200
  intake POST   /v1/setup-complete 204
  intake GET    /v1/intelligence/prism 200
  intake GET    /v1/model-catalog 200
  intake GET    /v1/score_v3/realtime/sub-sessions 200
  intake GET    /v1/score_v3/today-summary 200
  intake GET    /v1/telemetry/logs 200
  intake GET    /v1/insights/report 200
  intake POST   /v1/insights/report/generate 200
  intake POST   /v1/insights/report/quick 200
intake, into a session
  intake POST   /v1/prompts 201
intake, onto a prompt
  intake POST   /v1/prompts/response 204
intake, export of a session
  intake POST   /v1/logs 200
  intake POST   /v1/metrics 200
  intake POST   /v1/traces 200
  intake POST   /v1/import 200
API, own data
  api    GET    /v1/score_v3/score 200
  api    GET    /v1/score_v3/speed 200
  api    GET    /v1/score_v3/speed/sessions 200
  api    GET    /v1/score_v3/tokens 200
  api    GET    /v1/score_v3/tokens/trend 200
  api    GET    /v1/score_v3/skill 200
  api    GET    /v1/score_v3/insight/sessions 200
  api    GET    /v1/score_v3/insight/summary 200
  api    GET    /v1/score_v3/insight/rubric 200
  api    GET    /v1/score_v3/trivia 200
  api    GET    /v1/score_v3/trivia/trend 200
  api    GET    /v1/score_v3/integrity 200
  api    GET    /v1/score_v3/integrity/trend 200
  api    GET    /v1/score_v3/integrity/recent 200
  api    GET    /v1/score_v3/peer-comparison 200
  api    GET    /v1/score_v3/realtime/sub-sessions 200
  api    GET    /v1/score_v3/events 200
  api    GET    /v1/score_v3/files 200
  api    GET    /v1/score_v3/prompts/top 200
  api    GET    /v1/score_v3/task-time 200
  api    GET    /v1/score_v3/model-task 200
  api    GET    /v1/score_v3/today-summary 200
  api    POST   /v1/score_v3/report/generate 202
  api    GET    /v1/score_v3/report/history 200
  api    GET    /v1/score_v3/report/pending 200
  api    GET    /v1/intelligence/throttle 200
  api    GET    /v1/intelligence/rightsizing 200
  api    GET    /v1/sub-sessions/accuracy 200
  api    GET    /v1/telemetry/logs 200
  api    GET    /v1/telemetry/metrics 200
  api    GET    /v1/telemetry/traces 200
  api    GET    /v1/telemetry/stats 200
  api    GET    /v1/telemetry/analytics 200
  api    POST   /v1/telemetry/per-turn 200
  api    GET    /v1/insights/report 200
  api    POST   /v1/insights/report/generate 200
  api    POST   /v1/insights/report/quick 200
API, a thing of one's own
  api    GET    /v1/score_v3/sub-sessions/<id> 200
  api    PATCH  /v1/score_v3/sub-sessions/<id> 200
  api    GET    /v1/score_v3/sub-sessions/<id>/prompts 200
  api    GET    /v1/score_v3/sessions/<id>/prompts 200
  api    GET    /v1/score_v3/sub-sessions/<id>/explain 200
  api    GET    /v1/score_v3/report 200
  api    GET    /v1/score_v3/report/status/<id> 200
  api    POST   /v1/score_v3/report/cancel/<id> 200
  api    GET    /v1/score_v3/report/<id> 200
  api    DELETE /v1/score_v3/report/<id> 204
API, an override
  api    POST   /v1/sub-sessions/<id>/override 200
API, a team's
  api    GET    /v1/team/cost 200
  api    GET    /v1/team/daily-summary 200
  api    GET    /v1/intelligence/throttle/team 200
API, an owner's
  api    POST   /v1/score_v3/admin/backfill 202
API, administration
  api    GET    /v1/model-catalog 200
  api    GET    /v1/admin/organizations 200
  api    POST   /v1/admin/organizations 201
  api    PATCH  /v1/admin/organizations/<id> 200
  api    GET    /v1/admin/developers 200
  api    POST   /v1/admin/developers 201
  api    PATCH  /v1/admin/developers/<id> 200
  api    GET    /v1/admin/memberships 200
  api    POST   /v1/admin/memberships 201
  api    PATCH  /v1/admin/memberships/<id> 200
  api    DELETE /v1/admin/memberships/<id> 204
  api    GET    /v1/admin/teams 200
  api    POST   /v1/admin/teams 201
  api    DELETE /v1/admin/teams/<id> 204
  api    GET    /v1/admin/team-memberships 200
  api    POST   /v1/admin/team-memberships 201
  api    DELETE /v1/admin/team-memberships/<id> 204
  api    GET    /v1/admin/keys 200
  api    POST   /v1/admin/keys 201
  api    DELETE /v1/admin/keys/<id> 204
  api    GET    /v1/admin/control/status 200
  api    POST   /v1/admin/control/capture 200
  api    POST   /v1/admin/control/replay 202
  api    GET    /v1/admin/control/replay 200
  api    GET    /v1/admin/control/backfill 200
  api    POST   /v1/admin/control/backfill 202
  api    GET    /v1/admin/control/catalog 200
  api    POST   /v1/admin/control/catalog 201
  api    POST   /v1/admin/control/catalog/refresh 200
  api    POST   /v1/admin/control/catalog/reprice 201
  api    POST   /v1/admin/links 201
  api    GET    /v1/admin/audit 200
  api    POST   /v1/admin/operator-links 201
pages, before a sign-in
  api    GET    /sign-in 200
  api    POST   /sign-in/provider 200
  api    GET    /static/<id> 200
  api    GET    /client/<id> 200
pages, the way in
  api    POST   /sign-in 303
pages, a link that is gone
  api    GET    /open/<id> 200
  api    POST   /open/<id> 303
  api    GET    /client/svc-client.pyz 410
pages, from elsewhere
  api    GET    /sign-in/back 200
pages, own data
  api    GET    /live 200
  api    GET    / 200
  api    GET    /goals 200
  api    GET    /not-counted 200
  api    GET    /habits 200
  api    POST   /habits/grade 200
  api    GET    /limits 200
  api    GET    /cost 200
  api    GET    /reports 200
  api    POST   /reports 303
  api    POST   /reports/schedule 303
  api    GET    /compared 200
  api    GET    /mine 200
  api    GET    /mine/goals.json 200
  api    GET    /team/lead 200
  api    POST   /mine/keys 200
  api    POST   /mine/profile 303
  api    POST   /mine/forget 303
  api    POST   /mine/forget/back 303
  api    POST   /mine/provider 200
  api    POST   /mine/sign-out 303
  api    POST   /sign-out 303
pages, a team's
  api    GET    /team 200
pages, a thing of one's own
  api    GET    /goals/<id> 200
  api    GET    /goals/<id>/say 200
  api    GET    /reports/<id> 200
  api    POST   /reports/<id>/cancel 303
  api    POST   /reports/<id>/delete 303
  api    POST   /mine/keys/<id>/revoke 303
  api    POST   /mine/browsers/<id>/end 303
  api    POST   /mine/access/<id>/keep 303
  api    POST   /mine/access/<id>/end 303
  api    POST   /mine/team-memberships/<id>/end 303
pages, an owner's
  api    GET    /operator/people 200
  api    GET    /operator/audit 200
  api    GET    /operator/audit.csv 200
  api    GET    /operator/audit.ndjson 200
pages, a thing of an owner's
  api    POST   /operator/people 200
  api    POST   /operator/teams 303
  api    POST   /operator/people/<id>/role 303
  api    POST   /operator/people/<id>/end 303
  api    POST   /operator/people/<id>/sign-out 303
  api    POST   /operator/keys/<id>/revoke 303
  api    POST   /operator/teams/<id>/add 303
  api    POST   /operator/team-memberships/<id>/end 303
pages, an owner's link
  api    POST   /operator/people/<id>/link 200
pages, the operator's
  api    GET    /operator/server 200
  api    POST   /operator/replay 303
  api    POST   /operator/sign-out 303
pages, an override
  api    POST   /goals/<id>/say 303
  api    POST   /goals/<id>/back 303
"""
"""Kind of route → listener, method, path and the status of success. A route that is not here fails the test."""


class Row(NamedTuple):
    kind: str
    listener: str
    method: str
    path: str
    ok: int

    @property
    def name(self) -> str:
        return f"{self.listener} {self.method} {self.path}"


class Wanted(NamedTuple):
    status: int
    let_in: bool
    """Whether the request is carried out."""
    flagged: bool
    """Whether a flag for the caller is stored, and nothing else."""


def callers() -> dict[str, str]:
    lines = (line.split(maxsplit=1) for line in CALLERS.strip().splitlines())
    return {name: meaning for name, meaning in lines}


def rows() -> list[Row]:
    found, kind = list[Row](), ""
    for line in ROUTES.strip().splitlines():
        if not line.startswith(" "):
            kind = line
            continue
        listener, method, path, ok = line.split()
        found.append(Row(kind, listener, method, path, int(ok)))
    return found


def expected() -> dict[str, dict[str, str]]:
    """Kind of route → caller → the cell as it is written."""
    head, *lines = EXPECTED.strip().splitlines()
    width = head.index(" none ")
    names = head[width:].split()
    assert names == list(callers()), "both tables have the same columns"
    return {line[:width].strip(): dict(zip(names, line[width:].split(), strict=True)) for line in lines}


def wanted(row: Row, cell: str) -> Wanted:
    bare = cell.removesuffix("*")
    status = row.ok if bare == "ok" else 200 if bare == "none" else int(bare)
    return Wanted(status, bare == "ok", cell.endswith("*"))
