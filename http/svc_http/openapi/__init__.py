"""The OpenAPI document: made of the tables of routes, what is said of each, and the types they decode and answer."""

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter, itemgetter
from pkgutil import get_data
from types import FunctionType, NoneType, UnionType
from typing import Any, get_args, get_type_hints

import jinja2
import msgspec

from aggregates.judging.rubric import TriviaReason
from aggregates.people.acts import EMAIL, EMAIL_CHARACTERS_MAX, LANGUAGE, NAME_CHARACTERS_MAX
from aggregates.reading.verdicts import BOOLEANS, INTENTS, JudgeStatus
from aggregates.scores.grades import RUBRIC_LADDER
from projections.sub_sessions.rows import GoalOutcome
from svc_http.bodies import ErrorBody
from svc_http.params import YEARS, ByKey, BySecret, Call, Schema, zone_names
from svc_http.routing import Plain, Route

_REF = "#/components/schemas/{name}"
_BODIES = ("Body", "Change", "Document")  # whole bodies; their parts are what no answer leads to
_ID_IN_PATH = re.compile(r"<([^>]+)>")
_REQUEST_ID = {"X-Request-Id": {"description": "Under which the log knows the request.", "schema": {"type": "string"}}}
_JSON_MEDIA = "application/json"
_Ways = list[dict[str, list[str]]]
_KEY: _Ways = [{"bearer": []}, {"apiKey": []}]
_DELEGATED: _Ways = [{"internalSecret": [], "delegatedOrganization": [], "delegatedDeveloper": []}]
_SECURITY: dict[type[Call], dict[str, _Ways]] = {
    Call: {"intake": [{}], "api": [{}]},
    ByKey: {"intake": _KEY, "api": _KEY + _DELEGATED},
    BySecret: {"intake": [], "api": [{"internalSecret": []}]},
}
_WORDS: dict[str, dict[str, Any]] = msgspec.json.decode(get_data(__name__, "words.json") or b"")
"""What is said of routes and fields. `chapters`: how a path begins → its chapter, the first that fits. `answered`: what
is true of a field of an answer; `sent`: of one of a body. `refuses`: route → further statuses, and when they come."""


def document(tables: Mapping[str, Iterable[Route]], version: str, ingest_url: str) -> dict[str, Any]:
    """`tables`: the routes of the listeners `intake` and `api`."""
    examples = msgspec.json.decode(get_data(__name__, "examples.json") or b"", type=dict[str, dict[str, Any]])
    types = _Types(tables)
    servers = {
        "intake": {"url": ingest_url or "/", "description": "intake: public, takes captures"},
        "api": {"url": "/", "description": "API: private, answers reads and administration"},
    }
    served: dict[tuple[str, str], dict[str, Route]] = {}
    for name, table in tables.items():
        for route in table:
            served.setdefault((route.path, route.method), {})[name] = route
    paths: dict[str, dict[str, Any]] = {}
    for (path, method), routes in sorted(served.items(), key=itemgetter(0)):
        built = _operation(routes, types, examples.get(f"{method} {path}", {}))
        built["servers"] = [servers[name] for name in routes]
        paths.setdefault(_ID_IN_PATH.sub(r"{\1}", path), {})[method.lower()] = built
    return {
        "openapi": "3.1.0",
        "info": {"title": _WORDS["info"]["title"], "version": version} | _WORDS["info"],
        "servers": list(servers.values()),
        "paths": paths,
        "components": {
            "schemas": types.components | {"Json": _WORDS["json"], "Timezone": _TIMEZONE},
            "responses": {status: types.error(status) for status in _WORDS["errors"]},
            "securitySchemes": _WORDS["credentials"],
        },
    }


def page(document: Mapping[str, Any]) -> str:
    """The document for people: one file of HTML, without scripts and without the network."""
    environment = jinja2.Environment(autoescape=True)
    environment.filters["pretty"] = lambda value: msgspec.json.format(msgspec.json.encode(value)).decode()
    tags = [each["tags"][0] for methods in document["paths"].values() for each in methods.values()]
    template = environment.from_string((get_data(__name__, "page.html") or b"").decode())
    return template.render(document, chapters=list(dict.fromkeys(tags)))


