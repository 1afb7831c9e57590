"""The human page at `/docs`: the OpenAPI document as one file of HTML, without scripts and without the network."""

from collections.abc import Iterator, Sequence
from html import escape
from pkgutil import get_data
from string import Template
from typing import Any

import msgspec
import trio
from quart import Request
from quart_trio.wrappers import TrioResponse

from svc_http.listener import Plain, Public, Route
from svc_http.ports import Service

_PAGE = Template((get_data(__name__, "page.html") or b"").decode())


def page(document: dict[str, Any]) -> str:
    """The whole page."""
    info = document["info"]
    tags = list(dict.fromkeys(each["tags"][0] for _, _, each in _operations(document)))
    operations = []
    for tag in tags:
        operations.append(f'<h2 id="{_anchor(tag)}">{escape(tag)}</h2>')
        operations += [_operation(document, *each) for each in _operations(document) if each[2]["tags"] == [tag]]
    return _PAGE.substitute(
        title=escape(info["title"]),
        version=escape(info["version"]),
        description=escape(info["description"]),
        servers=_servers(document),
        credentials=_credentials(document),
        contents="".join(f'<a href="#{_anchor(tag)}">{escape(tag)}</a>' for tag in tags),
        operations="\n".join(operations),
        types="\n".join(_type(*each) for each in sorted(document["components"]["schemas"].items())),
    )


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _anchor(text: str) -> str:
    return escape(text.lower().replace(" ", "-"))


def _servers(document: dict[str, Any]) -> str:
    rows = [(f"<code>{escape(each['url'])}</code>", escape(each["description"])) for each in document["servers"]]
    return _table(("address", ""), rows)


def _credentials(document: dict[str, Any]) -> str:
    schemes = document["components"]["securitySchemes"]
    rows = [(f"<code>{escape(name)}</code>", escape(each["description"])) for name, each in schemes.items()]
    return "<h2>Credentials</h2>" + _table(("name", ""), rows)


def _operation(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    head = f'<code><span class="method">{method}</span>{escape(path)}</code> &nbsp;{escape(operation["summary"])}'
    parts = [f'<details id="{escape(operation["operationId"])}"><summary>{head}</summary>', _callers(operation)]
    if parameters := operation.get("parameters"):
        rows = [(f"<code>{escape(each['name'])}</code>", _kind(each["schema"]), _about(each)) for each in parameters]
        parts.append("<h4>Parameters</h4>" + _table(("name", "kind", ""), rows))
    if body := operation.get("requestBody"):
        parts.append("<h4>Body</h4>" + _content(body["content"]))
    parts.append("<h4>Answers</h4>")
    rows = []
    for status, answer in operation["responses"].items():
        found = _resolved(document, answer)
        rows.append((escape(status), escape(found["description"]), _names(found.get("content", {}))))
    parts.append(_table(("status", "", "type"), rows))
    parts += [_examples(answer["content"]) for answer in operation["responses"].values() if "content" in answer]
    return "".join(parts) + "</details>"


def _callers(operation: dict[str, Any]) -> str:
    ways = [" + ".join(each) or "nobody in particular" for each in operation["security"]]
    where = ", ".join(each["description"].partition(":")[0] for each in operation["servers"])
    return f"<p>At: {escape(where)}. Credential: {escape(', or '.join(ways))}.</p>"


def _about(parameter: dict[str, Any]) -> str:
    needed = "Required. " if parameter["required"] else ""
    default = parameter["schema"].get("default")
    told = "" if default is None else f" Default: {default}."
    return escape(f"{needed}{parameter.get('description', '')}{told}")


def _content(content: dict[str, Any]) -> str:
    return f"<p>{_names(content)}</p>" + _examples(content)


def _names(content: dict[str, Any]) -> str:
    return ", ".join(f"{escape(media)} {_kind(each['schema'])}".strip() for media, each in content.items())


def _examples(content: dict[str, Any]) -> str:
    shown = [each["example"] for each in content.values() if "example" in each]
    return "".join(f"<pre>{escape(msgspec.json.format(msgspec.json.encode(each)).decode())}</pre>" for each in shown)


def _type(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", [])
    rows = [
        (f"<code>{escape(field)}</code>", _kind(each), "" if field in needed else "may be left out")
        for field, each in schema.get("properties", {}).items()
    ]
    head = f"<code>{escape(name)}</code> {escape(schema.get('description', ''))}"
    return f'<details id="{escape(name)}"><summary>{head}</summary>{_table(("field", "kind", ""), rows)}</details>'


def _kind(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    match schema:
        case {"$ref": reference}:
            name = escape(reference.rpartition("/")[2])
            return f'<a href="#{name}">{name}</a>'
        case {"enum": values}:
            return escape(" | ".join(str(each) for each in values))
        case {"type": "array", "items": items}:
            return f"list of {_kind(items)}"
        case {"anyOf": choices, **rest} if "type" not in rest:
            return " or ".join(_kind(each) for each in choices)
        case {"type": list(types)}:
            return escape(" or ".join(types))
        case {"type": kind, **rest}:
            return escape(" ".join(filter(None, (str(kind), rest.get("format"), _bounds(rest)))))
        case _:
            return "anything" if schema else ""


def _bounds(schema: dict[str, Any]) -> str:
    names = {"minimum": "from", "maximum": "to", "minLength": "from", "maxLength": "to", "maxItems": "up to"}
    return " ".join(f"{word} {schema[name]}" for name, word in names.items() if name in schema)


def _resolved(document: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    reference = answer.get("$ref")
    if reference is None:
        return answer
    found: dict[str, Any] = document["components"]["responses"][reference.rpartition("/")[2]]
    return found


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    titles = "".join(f"<th>{each}</th>" for each in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{titles}</tr>{lines}</table>"


# `/openapi.json` and `/docs`: the routes of both listeners, described for programs and for people.

_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


def description_routes(intake: Sequence[Route], api: Sequence[Route]) -> tuple[Public, Public]:
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

    mine = (
        Public("GET", "/openapi.json", openapi, "This document.", Plain("application/json", {"type": "object"})),
        Public("GET", "/docs", docs, "This document, for people.", Plain("text/html", {"type": "string"})),
    )
    return mine
