"""The OpenAPI document: made of the tables of routes, what is said of each, and the types they decode and answer."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from types import FunctionType
from typing import Any, get_args, get_type_hints

import msgspec

from svc_http.errors import RETRY_AFTER_SECONDS, ErrorBody
from svc_http.listener import ByKey, BySecret, OneOf, Plain, Public, Route
from svc_http.openapi.facets import JSON, TIMEZONE, dressed
from svc_http.params import Parameter, Schema

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

_TAGS = (
    ("/v1/admin/control", "Control"),
    ("/v1/admin", "Administration"),
    ("/v1/score_v3/admin", "Control"),
    ("/v1/score_v3/report", "Reports"),
    ("/v1/insights", "Reports"),
    ("/v1/score_v3/events", "Sub-sessions"),
    ("/v1/score_v3/realtime", "Sub-sessions"),
    ("/v1/score_v3/sub-sessions", "Sub-sessions"),
    ("/v1/score_v3/sessions", "Sub-sessions"),
    ("/v1/sub-sessions", "Sub-sessions"),
    ("/v1/score_v3", "Scores"),
    ("/v1/telemetry", "Telemetry"),
    ("/v1/team", "Team"),
    ("/v1/plugin", "Plugin"),
    ("/v1/setup-complete", "Plugin"),
    ("/v1/intelligence/prism", "Plugin"),
    ("/v1/intelligence", "Intelligence"),
    ("/v1/model-catalog", "Model catalog"),
    ("/v1", "Capture"),
    ("/", "Service"),
)
"""How a path begins → the chapter that it stands in; the first that fits."""

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
    types = _Types(_described_types(tables))
    servers = {
        "intake": {"url": ingest_url or "/", "description": "intake: public, takes captures"},
        "api": {"url": "/", "description": "API: private, answers reads and administration"},
    }
    paths: dict[str, dict[str, Any]] = {}
    keys = {_key(route) for table in tables.values() for route in table}
    for method, path in sorted(keys, key=lambda key: (key[1], key[0])):
        routes = {name: route for name, table in tables.items() for route in table if _key(route) == (method, path)}
        built = _operation(routes, types, examples.get(f"{method} {path}", {}))
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


def _described_types(tables: Mapping[str, Sequence[Route]]) -> list[Any]:
    """ErrorBody and every type of a body or an answer, by method and path."""
    routes = sorted((each for table in tables.values() for each in table), key=_key)
    named = [ErrorBody]
    for route in routes:
        for each in (route.body, *(part for answer in _answers_of(route).values() for part in _parts(answer))):
            named += each.types if isinstance(each, OneOf) else (each,)
    return [each for each in named if each is not None and not isinstance(each, Plain)]


def _answers_of(route: Route) -> Mapping[int, Any]:
    """Status → the type of the answer, a tuple of its forms, or None for an answer without a body."""
    if isinstance(route.answers, Mapping):
        return route.answers
    return {200: _result(route.answers) if isinstance(route.answers, FunctionType) else route.answers}


def _result(query: Callable[..., Any]) -> Any:
    """The type that a query of the views answers; None stands for 404 there."""
    annotated = get_type_hints(query)["return"]
    kept = [each for each in get_args(annotated) if each is not type(None)]
    return kept[0] if type(None) in get_args(annotated) else annotated


def _parts(answer: Any) -> tuple[Any, ...]:
    """The forms in which an answer comes: one, but for health."""
    return answer if isinstance(answer, tuple) else (answer,)


def _key(route: Route) -> tuple[str, str]:
    return route.method, route.path


def _examples() -> dict[str, dict[str, Any]]:
    text = files("svc_http.openapi").joinpath("examples.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, dict[str, Any]])


def _operation(routes: Mapping[str, Route], types: _Types, example: Mapping[str, Any]) -> dict[str, Any]:
    """One method of one path, by each listener that serves it."""
    route = next(iter(routes.values()))
    method, path = _key(route)
    built: dict[str, Any] = {
        "summary": route.about,
        "operationId": re.sub(r"\W+", "_", f"{method.lower()}{path}").strip("_"),
        "tags": [next(tag for start, tag in _TAGS if path.startswith(start))],
        "security": _security(routes),
        "responses": _answers(route, routes, types, example),
    }
    parameters = [_in_path(name) for name in _ID_IN_PATH.findall(path)] + [_in_query(each) for each in route.query]
    if parameters:
        built["parameters"] = parameters
    if route.body is not None:
        content = _content(route.body, types, example.get("body"))
        built["requestBody"] = {"required": route.body_required, "content": content}
    return built


def _security(routes: Mapping[str, Route]) -> list[dict[str, list[str]]]:
    found: list[dict[str, list[str]]] = []
    for name, route in routes.items():
        found += [each for each in _SECURITY[type(route)][name] if each not in found]
    return found


def _in_path(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}


def _in_query(each: Parameter) -> Schema:
    named = {"name": each.name, "in": each.place, "required": each.required}
    return named | {"description": each.about, "schema": each.schema}


def _answers(route: Route, routes: Mapping[str, Route], types: _Types, example: Mapping[str, Any]) -> dict[str, Any]:
    shown = example.get("answer")
    built = {
        str(status): {"description": _OK.get(status, _ERRORS.get(status, "")), "headers": _REQUEST_ID}
        | ({"content": _content(answer, types, shown if status < 400 else None)} if answer is not None else {})
        for status, answer in _answers_of(route).items()
    }
    for status in _errors(route, routes):
        built.setdefault(str(status), {"$ref": f"#/components/responses/{status}"})
    for status, why in route.refuses.items():
        built[str(status)] = _error(status, types) | {"description": why}
    return dict(sorted(built.items())) | {"default": {"$ref": "#/components/responses/other"}}


_OK = {200: "As asked.", 201: "Created; on disk.", 202: "Begun.", 204: "Done; there is nothing to say."}


def _errors(route: Route, routes: Mapping[str, Route]) -> set[int]:
    """What follows from the kind of the route, its query, its path and its body."""
    found = {500}
    if not all(isinstance(route, Public) for route in routes.values()):
        found |= {401, 503} | ({400, 403} if "api" in routes else set())
    if route.query:
        found.add(400)
    if route.body is not None:
        found |= {400, 408, 413, 415}
    if "<" in route.path:
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
