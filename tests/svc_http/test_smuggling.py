"""What is tried with headers, addresses and texts: two credentials, hidden ones, half ones, other spellings, markup."""

import hmac
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest
from quart_trio import QuartTrio
from structlog.testing import capture_logs
from werkzeug.datastructures import Headers

from aggregates.people.directory import Directory, Key
from aggregates.people.entry import authenticate
from svc_http.app import build_api, build_intake
from tests.support.basics import ACME, ANA, ANA_KEY, BEN, BEN_KEY, EVE, EVE_KEY, OTHER, key_of, named
from tests.support.described import described
from tests.support.tables import lines_of
from tests.svc_http.house import SECRET, Answer, Caller, House, bearer, internal, over, prompt
from tests.svc_http.isolation_world import rows

MINE = "/v1/score_v3/realtime/sub-sessions"
"""On both listeners, and it shows whose it is."""
ADMIN = "/v1/admin/keys"
Sent = Sequence[tuple[str, str]]
ANAS, BENS = ("Authorization", f"Bearer {ANA_KEY}"), ("X-API-Key", BEN_KEY)
NAMES = {
    **{"ana": ANA_KEY, "ben": BEN_KEY, "eve": EVE_KEY, "acme": str(ACME), "other": str(OTHER)},
    **{"hers": str(ANA), "his": str(BEN), "theirs": str(EVE), "nobody": str(named("nobody"))},
    **{"secret": SECRET, "half": SECRET[:-1], "longer": SECRET + "x", "SECRET": SECRET.upper()},
}
"""What stands for a $name of test_smuggling.txt."""


@pytest.fixture
async def house(house: House) -> House:
    """Ana and Ben have each a session that is called like them."""
    intake = Caller(over(house, build_intake), {})
    for name, key in (("ana", ANA_KEY), ("ben", BEN_KEY)):
        assert (await intake.using(bearer(key)).post("/v1/prompts", prompt(tool_session_id=name))).status == 201
    return house


@pytest.fixture
def apps(house: House) -> dict[str, QuartTrio]:
    return {"intake": over(house, build_intake), "api": over(house, build_api)}


async def ask(app: QuartTrio, sent: Sent, path: str = MINE, method: str = "GET", body: bytes = b"") -> Answer:
    """A request with just these headers, in this order, some of them twice."""
    client: Any = app.test_client(use_cookies=False)
    response: Any = await client.open(path, method=method, data=body, headers=Headers(list(sent)))
    return Answer(response.status_code, response.headers, await response.get_data(as_text=False))


async def test_what_is_tried_with_headers(apps: dict[str, QuartTrio]) -> None:
    """The status at each listener; and whoever gets in is whom the one credential names. None opens administration:
    401, or 403 for a key that is known and for the secret on somebody's behalf."""
    for _, line in lines_of(Path(__file__).with_suffix(".txt")):
        case, told, expected = line.split(" => ")
        parts = (re.sub(r"\$(\w+)", lambda found: NAMES[found[1]], each).partition(": ") for each in told.split(" | "))
        sent = [(name, value) for name, _, value in parts]
        at_intake, at_api = map(int, expected.split())
        for listener, status in (("intake", at_intake), ("api", at_api)):
            answer = await ask(apps[listener], sent)
            assert answer.status == status, (case, answer)
            if status == 200:
                who = "ana" if ANA_KEY in str(sent) else "ben"
                assert [row["agent_session_id"] for row in answer.json] == [who], case
        answer = await ask(apps["api"], sent, ADMIN)
        assert answer.status in ((403, 401) if at_api == 401 else (403, 400)), (case, answer)
        assert ANA_KEY[:12] not in answer.body.decode()


async def test_another_method_or_address_in_a_header_is_not_obeyed(apps: dict[str, QuartTrio]) -> None:
    """What was asked for is what stands in the first line."""
    for name, value in (("X-HTTP-Method-Override", "DELETE"), ("X-Original-URL", ADMIN), ("X-Rewrite-URL", "/health")):
        assert (await ask(apps["api"], [ANAS, (name, value)])).json[0]["agent_session_id"] == "ana"
    assert (await ask(apps["api"], [("X-Original-URL", "/health")])).status == 401


SPELLINGS = """
    /{0} {0}/ {0}/. {0};x=y {0}%00 {0}%20 /v1//admin/keys /V1/admin/keys /v1/./admin/keys /v1/x/../admin/keys
    /v1/admin%2fkeys /v1/%61dmin/keys /v1/admin/keys?x=/health /health/..%2f.. /health/../v1/admin/keys
    /docs/../v1/admin/keys /v1/admin/keys%3f /v1/admin\\keys /v1/admin/%2e%2e/admin/keys
"""


async def test_no_spelling_of_an_address_goes_around_its_door(apps: dict[str, QuartTrio]) -> None:
    """It is the route, with its door, or no route."""
    for path in SPELLINGS.format(ADMIN).split():
        assert (await ask(apps["api"], [], path)).status in (401, 404, 405), path
        assert (await ask(apps["api"], [ANAS], path)).status in (403, 404, 405), path


async def test_asking_for_the_head_alone_takes_the_same_credential(apps: dict[str, QuartTrio]) -> None:
    """Of every route that is read."""
    guarded = [row for row in rows() if row.method == "GET" and row.kind != "public" and "pages" not in row.kind]
    for row in guarded:
        path = row.path.replace("<id>", str(named("x")))
        assert (await ask(apps[row.listener], [], path, "HEAD")).status == 401, row
    assert len(guarded) > 40


ODD = [
    "' OR 1=1; DROP TABLE turns; --",
    "ana",
    "\u0430n\u0430 \U0001f642",
    '" UNION SELECT * FROM captures --',
    "%",
    "\0",
]
"""What a careless query would obey, or take for somebody else's."""


