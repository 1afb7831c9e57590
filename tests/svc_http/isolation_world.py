"""A company with all that a developer can own, those who are after it, and `tests/routes.txt` as values."""

import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import msgspec

from aggregates.ids import membership_stream, sign_in_stream
from aggregates.people import acts
from aggregates.people.entry import Account, NotProven
from aggregates.prices.catalog import PublishCatalog, Served
from svc_http.app import build_api, build_intake
from svc_http.pages.rendering import file_url
from svc_http.routes.people import digest_of
from tests.support.basics import (
    ACME,
    ANA,
    ANA_KEY,
    BEN,
    BEN_KEY,
    EVE,
    EVE_KEY,
    NOW_US,
    OTHER,
    carry_out,
    issue,
    key_of,
    named,
)
from tests.support.catalogs import document, lookup, snapshot
from tests.support.facts import DAY, HOUR, MINUTE
from tests.support.otlp import claude, counter, logs, metrics, span, traces
from tests.svc_http.browsing import FORM, carried_out
from tests.svc_http.house import SECRET, Caller, bearer, internal, over
from tests.svc_http.workshop import Workshop


class Row(NamedTuple):
    kind: str
    listener: str
    method: str
    path: str
    ok: int
    about: str  # the name of what stands for the id of its path; empty where there is none
    sent: str  # a query, JSON or a form

    @property
    def name(self) -> str:
        return f"{self.listener} {self.method} {self.path}"


class Table(NamedTuple):
    callers: dict[str, str]  # and who that is
    kinds: dict[str, dict[str, str]]  # the cell of each caller
    rows: list[Row]


class Wanted(NamedTuple):
    status: int
    let_in: bool  # whether the request is carried out
    flagged: bool  # whether a flag for the caller is stored, and nothing else


