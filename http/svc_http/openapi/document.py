"""The OpenAPI document: made of the tables of routes, what is said of each, and the types they decode and answer."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, get_args
from zoneinfo import available_timezones

import msgspec
import trio
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.judging.floor import TriviaReason
from aggregates.people.commands import LANGUAGE, NAME_CHARACTERS_MAX
from aggregates.reading.verdicts import INTENTS, JudgeStatus
from aggregates.scores.grades import RUBRIC_LADDER
from svc_http.errors import RETRY_AFTER_SECONDS, ErrorBody
from svc_http.listener import ByKey, BySecret, Public, Route
from svc_http.openapi.administration import CONTROL, PEOPLE
from svc_http.openapi.captures import CAPTURES, REPORTS, SERVICE
from svc_http.openapi.reads import SCORES, SUB_SESSIONS, TEAMS, TELEMETRY
from svc_http.openapi.words import YEARS, OneOf, Operation, Parameter, Plain, Schema, Table
from svc_http.ports import Service

OPERATIONS: Table = {
    **SERVICE,
    **CAPTURES,
    **SCORES,
    **SUB_SESSIONS,
    **TELEMETRY,
    **TEAMS,
    **REPORTS,
    **PEOPLE,
    **CONTROL,
}
"""What is said of every route; whoever builds one adds it to a table of these, or a table of their own to these."""


_ID_IN_PATH = re.compile(r"<([^>]+)>")


_REF = "#/components/schemas/{name}"


_REQUEST_ID = {"X-Request-Id": {"description": "Under which the log knows the request.", "schema": {"type": "string"}}}


_ERRORS = {
    400: "The request cannot be understood, or breaks a rule.",
    401: "No credential, or none that opens anything.",
    403: "Who was identified may not do this.",
    404: "There is nothing of that id in the caller's scope.",
    409: "It contradicts what is known.",
    408: "The body did not arrive in time.",
    413: "The body is too large, as sent or as unpacked.",
    415: "The content type or encoding is not taken.",
    429: "Too many at once.",
    500: "A fault of this program; the log knows more under the request's id.",
    502: "What this service asked gave nothing that can be used.",
    503: "It cannot be taken or answered now.",
}


_OTHER = "Anything else, such as a path or method that this listener does not serve."


_SECURITY: dict[type[Route], dict[str, list[dict[str, list[str]]]]] = {
    Public: {"intake": [{}], "api": [{}]},
    ByKey: {
        "intake": [{"bearer": []}, {"apiKey": []}],
        "api": [
            {"bearer": []},
            {"apiKey": []},
            {"internalSecret": [], "delegatedOrganization": [], "delegatedDeveloper": []},
        ],
    },
    BySecret: {"intake": [], "api": [{"internalSecret": []}]},
}


def document(tables: Mapping[str, Sequence[Route]], version: str, ingest_url: str) -> dict[str, Any]:
    """`tables`: the routes of the listeners `intake` and `api`."""
    examples = _examples()
    types = _Types(_said_types(tables))
    servers = {
        "intake": {"url": ingest_url or "/", "description": "intake: public, takes captures"},
        "api": {"url": "/", "description": "API: private, answers reads and administration"},
    }
    paths: dict[str, dict[str, Any]] = {}
    for method, path in sorted(_keys(tables), key=lambda key: (key[1], key[0])):
        routes = {name: route for name, table in tables.items() for route in table if _key(route) == (method, path)}
        built = _operation(OPERATIONS.get((method, path)), routes, types, examples.get(f"{method} {path}", {}))
        built["servers"] = [servers[name] for name in routes]
        paths.setdefault(_ID_IN_PATH.sub(r"{\1}", path), {})[method.lower()] = built
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "svc",
            "version": version,
            "description": "Takes in what AI coding agents report, and shows how well they were worked with.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": list(servers.values()),
        "paths": paths,
        "components": {
            "schemas": types.components | {"Json": JSON, "Timezone": TIMEZONE},
            "responses": {str(status): _error(status, types) for status in _ERRORS} | {"other": _error(None, types)},
            "securitySchemes": _SCHEMES,
        },
    }


_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A developer's key: svc_ or gck_ and 43 characters."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key."},
    "internalSecret": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Internal-Secret",
        "description": "What lies in the data folder under internal-secret; the API only.",
    },
    "delegatedOrganization": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Org-Id",
        "description": "Beside the internal secret: on whose behalf, together with X-Developer-Id.",
    },
    "delegatedDeveloper": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Developer-Id",
        "description": "Beside the internal secret: on whose behalf, together with X-Org-Id.",
    },
}


class _Types:
    """Every type that any route decodes or answers, as schemas."""

    def __init__(self, types: Iterable[Any]) -> None:
        wanted = list(types)
        schemas, components = msgspec.json.schema_components(wanted, ref_template=_REF)
        self._schemas = list(zip(wanted, schemas, strict=True))
        self.components = dressed(components)

    def schema(self, wanted: Any) -> Schema:
        """The schema of one of them, mostly a reference."""
        if isinstance(wanted, OneOf):
            return {"anyOf": [self.schema(each) for each in wanted.types]}
        return next(schema for known, schema in self._schemas if known == wanted)


def _said_types(tables: Mapping[str, Sequence[Route]]) -> list[Any]:
    found: list[Any] = [ErrorBody]
    for key in sorted(_keys(tables)):
        said = OPERATIONS.get(key)
        if said is not None:
            answers = [part for answer in said.answers.values() for part in _parts(answer)]
            named = [each for each in (said.body, *answers) if each is not None and not isinstance(each, Plain)]
            found += [kind for each in named for kind in (each.types if isinstance(each, OneOf) else (each,))]
    return found


def _parts(answer: Any) -> tuple[Any, ...]:
    """The forms in which an answer comes: one, but for health."""
    return answer if isinstance(answer, tuple) else (answer,)


def _keys(tables: Mapping[str, Sequence[Route]]) -> set[tuple[str, str]]:
    return {_key(route) for table in tables.values() for route in table}


def _key(route: Route) -> tuple[str, str]:
    return route.method, route.path


def _examples() -> dict[str, dict[str, Any]]:
    text = files("svc_http.openapi").joinpath("examples.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, dict[str, Any]])


def _operation(
    said: Operation | None, routes: Mapping[str, Route], types: _Types, example: Mapping[str, Any]
) -> dict[str, Any]:
    """One method of one path."""
    (method, path), said = _key(next(iter(routes.values()))), said or Operation(about="Not described yet.", tag="Other")
    built: dict[str, Any] = {
        "summary": said.about,
        "operationId": re.sub(r"\W+", "_", f"{method.lower()}{path}").strip("_"),
        "tags": [said.tag],
        "security": _security(routes),
        "responses": _answers(said, routes, types, example),
    }
    parameters = [_in_path(name) for name in _ID_IN_PATH.findall(path)] + [_in_query(each) for each in said.query]
    if parameters:
        built["parameters"] = parameters
    if said.body is not None:
        content = _content(said.body, types, example.get("body"))
        built["requestBody"] = {"required": said.body_required, "content": content}
    return built


def _security(routes: Mapping[str, Route]) -> list[dict[str, list[str]]]:
    found: list[dict[str, list[str]]] = []
    for name, route in routes.items():
        found += [each for each in _SECURITY[type(route)][name] if each not in found]
    return found


def _in_path(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}


def _in_query(said: Parameter) -> Schema:
    return {
        "name": said.name,
        "in": said.place,
        "required": said.required,
        "description": said.about,
        "schema": said.schema,
    }


def _answers(said: Operation, routes: Mapping[str, Route], types: _Types, example: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict.fromkeys(said.answers, example.get("answer"))
    built = {
        str(status): {"description": _OK.get(status, _ERRORS.get(status, "")), "headers": _REQUEST_ID}
        | ({"content": _content(answer, types, shown[status] if status < 400 else None)} if answer is not None else {})
        for status, answer in said.answers.items()
    }
    for status in _errors(said, routes):
        built.setdefault(str(status), {"$ref": f"#/components/responses/{status}"})
    for status, why in said.refuses.items():
        built[str(status)] = _error(status, types) | {"description": why}
    return dict(sorted(built.items())) | {"default": {"$ref": "#/components/responses/other"}}


_OK = {
    200: "As asked.",
    201: "Created; on disk.",
    202: "Begun.",
    204: "Done; there is nothing to say.",
}


def _errors(said: Operation, routes: Mapping[str, Route]) -> set[int]:
    """What follows from the kind of the route, its query, its path and its body."""
    found = {500}
    if not all(isinstance(route, Public) for route in routes.values()):
        found |= {401, 503} | ({400, 403} if "api" in routes else set())
    if said.query:
        found.add(400)
    if said.body is not None:
        found |= {400, 408, 413, 415}
    if any("<" in route.path for route in routes.values()):
        found.add(404)
    return found


def _error(status: int | None, types: _Types) -> dict[str, Any]:
    headers: dict[str, Any] = dict(_REQUEST_ID)
    if status == 401:
        headers["WWW-Authenticate"] = {"schema": {"type": "string", "const": "Bearer"}}
    if status == 503:
        headers["Retry-After"] = {
            "description": "In seconds; left out where trying again would not help.",
            "schema": {"type": "integer", "const": RETRY_AFTER_SECONDS},
        }
    about = _OTHER if status is None else _ERRORS[status]
    shown = {"code": status or 404, "message": about}
    content = {"application/json": {"schema": types.schema(ErrorBody), "example": shown}}
    return {"description": about, "headers": headers, "content": content}


def _content(wanted: Any, types: _Types, example: Any) -> dict[str, Any]:
    """A body in each of its forms; the example belongs to the JSON one."""
    built: dict[str, Any] = {}
    for each in _parts(wanted):
        media = each.media if isinstance(each, Plain) else "application/json"
        built[media] = {"schema": each.schema if isinstance(each, Plain) else types.schema(each)}
        if example is not None and media == "application/json":
            built[media]["example"] = example
    return built


# What types do not say of their fields: which texts are times, ids, or words of a closed list.

TIMEZONE: Schema = {
    "title": "Timezone",
    "description": "The name of an IANA time zone; those that this machine knows.",
    "type": "string",
    "enum": sorted(available_timezones()),
}


_TIME: Schema = {"format": "date-time"}


_ID: Schema = {"format": "uuid"}


_INTENT: Schema = {"enum": [*INTENTS, "unclassified"]}


_LETTER: Schema = {"enum": [*RUBRIC_LADDER, "N/A"]}


_ANSWERED: dict[str, Schema] = {
    "letter_grade": _LETTER,
    "grade": {"enum": list(RUBRIC_LADDER)},
    "intent_class": _INTENT,
    "intentClass": _INTENT,
    "judge_status": {"enum": list(get_args(JudgeStatus))},
    "title_source": {"enum": ["heuristic", "rubric", "user_edited"]},
    "trivia_reason": {"enum": list(get_args(TriviaReason))},
    "period_start": _TIME,
    "timestamp": _TIME,
    "sub_session_id": _ID,
    "score_v3_sub_session_id": _ID,
    "subSessionId": _ID,
    "promptId": _ID,
    "rework_of": _ID,
    "organization_id": _ID,
    "developer_id": _ID,
    "developerId": _ID,
    "team_id": _ID,
    "membership_id": _ID,
    "team_membership_id": _ID,
    "key_id": _ID,
}
"""Field of an answer → what is true of it wherever it stands."""


_SENT_TIMES = ("submitted_at", "responded_at", "expires_at", "published_at", "from", "to")


_SENT_TIME: Schema = {"pattern": YEARS, "anyOf": [{"format": "date-time"}, {"format": "date"}]}


_NOT_BLANK: Schema = {"pattern": r"^[^\u0000]*\S[^\u0000]*$"}


_NO_NUL: Schema = {"pattern": r"^[^\u0000]*$"}


_CONTROL = r"\u0000-\u001f\u007f-\u009f"


_NAME: Schema = {"pattern": rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$"}


_NAMED: Schema = {"minLength": 1, "maxLength": NAME_CHARACTERS_MAX, **_NAME}


_JSON_REF: Schema = {"$ref": "#/components/schemas/Json"}


_JSON_FIELDS: Schema = {"propertyNames": _NO_NUL, "additionalProperties": _JSON_REF}


JSON: Schema = {
    "title": "Json",
    "description": "Any JSON value without NUL in its texts.",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string", **_NO_NUL},
        {"type": "array", "items": _JSON_REF},
        {"type": "object", **_JSON_FIELDS},
    ],
}


_SENT_ANYWHERE: dict[str, Schema] = {
    "display_name": _NAMED,
    "timezone": {"$ref": "#/components/schemas/Timezone"},
    "language": {"pattern": LANGUAGE.pattern.join(("^(", ")$"))},
}


_SENT: dict[tuple[str, str], Schema] = {
    ("OrganizationBody", "name"): _NAMED,
    ("OrganizationChange", "name"): _NAMED,
    ("TeamBody", "name"): _NAMED,
    ("KeyBody", "name"): _NAMED,
    ("GenerateBody", "date"): {"format": "date", "pattern": YEARS},
    ("GenerateBody", "language"): _NO_NUL,
    ("PromptBody", "prompt_text"): _NOT_BLANK,
    ("PromptBody", "metadata"): {"type": ["object", "null"], **_JSON_FIELDS},
    ("EditBody", "title"): _NOT_BLANK,
    ("OverrideBody", "field"): {"enum": ["boundary", "completion", "rollback", "label"]},
    ("OverrideBody", "payload"): _JSON_FIELDS,
}
"""(Body, field) → what the route checks beyond the type."""


_LIST_RATE: dict[str, Schema] = {"effective_from": _SENT_TIME, "effective_to": _SENT_TIME}
"""Field of a catalog, sent and answered alike → what is checked before it is published."""


def dressed(components: dict[str, Any]) -> dict[str, Any]:
    """Every schema, with what is known of its fields by their names. Bodies are those whose name says so."""
    return {name: _schema(name, schema) for name, schema in components.items()}


def _schema(name: str, schema: Schema) -> Schema:
    facets = _of_body if name.endswith(("Body", "Change", "Document")) else _of_answer
    fields = {field: _field(facets, name, field, each) for field, each in schema.get("properties", {}).items()}
    return schema | ({"properties": fields} if fields else {})


def _of_answer(name: str, field: str) -> Schema:
    if field.endswith(("_at", "At")):
        return _TIME
    return _LIST_RATE.get(field, {}) if name == "ListRate" else _ANSWERED.get(field, {})


def _of_body(name: str, field: str) -> Schema:
    if field in _SENT_TIMES:
        return _SENT_TIME
    return _SENT.get((name, field)) or _SENT_ANYWHERE.get(field, _NO_NUL)


def _field(facets: Callable[[str, str], Schema], name: str, field: str, schema: Schema) -> Schema:
    """The facets belong to the text, wherever in the alternatives it stands."""
    found = facets(name, field)
    if not schema or schema.get("type") == "object":
        return schema | {key: value for key, value in found.items() if key != "pattern"}
    if schema.get("type") == "string" and "enum" not in schema:
        return found | schema if "pattern" in schema or "format" in schema else schema | found
    if "anyOf" in schema:
        return schema | {"anyOf": [_field(facets, name, field, each) if each else each for each in schema["anyOf"]]}
    return schema


# `/openapi.json` and `/docs`: the routes of both listeners, described for programs and for people.

_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


def routes(intake: Sequence[Route], api: Sequence[Route]) -> tuple[Public, Public]:
    """The two routes; they describe themselves, too. The document is made once it is asked for."""
    made: dict[str, tuple[bytes, bytes]] = {}

    def make(version: str, url: str) -> tuple[bytes, bytes]:
        # Every type of every route is looked at when these are imported: no start and no command waits for that.
        from svc_http.openapi.document import document
        from svc_http.openapi.page import page

        found = document({"intake": intake, "api": (*api, *mine)}, version, url)
        return msgspec.json.encode(found), page(found).encode()

    async def texts(service: Service) -> tuple[bytes, bytes]:
        url = service.settings.ingest_url
        if url not in made:
            # It takes a tenth of a second, the first time.
            made[url] = await trio.to_thread.run_sync(make, service.settings.version, url)
        return made[url]

    async def openapi(service: Service, request: Request) -> TrioResponse:
        return TrioResponse((await texts(service))[0], 200, content_type="application/json")

    async def docs(service: Service, request: Request) -> TrioResponse:
        return TrioResponse(
            (await texts(service))[1], 200, headers=_PAGE_HEADERS, content_type="text/html; charset=utf-8"
        )

    mine = (Public("GET", "/openapi.json", openapi), Public("GET", "/docs", docs))
    return mine
