"""`/openapi.json` and `/docs`: the description is valid, complete, and true."""

import re
from collections.abc import Iterator
from pkgutil import get_data
from typing import Any, ClassVar
from urllib.parse import quote

import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from quart import Request
from werkzeug.datastructures import ImmutableMultiDict

from svc_http.app import api_routes, intake_routes
from tests.support.catalogs import lookup
from tests.support.described import described, escaped, validator
from tests.svc_http.house import Caller, prompt
from tests.svc_http.isolation_world import rows
from tests.svc_http.routes.test_reads import V3

ID = "00000000-0000-4000-8000-000000000000"


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and what is said of it."""
    for path, methods in described()["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


async def test_the_document_is_valid_and_needs_no_key(api: Caller) -> None:
    """OpenAPI 3.1, by the validator of its makers."""
    answer = await api.using({}).get("/openapi.json")
    assert answer.status == 200
    OpenAPIV31SpecValidator(answer.json).validate()
    urls = [server["url"] for server in answer.json["servers"]]
    assert urls == ["https://ingest.example", "/"]


def test_it_describes_just_the_routes_that_are_served() -> None:
    """Those of the contract that are built, by the listeners that serve them; pages are for people."""
    names = {"intake": "intake", "api": "API"}
    expected = {
        (row.method.lower(), row.path, names[row.listener]) for row in rows() if not row.kind.startswith("pages")
    }
    found = {
        (method, re.sub(r"\{[^}]+\}", "<id>", path), server["description"].partition(":")[0])
        for method, path, operation in operations()
        for server in operation["servers"]
    }
    assert found == expected


def test_every_route_is_described_in_words() -> None:
    """A sentence, and a 2xx answer."""
    wrong = [
        (method, path)
        for method, path, operation in operations()
        if not operation["summary"].endswith(".") or not any(each.startswith("2") for each in operation["responses"])
    ]
    assert wrong == []


def test_what_is_said_of_refusals_belongs_to_a_route() -> None:
    said = msgspec.json.decode(get_data("svc_http.openapi", "words.json") or b"")
    routes = {f"{route.method} {route.path}" for route in (*intake_routes(), *api_routes())}
    assert said["refuses"].keys() <= routes


def examples() -> Iterator[tuple[str, str, Any]]:
    """Name, pointer to the schema, and the example, of every JSON body and answer that is described."""
    for method, path, operation in operations():
        place = f"/paths/{escaped(path)}/{method}"
        bodies = {f"{place}/requestBody": operation.get("requestBody", {})}
        bodies |= {
            f"{place}/responses/{status}": answer
            for status, answer in operation["responses"].items()
            if status.startswith("2")
        }
        for pointer, body in bodies.items():
            if "application/json" in body.get("content", {}):
                content = body["content"]["application/json"]
                yield f"{method} {path}", f"{pointer}/content/application~1json/schema", content.get("example")


WITHOUT_EXAMPLE = {"get /openapi.json", "post /v1/judge/answers"}


def test_every_json_body_has_an_example_that_fits_its_schema() -> None:
    """Of what is sent and of what is answered, formats and closed lists too; in `svc_http/openapi/examples.json`."""
    assert {name for name, _, example in examples() if example is None} <= WITHOUT_EXAMPLE
    wrong = {
        name: [error.message for error in validator(pointer).iter_errors(example)]
        for name, pointer, example in examples()
        if example is not None
    }
    assert {name: found for name, found in wrong.items() if found} == {}


class Watched(ImmutableMultiDict[str, str]):
    """A query that notes what a route looks for in it."""

    asked: ClassVar[set[str]] = set()

    def __getitem__(self, key: str) -> str:
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key: str, *arguments: Any, **more: Any) -> Any:
        self.asked.add(key)
        return super().get(key, *arguments, **more)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)


def _a_query(operation: dict[str, Any]) -> str:
    needed = [each["name"] for each in operation.get("parameters", []) if each["in"] == "query" and each["required"]]
    return "?" + "&".join(f"{name}={ID}" for name in needed)


async def test_routes_read_what_is_described(api: Caller, admin: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Request, "args", property(lambda self: Watched(self.query_args())), raising=False)
    monkeypatch.setattr(Request, "query_args", lambda self: _parsed(self.query_string), raising=False)
    wrong = {}
    for method, path, operation in operations():
        if method == "get" and any("API" in server["description"] for server in operation["servers"]):
            caller = admin if {"internalSecret": []} in operation["security"] else api
            Watched.asked = set()
            await caller.get(re.sub(r"\{[^}]+\}", ID, path) + _a_query(operation))
            told = {each["name"] for each in operation.get("parameters", []) if each["in"] == "query"}
            if Watched.asked - told:
                wrong[path] = Watched.asked - told
    assert wrong == {}


def _parsed(query_string: bytes) -> list[tuple[str, str]]:
    pairs = (each.partition("=") for each in query_string.decode().split("&") if each)
    return [(name, value) for name, _, value in pairs]


def _wrong_values() -> Iterator[tuple[str, str, str]]:
    for method, path, operation in operations():
        for each in operation.get("parameters", []) if method == "get" else []:
            if each["in"] == "query" and each["schema"] != {"type": "string"}:
                yield path, each["name"], f"{_a_query(operation)}&{each['name']}=%21nonsense"


async def test_a_parameter_of_the_wrong_kind_is_refused(api: Caller, admin: Caller) -> None:
    """400 that names it: what is described as an integer, a time or a word of a list is checked."""
    for path, name, query in _wrong_values():
        caller = admin if path.startswith("/v1/admin") else api
        query = query.replace(f"{name}={ID}&", "")
        answer = await caller.get(re.sub(r"\{[^}]+\}", ID, path) + query)
        assert (answer.status in (400, 404), path, name) == (True, path, name)
        if answer.status == 400:
            assert name in answer.message, (path, name)


async def test_the_page_shows_every_route(api: Caller) -> None:
    """Every link in it leads somewhere; `test_smuggling.py` sees that it asks nobody else."""
    answer = await api.using({}).get("/docs")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    page = answer.body.decode()
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(re.findall(r'id="([^"]*)"', page))
    assert [path for _, path, _ in operations() if path not in page] == []


def _described(pointer: str, value: object) -> bool:
    return not list(validator(pointer).iter_errors(value))


_TIMES = {
    **dict.fromkeys(("1970-01-01", "9998-12-31", "2026-08-01T09:00:00Z", "2026-08-01T09:00:00.5+05:30"), True),
    **dict.fromkeys(("1969-12-31", "9999-01-01", "0937-06-23", "0700-06-17T01:00:00Z", "yesterday", ""), False),
}


@pytest.mark.parametrize(("text", "taken"), _TIMES.items())
async def test_a_time_is_of_the_years_that_are_described(api: Caller, text: str, taken: bool) -> None:
    """The formats of JSON Schema know every year."""
    assert _described("/paths/~1v1~1score_v3~1integrity~1recent/get/parameters/0/schema", text) == taken
    answer = await api.get(f"{V3}/integrity/recent?from={quote(text)}")
    assert answer.status == (200 if taken else 400)


_TAKEN: dict[str, tuple[object, bool]] = {
    "no metadata": (prompt(metadata=None), True),
    "numbers, lists and texts": (prompt(metadata={"a": [1, 2.5, None, {"b": "c"}]}), True),
    "NUL deep inside": (prompt(metadata={"a": [{"b": "\0"}]}), False),
    "NUL in a name": (prompt(metadata={"a": {"\0": 1}}), False),
    "a list as metadata": (prompt(metadata=[]), False),
}
_LOOKUPS: dict[str, Any] = {
    "a blank id": lookup(external_model_id=" "),
    "an empty name": lookup(model={"status": "known", "canonical_model_id": "m", "display_name": ""}),
    "a provider with a line end": lookup(provider={"status": "observed", "provider": "a\nb"}),
}


@pytest.mark.parametrize("case", [*_TAKEN, *_LOOKUPS])
async def test_a_body_is_taken_as_it_is_described(intake: Caller, admin: Caller, case: str) -> None:
    """Metadata of prompts; and no text of a catalog is blank, and each can be shown."""
    if case in _TAKEN:
        body, taken = _TAKEN[case]
        caller, path, name = intake, "/v1/prompts", "PromptBody"
    else:
        body, taken = {"document": {"exact_lookups": [_LOOKUPS[case]]}}, False
        caller, path, name = admin, "/v1/admin/control/catalog", "PublishBody"
    assert _described(f"/components/schemas/{name}", body) == taken
    assert (await caller.post(path, body)).status == (201 if taken else 400)


async def test_a_whole_number_may_be_written_with_a_fraction(intake: Caller) -> None:
    """JSON Schema, and many a serializer, know no difference between 3 and 3.0."""
    sent = b'{"prompt_text":"It says 1.0, \\"2.0\\"","tool_session_id":"s","original_char_count":%s}'
    taken = dict.fromkeys((b"3.0", b"3e2"), 201) | dict.fromkeys((b"3.5", b"-1.0", b"1e300", b"1e400"), 400)
    for number, status in taken.items():
        assert (await intake.post("/v1/prompts", sent % number)).status == status, number


async def test_what_is_unknown_may_hold_anything(intake: Caller) -> None:
    assert (await intake.post("/v1/prompts", prompt() | {"later\0": {"x": "\0"}})).status == 201