class _Types:
    def __init__(self, tables: Mapping[str, Iterable[Route]]) -> None:
        routes = sorted((each for table in tables.values() for each in table), key=attrgetter("method", "path"))
        answered = [ErrorBody, *_kinds(answer for each in routes for answer in _answers_of(each).values())]
        wanted = [*_kinds(each.body for each in routes), *answered]
        schemas, components = msgspec.json.schema_components(wanted, ref_template=_REF)
        _, told = msgspec.json.schema_components(answered, ref_template=_REF)
        self._schemas = dict(zip(wanted, schemas, strict=True))
        self.components = {name: _dressed(name, schema, name in told) for name, schema in components.items()}

    def content(self, wanted: Any, example: Any) -> dict[str, Any]:
        """A body in each of its forms; the example belongs to the JSON one."""
        built: dict[str, Any] = {}
        for each in wanted if isinstance(wanted, tuple) else (wanted,):
            if isinstance(each, Plain):
                media, schema = each.media, each.schema
            elif isinstance(each, UnionType):
                media, schema = _JSON_MEDIA, {"anyOf": [self._schemas[kind] for kind in get_args(each)]}
            else:
                media, schema = _JSON_MEDIA, self._schemas[each]
            shown = {"example": example} if example is not None and media == _JSON_MEDIA else {}
            built[media] = {"schema": schema} | shown
        return built

    def error(self, status: str) -> dict[str, Any]:
        about = _WORDS["errors"][status]
        shown = {"code": 404 if status == "other" else int(status), "message": about}
        headers = _REQUEST_ID | _WORDS["error_headers"].get(status, {})
        return {"description": about, "headers": headers, "content": self.content(ErrorBody, shown)}


def _kinds(types: Iterable[Any]) -> Iterator[Any]:
    """The types that have a schema: each form of an answer, each kind of a union."""
    for each in types:
        kinds = each if isinstance(each, tuple) else get_args(each) if isinstance(each, UnionType) else (each,)
        yield from (kind for kind in kinds if kind is not None and not isinstance(kind, Plain))


def _answers_of(route: Route) -> Mapping[int, Any]:
    """Status → the type of the answer, a tuple of its forms, or None for an answer without a body."""
    answers = route.answers
    if isinstance(answers, Mapping):
        return answers
    if isinstance(answers, FunctionType):
        answers = get_type_hints(answers)["return"]
        kinds = [kind for kind in get_args(answers) if kind is not NoneType]
        answers = kinds[0] if isinstance(answers, UnionType) else answers  # where there is none the route says 404
    return {204: None} if answers is None else {route.status: answers}


def _operation(routes: Mapping[str, Route], types: _Types, example: Mapping[str, Any]) -> dict[str, Any]:
    route = next(iter(routes.values()))
    ways = [each for name, route in routes.items() for each in _SECURITY[route.kind][name]]
    built: dict[str, Any] = {
        "summary": route.about,
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()}{route.path}").strip("_"),
        "tags": [next(chapter for start, chapter in _WORDS["chapters"].items() if route.path.startswith(start))],
        "security": [each for number, each in enumerate(ways) if each not in ways[:number]],
        "responses": _answers(route, routes, types, example.get("answer")),
    }
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", **_ID}}
        for name in _ID_IN_PATH.findall(route.path)
    ]
    for each in route.query:
        named = {"name": each.name, "in": each.place, "required": each.required}
        parameters.append(named | {"description": each.about, "schema": each.schema})
    if parameters:
        built["parameters"] = parameters
    if route.body is not None:
        content = types.content(route.body, example.get("body"))
        built["requestBody"] = {"required": route.body_required, "content": content}
    return built


def _answers(route: Route, routes: Mapping[str, Route], types: _Types, example: Any) -> dict[str, Any]:
    """With the errors that follow from the kind of the route, its query, its path and its body."""
    built: dict[str, Any] = {}
    for status, answer in _answers_of(route).items():
        about = (_WORDS["errors"] | _WORDS["statuses"])[str(status)]
        content = {} if answer is None else {"content": types.content(answer, example if status < 400 else None)}
        built[str(status)] = {"description": about, "headers": _REQUEST_ID} | content
    errors = {500}
    if any(each.kind is not Call for each in routes.values()):
        errors |= {401, 429, 503} | ({400, 403} if "api" in routes else set())
    if route.query:
        errors.add(400)
    if route.body is not None:
        errors |= {400, 408, 415} | ({413} if "intake" in routes else set())
    if "<" in route.path:
        errors.add(404)
    for status in errors:
        built.setdefault(str(status), {"$ref": f"#/components/responses/{status}"})
    for refused, why in _WORDS["refuses"].get(f"{route.method} {route.path}", {}).items():
        built[refused] = types.error(refused) | {"description": why}
    return dict(sorted(built.items())) | {"default": {"$ref": "#/components/responses/other"}}


