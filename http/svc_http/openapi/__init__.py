"""Describe every route in an OpenAPI document.

A new route needs an entry in `captures.py`, `reads.py` or `administration.py`, and an example in `examples.json`; tests
name what is missing.
"""

from svc_http.openapi.document import document

__all__ = ["document"]