async def test_no_parameter_is_part_of_a_query(house: House, apps: dict[str, QuartTrio]) -> None:
    """Every parameter of every read that the description names, and every id in an address: it is a value."""
    told = {re.sub("{.*?}", "<id>", path): methods for path, methods in described()["paths"].items()}
    tables = house._views.execute("SELECT name, sql FROM sqlite_master").fetchall()
    asked = [
        (row, path)
        for row in rows()
        if row.method == "GET" and row.kind != "API, administration" and "pages" not in row.kind
        for path in _odd_paths(row.path, told[row.path]["get"].get("parameters", []))
    ]
    for row, path in asked:
        answer = await ask(apps[row.listener], [BENS], path)
        assert answer.status in (200, 400, 404), (row, path, answer)
        assert answer.status == 400 or b'"ana"' not in answer.body, (row, path, answer)
    assert len(asked) > 250
    assert house._views.execute("SELECT name, sql FROM sqlite_master").fetchall() == tables


def _odd_paths(path: str, parameters: list[dict[str, Any]]) -> Iterator[str]:
    """A query for each of the parameters and odd values, and the odd values in the place of an id."""
    for each in parameters:
        if each["in"] == "query":
            yield from (f"{path}?{urlencode({each['name']: odd})}" for odd in ODD[:3])
    if "<id>" in path:
        yield from (path.replace("<id>", quote(odd, safe="")) for odd in ODD)


# --- keys -----------------------------------------------------------------------------------------------------


async def test_a_key_in_an_address_is_ignored_and_not_noted(house: House) -> None:
    """Neither in a query nor in a path; the log and the counters hold routes, not addresses."""
    house.settings = msgspec.structs.replace(house.settings, access_log=True)
    paths = [f"{MINE}?{name}={ANA_KEY}" for name in ("key", "api_key", "access_token", "X-API-Key", "Authorization")]
    with capture_logs() as lines:
        for app in (over(house, build_intake), over(house, build_api)):
            assert {(await ask(app, [], path)).status for path in paths} == {401}
            assert (await ask(app, [], f"/v1/{ANA_KEY}")).status == 404
            own = await ask(app, [BENS, ("X-Request-Id", ANA_KEY)], paths[0])
            assert [row["agent_session_id"] for row in own.json] == ["ben"]
            assert ANA_KEY not in str(own.headers)
    assert len(lines) >= 14
    assert ANA_KEY not in str(lines) + str(house.observed)


async def test_a_key_is_looked_up_by_its_digest_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """No look-up, no query and no event is given the key itself, known or unknown."""
    looked: list[str] = []

    def noted(directory: Directory, key_digest: str, now_us: int) -> Any:
        looked.append(key_digest)
        return authenticate(directory, key_digest, now_us)

    monkeypatch.setattr("svc_http.routing.entry.authenticate", noted)
    queries: list[str] = []
    house._views.set_trace_callback(queries.append)
    keys = [ANA_KEY, key_of("nobody")]
    for key in keys:
        await Caller(over(house, build_api), bearer(key)).get(MINE)
        await Caller(over(house, build_intake), bearer(key)).post("/v1/prompts", prompt())
    assert looked == [sha256(key.encode()).hexdigest() for key in keys for _ in range(2)]
    assert queries
    told = f"{queries} {house.events} {house.directory.all(Key)} {house.observed}"
    assert [key for key in keys if key in told] == []


async def test_the_secret_is_compared_in_constant_time(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """By nothing else: what the comparison says is what counts."""
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return False

    monkeypatch.setattr(hmac, "compare_digest", compare)
    api = Caller(over(house, build_api), internal())
    assert (await api.get(ADMIN)).status == 401
    assert (await api.get("/v1/model-catalog")).status == 401
    assert compared == [(SECRET.encode(), SECRET.encode())] * 2


# --- markup ---------------------------------------------------------------------------------------------------

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"&"


async def test_the_one_page_holds_nothing_that_acts(house: House) -> None:
    """No script and no frame, nothing of another host, and what an operator has set is text in it."""
    house.settings = msgspec.structs.replace(house.settings, ingest_url=f"https://x/{MARKUP}", version=MARKUP)
    answer = await ask(over(house, build_api), [], "/docs")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    page = answer.body.decode()
    assert re.findall(r"<(?:script|img|iframe|object|form|link|base|svg)\b|<[^>]*\son\w+=", page) == []
    assert re.findall(r'<[^>]*\s(?:href|src|action)="(?!#|/openapi\.json)[^"]*"', page) == []
    assert "&lt;script&gt;" in page


async def test_markup_that_is_sent_is_answered_as_json(house: House) -> None:
    """Never as HTML: as a word of an address, of a query, of a body, and as a prompt that is read back."""
    intake, api = Caller(over(house, build_intake), bearer()), Caller(over(house, build_api), bearer())
    captured = await intake.post("/v1/prompts", prompt(MARKUP, tool_session_id=MARKUP))
    refused = await intake.post("/v1/prompts", prompt(submitted_at=MARKUP))
    wrong = await api.get(f"/v1/score_v3/score?{urlencode({'window': MARKUP})}")
    read = await api.get(f"{MINE}?{urlencode({'agent_session_id': MARKUP})}")
    nowhere = await api.get(f"/v1/{quote(MARKUP)}")
    answers = [captured, refused, wrong, read, nowhere]
    assert [each.status for each in answers] == [201, 400, 400, 200, 404]
    assert {each.headers["Content-Type"] for each in answers} == {"application/json"}
    assert len(read.json) == 1