# --- what types do not say of their fields: which texts are times, ids, or words of a closed list -------------

_TIMEZONE: Schema = {
    "title": "Timezone",
    "description": "The name of an IANA time zone; those that this machine knows.",
    "type": "string",
    "enum": zone_names(),
}
_TIME: Schema = {"format": "date-time"}
_ID: Schema = {"format": "uuid"}
_INTENT: Schema = {"enum": [*INTENTS, "unclassified"]}
_KEYS = {"counts": get_args(GoalOutcome), "byIntent": (*INTENTS, "unclassified"), "applicability": BOOLEANS}
"""Field of an answer that is a map → its keys, all of which are there."""
_ANSWERED = _WORDS["answered"] | {  # field of an answer → what is true of it wherever it stands
    **{name: {"propertyNames": {"enum": [*keys]}, "required": [*keys]} for name, keys in _KEYS.items()},
    "letter_grade": {"enum": [*RUBRIC_LADDER, "N/A"]},
    "grade": {"enum": list(RUBRIC_LADDER)},
    "intent_class": _INTENT,
    "intentClass": _INTENT,
    "judge_status": {"enum": list(get_args(JudgeStatus))},
    "trivia_reason": {"enum": list(get_args(TriviaReason))},
}

_SENT_TIME: Schema = {"pattern": YEARS, "anyOf": [{"format": "date-time"}, {"format": "date"}]}
_NO_NUL: Schema = {"pattern": r"^[^\u0000]*$"}
_CONTROL = r"\u0000-\u001f\u007f-\u009f"
_NAME: Schema = {"pattern": rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$"}
_NAMED: Schema = {"minLength": 1, "maxLength": NAME_CHARACTERS_MAX, **_NAME}
_SENT_TIMES = ("submitted_at", "responded_at", "expires_at", "published_at", "from", "to")
_SENT = _WORDS["sent"] | {  # field of a body → what the route checks beyond the type
    **dict.fromkeys(_SENT_TIMES, _SENT_TIME),
    "name": _NAMED,
    "display_name": _NAMED,
    "email": {"maxLength": EMAIL_CHARACTERS_MAX, "pattern": EMAIL.pattern.join(("^(", ")?$"))},
    "language": {"pattern": LANGUAGE.pattern.join(("^(", ")$"))},
    "date": {"format": "date", "pattern": YEARS},
}

_LIST_RATE: dict[str, Schema] = {"effective_from": _SENT_TIME, "effective_to": _SENT_TIME}
"""Field of a catalog, sent and answered alike → what is checked before it is published."""


def _dressed(name: str, schema: Schema, answered: bool) -> Schema:
    """A schema, with what is known of its fields by their names."""
    is_body = name.endswith(_BODIES)

    def facets(field: str) -> Schema:
        if answered and not is_body:
            known = _LIST_RATE if name == "ListRate" else _ANSWERED
            return _TIME if field.endswith(("_at", "At")) else known.get(field, {})
        is_known = is_body and (name, field) != ("GenerateBody", "language")
        return _SENT.get(field, _NO_NUL) if is_known else _NO_NUL

    fields = {field: _field(facets(field), each) for field, each in schema.get("properties", {}).items()}
    return schema | ({"properties": fields} if fields else {})


def _field(facets: Schema, schema: Schema) -> Schema:
    """The facets belong to the text, wherever in the alternatives it stands."""
    if not schema or schema.get("type") == "object":
        return schema | {key: value for key, value in facets.items() if key != "pattern"}
    if schema.get("pattern") == r"\S":  # as a route checks it: NUL is refused before, for every text of a body
        return {**schema, **_WORDS["sent"]["title"]}
    if schema.get("type") == "string" and "enum" not in schema:
        return facets | schema if "pattern" in schema or "format" in schema else schema | facets
    if "anyOf" in schema:
        return schema | {"anyOf": [_field(facets, each) if each else each for each in schema["anyOf"]]}
    return schema
