"""The API's description of itself: what every route takes and answers, as an OpenAPI document.

`words.py` says what can be said of a route, `parameters.py` holds the query parameters, `captures.py`, `reads.py` and
`administration.py` hold one entry a route, beside the types that the routes decode into and answer with, `building.py`
makes the document, and `examples.json` shows one request and one answer of each. Whoever builds a route adds its entry
and its example; the tests name what is missing.
"""

from svc_http.openapi.document import document

__all__ = ["document"]
