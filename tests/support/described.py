"""The API's description, and whether an answer is what it says."""

import re
from functools import cache
from typing import Any

import msgspec
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from svc_http.app import api_routes, intake_routes
from svc_http.openapi import document
from svc_http.routing import Route

URI = "urn:described"


def tables() -> dict[str, list[Route]]:
    return {"intake": intake_routes(), "api": api_routes()}


@cache
def described() -> dict[str, Any]:
    """The document, strict: an answer may carry nothing that it does not name."""
    found = msgspec.json.decode(msgspec.json.encode(document(tables(), "0", "https://ingest.example")))
    for schema in found["components"]["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    assert isinstance(found, dict)
    return found


@cache
def _registry() -> Registry[Any]:
    resource = Resource.from_contents(described(), default_specification=DRAFT202012)
    found: Registry[Any] = Registry().with_resource(URI, resource).crawl()  # else each look-up crawls it anew
    return found


@cache
def validator(pointer: str) -> Draft202012Validator:
    """Holds values against the schema at a JSON pointer of the document, formats too."""
    found = Draft202012Validator(
        {"$ref": f"{URI}#{pointer}"}, registry=_registry(), format_checker=Draft202012Validator.FORMAT_CHECKER
    )
    return found


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Fixed paths before those with ids in them."""
    paths = sorted(described()["paths"], key=lambda path: path.count("{"))
    return [(re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), path) for path in paths]


def path_of(asked: str) -> str | None:
    """The described path that an actual one belongs to."""
    bare = asked.partition("?")[0]
    return next((path for pattern, path in _patterns() if pattern.fullmatch(bare)), None)


def escaped(part: str) -> str:
    """A part of a JSON pointer; a fragment of a URI holds no braces."""
    return part.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")


def faults(method: str, asked: str, status: int, media: str, body: bytes) -> list[str]:
    """What of an answer is not as described; empty where nothing is described or nothing is wrong."""
    path = path_of(asked)
    operation = described()["paths"].get(path, {}).get(method.lower())
    if path is None or operation is None:
        return []
    key = str(status) if str(status) in operation["responses"] else "default"
    answer = operation["responses"][key]
    pointer = f"/paths/{escaped(path)}/{method.lower()}/responses/{key}"
    if "$ref" in answer:
        pointer = answer["$ref"].removeprefix("#")
        answer = described()["components"]["responses"][pointer.rpartition("/")[2]]
    content = answer.get("content", {})
    if not content:
        return [] if not body else [f"{key} has no body, but there is one"]
    said = media.partition(";")[0]
    if said not in content:
        return [f"{key} comes as {', '.join(content)}, not as {media}"]
    if said != "application/json":
        return []
    held = validator(f"{pointer}/content/{escaped(said)}/schema")
    return [f"{error.json_path}: {error.message[:300]}" for error in held.iter_errors(msgspec.json.decode(body))]


def shapes() -> dict[str, Any]:
    """What each route takes and answers, by field: classes may be named and cut anew, their JSON stays."""
    found = {}
    for path, methods in described()["paths"].items():
        for method, operation in methods.items():
            bodies = {"body": operation.get("requestBody", {})} | operation["responses"]
            for status, body in bodies.items():
                content = body.get("content", {}).get("application/json")
                if content is not None:
                    found[f"{method.upper()} {path} {status}"] = _shape(content["schema"])
    return found


def _shape(schema: dict[str, Any]) -> Any:
    match schema:
        case {"$ref": "#/components/schemas/Json" | "#/components/schemas/Timezone" as ref}:
            return ref.rpartition("/")[2]
        case {"$ref": ref}:
            return _shape(described()["components"]["schemas"][ref.rpartition("/")[2]])
        case {"anyOf": alternatives}:
            *others, last = sorted((_shape(each) for each in alternatives), key=str)
            return {"one of": [*others, last]} if others else last
        case {"properties": fields}:
            required = schema.get("required", ())
            return {name if name in required else f"{name}?": _shape(each) for name, each in sorted(fields.items())}
        case {"prefixItems": parts}:
            return list(map(_shape, parts))
        case {"items": dict() as items}:
            return [_shape(items)]
        case {"additionalProperties": dict() as values}:
            return {"*": _shape(values)}
    facets = {name: schema[name] for name in ("type", "format", "enum", "const", "pattern") if name in schema}
    return " ".join(msgspec.json.encode(facet).decode().strip('"') for facet in facets.values())
