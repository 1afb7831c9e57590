"""What pages are made of beside their code: a script of somebody else's, and words that docs hold as well."""

from hashlib import sha256
from pathlib import Path

import pytest

import svc_http.pages
from svc_http.pages.rendering import HTMX_SHA256

PAGES = Path(svc_http.pages.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"


def test_htmx_is_the_file_of_its_makers() -> None:
    (script,) = (PAGES / "static").glob("htmx-*.js")
    assert sha256(script.read_bytes()).hexdigest() == HTMX_SHA256


@pytest.mark.parametrize("name", ["captured", "lead"])
def test_pages_and_docs_tell_it_in_the_same_words(name: str) -> None:
    told = (PAGES / "texts" / f"{name}.md").read_text(encoding="utf-8").strip()
    assert told in (DOCS / "your-scores.md").read_text(encoding="utf-8")