@cache
def table() -> Table:
    found, kind = Table({}, {}, []), ""
    for line in (Path(__file__).parents[1] / "routes.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith("  "):
            kind, *cells = re.split(" {2,}", line)
            if cells:
                found.kinds[kind] = dict(zip(found.callers, " ".join(cells).split(), strict=True))
        elif kind == "callers":
            name, meaning = line.split(maxsplit=1)
            found.callers[name] = meaning
        else:
            listener, method, path, ok, *sent = line.split(maxsplit=4)
            about, plain = "".join(re.findall("<(.*)>", path)), re.sub("<.*>", "<id>", path)
            found.rows.append(Row(kind, listener, method, plain, int(ok), about, "".join(sent)))
    return found


def rows() -> list[Row]:
    return table().rows


def wanted(row: Row, cell: str) -> Wanted:
    bare = cell.removesuffix("*")
    status = row.ok if bare == "ok" else 200 if bare == "none" else int(bare)
    return Wanted(status, bare == "ok", cell.endswith("*"))


SESSION = "session-of-ben-4f1c"
WORD = "zyzzyva"
"""In each of the developer's texts and paths, and nowhere else."""
NOBODYS = named("an id that nothing has")
CLEO, DAN = named("cleo"), named("dan")
DELEGATED = {"X-Org-Id": str(ACME), "X-Developer-Id": str(BEN)}
HEADERS: dict[str, Mapping[str, str]] = {
    "none": {},
    "malformed": bearer("sk-ant-" + "x" * 40),
    "unknown": bearer(key_of("nobody")),
    "revoked": bearer(key_of("ben's old one")),
    "former": bearer(key_of("dan")),
    "wrong": {"X-Internal-Secret": SECRET[:-1] + "!"} | DELEGATED,
    "secret": internal(),
    "colleague": bearer(key_of("cleo")),
    "stranger": bearer(EVE_KEY),
    "owner": bearer(ANA_KEY),
    "delegated": internal() | DELEGATED,
    "themself": bearer(BEN_KEY),
    "operator": {},
}
"""Who presents what."""
SIGNED_IN = {
    "revoked": (ACME, BEN, key_of("ben's old one")),
    "former": (ACME, DAN, key_of("dan")),
    "colleague": (ACME, CLEO, key_of("cleo")),
    "stranger": (OTHER, EVE, EVE_KEY),
    "owner": (ACME, ANA, ANA_KEY),
    "themself": (ACME, BEN, BEN_KEY),
}
"""Whose browser stands for whom, by which key."""

PEOPLE: tuple[acts.PeopleAct, ...] = (
    acts.CreateDeveloper(developer_id=CLEO, display_name="Cleo"),
    acts.CreateDeveloper(developer_id=DAN, display_name="Dan"),
    acts.StartMembership(organization_id=ACME, developer_id=CLEO),
    acts.StartMembership(organization_id=ACME, developer_id=DAN),
    issue(key_of("cleo"), ACME, CLEO),
    issue(key_of("dan"), ACME, DAN),
    issue(key_of("ben's old one"), ACME, BEN),
    acts.CreateTeam(team_id=named("core"), organization_id=ACME, name=f"Core {WORD}"),
    acts.AddTeamMember(team_membership_id=named("ben in core"), team_id=named("core"), developer_id=BEN),
    acts.AddTeamMember(team_membership_id=named("dan in core"), team_id=named("core"), developer_id=DAN),
)
"""Ben and Dan are in Core; later Dan leaves the organization, and one of Ben's keys is revoked."""
NAMES = {
    "acme": str(ACME),
    "other": str(OTHER),
    "ben": str(BEN),
    "word": WORD,
    "hour_ago": str(NOW_US - HOUR),
    "unknown_key": key_of("nobody"),
    "lookups": msgspec.json.encode(snapshot(lookup("by hand")).exact_lookups).decode(),
    "wheel": "svc-1-py3-none-any.whl",
    "style": file_url("style.css").removeprefix("/static/"),
}
"""What stands for a $name of `tests/routes.txt`, beside `Ids`."""


class Elsewhere:
    """A sign-in provider at which nobody is anybody."""

    name = "Elsewhere"

    async def address(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        return "https://login.example/"

    async def account(self, redirect_uri: str, code: str, nonce: str, verifier: str) -> Account:
        raise NotProven("nobody")


class Ids(NamedTuple):
    """What a request names; the developer's own, or ones that nothing has."""

    session: str
    prompt: str
    sub_session: str
    report: str
    team: str
    developer: str
    membership: str
    team_membership: str
    key: str
    browser: str


UNKNOWN = Ids("session-of-nobody", *[str(NOBODYS)] * 9)


class Ask(NamedTuple):
    path: str
    body: object = None
    headers: Mapping[str, str] = {}


class World:
    def __init__(self) -> None:
        self.house = Workshop()
        self.house.provider = Elsewhere()
        self.apps = {"intake": over(self.house, build_intake), "api": over(self.house, build_api)}
        self._people = partial(carried_out, self.house)
        self.ids = UNKNOWN
        self._made = 0
        self._signed_in = 0

    def caller(self, listener: str, name: str) -> Caller:
        """Somebody at a listener, with the key and the cookie that they have."""
        cookie = "operator_svc_session=operator's" if name == "operator" else f"svc_session={self._cookie(name)}"
        return Caller(self.apps[listener], {**HEADERS[name], "Cookie": cookie})

    def _cookie(self, name: str) -> str:
        return f"cookie-of-{name}-{self._signed_in}"

    def _sign_in(self) -> None:
        """Everybody signs in who has a key, and who had one when it was good."""
        self._signed_in += 1
        for name, (organization_id, developer_id, key) in SIGNED_IN.items():
            command = acts.OpenSignIn(
                sign_in_id=sign_in_stream(digest_of(self._cookie(name))),
                organization_id=organization_id,
                developer_id=developer_id,
                opened_by=named(key),
            )
            carry_out(self.house.directory, command, NOW_US)

    async def furnish(self) -> None:
        """Everything is there that a route may be asked for."""
        self.house.prices = Served(snapshot(), NOW_US)
        self.house.newest_prices = PublishCatalog(document=document(lookup("refreshed")), source="test")
        self._people(*PEOPLE, at_us=NOW_US - 30 * DAY)
        self._sign_in()
        revoked = acts.RevokeKey(credential_id=named(key_of("ben's old one")))
        left = acts.EndMembership(membership_id=membership_stream(ACME, DAN))
        self._people(revoked, left, at_us=NOW_US - 29 * DAY)
        await self._work()
        report = await self._report("2026-07-31")
        await self.house.works()
        (row,) = (await self.caller("api", "themself").get("/v1/score_v3/realtime/sub-sessions")).json
        self.ids = self.ids._replace(
            sub_session=row["sub_session_id"],
            report=report,
            team=str(named("core")),
            developer=str(BEN),
            membership=str(membership_stream(ACME, BEN)),
        )

    async def prepare(self, row: Row) -> None:  # noqa: C901  # a case for each kind of thing that is used up
        """What this route uses up is there anew."""
        self._made += 1
        self.house.operator_browsers.begin(digest_of("operator's"), self.house.now_us())
        new, path, made = named(f"made {self._made}"), row.path, dict[str, object]()
        if row.method == "GET":
            return
        if path.endswith(("/sign-out", "<id>/link")):
            self._sign_in()
        if "browsers" in path or "access" in path:
            made["browser"] = other = sign_in_stream(digest_of(f"another of ben's {self._made}"))
            came_by = None if "browsers" in path else named("ana's link")
            carried_out(
                self.house, acts.OpenSignIn(sign_in_id=other, organization_id=ACME, developer_id=BEN, came_by=came_by)
            )
        elif "/keys/<id>" in path:
            self._people(issue(key_of(str(new)), ACME, BEN))
            made["key"] = named(key_of(str(new)))
        elif path == "/v1/prompts/response":
            made["prompt"] = await self._prompt(f"{WORD} {new}", "2026-08-01T07:10:00Z")
        elif "report" in path and "<id>" in path:
            made["report"] = report = await self._report(f"2026-0{5 + ('cancel' in path)}-{self._made % 27 + 1:02}")
            if "cancel" not in path:
                await self.caller("api", "themself").post(f"/v1/score_v3/report/cancel/{report}", {})
        elif "team" in path:
            self._people(acts.CreateTeam(team_id=new, organization_id=ACME, name=str(new)))
            made |= {"team": new, "membership": membership_stream(ACME, BEN), "team_membership": named(f"stay {new}")}
            if "memberships/<id>" in path:
                carried_out(
                    self.house,
                    acts.AddTeamMember(team_membership_id=named(f"stay {new}"), team_id=new, developer_id=BEN),
                )
        elif path in ("/administration/people/<id>/link", "/administration/people/<id>/sign-out"):
            made["membership"] = membership_stream(ACME, BEN)
        elif "/administration/people" in path or "/admin/memberships" in path:
            self._people(acts.CreateDeveloper(developer_id=new, display_name=f"{WORD} {new}"))
            made |= {"membership": membership_stream(ACME, new)} | ({"developer": new} if "/admin/" in path else {})
            if path != "/v1/admin/memberships":
                self._people(acts.StartMembership(organization_id=ACME, developer_id=new))
            if path.endswith("/start"):
                self._people(acts.EndMembership(membership_id=membership_stream(ACME, new)))
        self.ids = self.ids._replace(**{name: str(each) for name, each in made.items()})

    def state(self) -> tuple[object, ...]:
        """The place in the log, how often people were changed, and what else a request may begin."""
        house = self.house
        operators = len(house.operator_links) + len(house.operator_browsers)
        return len(house.events), len(house.administered), house.replay, len(house.filling), operators

    def markers(self) -> set[str]:
        """What tells of the developer: ids and words."""
        named_ids = {each for each in self.ids if each not in UNKNOWN}
        return {WORD, SESSION, BEN_KEY} | named_ids

    async def _work(self) -> None:
        intake = self.caller("intake", "themself")
        at = (NOW_US - 5 * HOUR) * 1_000
        text = f"<b>Fix</b> the crash of {WORD} in src/{WORD}.py when the file is empty; run pytest before you stop."
        prompt = await self._prompt(text, "2026-08-01T07:00:00Z")
        self.ids = self.ids._replace(session=SESSION, prompt=prompt)
        response = {"prompt_id": prompt, "response_operation_id": "op", "response_text": f"Done, {WORD}."}
        assert (await intake.post("/v1/prompts/response", response)).status == 204
        for path, export in _exports(SESSION, at).items():
            assert (await intake.post(path, export)).json == {}
        self.house.passes(NOW_US)

    async def _prompt(self, text: str, submitted_at: str) -> str:
        prompt = {"prompt_text": text, "tool_session_id": SESSION, "submitted_at": submitted_at}
        prompt_id: str = (await self.caller("intake", "themself").post("/v1/prompts", prompt)).json["id"]
        return prompt_id

    async def _report(self, date: str) -> str:
        asked = {"period": "daily", "date": date}
        answer = await self.caller("api", "themself").post("/v1/score_v3/report/generate", asked)
        assert answer.status == 202, answer
        report_id: str = answer.json["report_id"]
        return report_id


def _exports(session: str, at_nano: int) -> dict[str, dict[str, Any]]:
    """What an agent sends of a session: a request, an edit and a check; a counter; a span."""
    own = {"session.id": session}
    edit = {"tool_name": "Edit", "success": "true", "tool_input": f'{{"file_path":"src/{WORD}.py"}}'}
    check = {"tool_name": "Bash", "success": "true", "tool_input": '{"command":"pytest -q"}'}
    usage = {"model": "claude-test-4", "input_tokens": 900, "output_tokens": 80, "cost_usd": 0.02}
    told: list[tuple[str, dict[str, Any]]] = [
        ("api_request", usage),
        ("tool_result", edit),
        ("tool_result", check),
        ("api_request", usage),
    ]
    records = [
        claude(event, own | fields, timeUnixNano=str(at_nano + number * MINUTE * 1_000))
        for number, (event, fields) in enumerate(told)
    ]
    lines = counter("claude_code.lines_of_code.count", {"asInt": 3, "timeUnixNano": str(at_nano)}, own)
    chat = span(
        "chat", {"gen_ai.conversation.id": session, "gen_ai.request.model": "m"}, startTimeUnixNano=str(at_nano)
    )
    return {"/v1/logs": logs(*records), "/v1/metrics": metrics(lines), "/v1/traces": traces(chat)}


# --- a legal request ------------------------------------------------------------------------------------------


def ask(row: Row, ids: Ids) -> Ask:
    """What to send to a route about these things."""
    named = NAMES | ids._asdict() | {"organization": str(NOBODYS if ids is UNKNOWN else ACME)}
    path, sent = row.path.replace("<id>", named.get(row.about, "")), Template(row.sent).substitute(named)
    if sent.startswith("?"):
        path, sent = path + sent, ""
    if row.kind.startswith("pages"):
        return Ask(path, sent.encode() if row.method == "POST" else None, FORM)
    if row.path in ("/v1/logs", "/v1/metrics", "/v1/traces"):
        return Ask(path, _exports(ids.session, (NOW_US - HOUR) * 1_000)[row.path])
    return Ask(path, msgspec.json.decode(sent) if sent else None)
