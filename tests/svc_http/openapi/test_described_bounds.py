"""What the description says is taken is taken, and what it says is refused is refused: where the two once differed."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.support.catalogs import lookup
from tests.support.described import validator
from tests.svc_http.house import Caller, prompt
from tests.svc_http.routes.test_reads import V3

_TIMES = {
    **dict.fromkeys(("1970-01-01", "9998-12-31", "2026-08-01T09:00:00Z", "2026-08-01T09:00:00.5+05:30"), True),
    **dict.fromkeys(("1969-12-31", "9999-01-01", "0937-06-23", "0700-06-17T01:00:00Z", "yesterday", ""), False),
}


def _described(pointer: str, value: object) -> bool:
    return not list(validator(pointer).iter_errors(value))


@pytest.mark.parametrize(("text", "taken"), _TIMES.items())
async def test_a_time_is_of_the_years_that_are_described(api: Caller, text: str, taken: bool) -> None:
    """The formats of JSON Schema know every year."""
    assert _described("/paths/~1v1~1score_v3~1integrity~1recent/get/parameters/0/schema", text) == taken
    answer = await api.get(f"{V3}/integrity/recent?from={quote(text)}")
    assert answer.status == (200 if taken else 400)


_METADATA: dict[str, tuple[object, bool]] = {
    "nothing": (None, True),
    "numbers, lists and texts": ({"a": [1, 2.5, None, {"b": "c"}]}, True),
    "NUL deep inside": ({"a": [{"b": "\0"}]}, False),
    "NUL in a name": ({"a": {"\0": 1}}, False),
    "a list": ([], False),
}


@pytest.mark.parametrize(("metadata", "taken"), _METADATA.values(), ids=_METADATA)
async def test_metadata_is_what_is_described(intake: Caller, metadata: object, taken: bool) -> None:
    body = prompt(metadata=metadata)
    assert _described("/components/schemas/PromptBody", body) == taken
    assert (await intake.post("/v1/prompts", body)).status == (201 if taken else 400)


async def test_a_whole_number_may_be_written_with_a_fraction(intake: Caller) -> None:
    """JSON Schema, and many a serializer, know no difference between 3 and 3.0."""
    sent = b'{"prompt_text":"It says 1.0, \\"2.0\\"","tool_session_id":"s","original_char_count":%s}'
    for number, status in (
        (b"3.0", 201),
        (b"3e2", 201),
        (b"3.5", 400),
        (b"-1.0", 400),
        (b"1e300", 400),
        (b"1e400", 400),
    ):
        assert (await intake.post("/v1/prompts", sent % number)).status == status, number


async def test_what_is_unknown_may_hold_anything(intake: Caller) -> None:
    body = prompt() | {"later\0": {"x": "\0"}}
    assert (await intake.post("/v1/prompts", body)).status == 201


_LOOKUPS: dict[str, Any] = {
    "a blank id": lookup(external_model_id=" "),
    "an empty name": lookup(model={"status": "known", "canonical_model_id": "m", "display_name": ""}),
    "a provider with a line end": lookup(provider={"status": "observed", "provider": "a\nb"}),
}


@pytest.mark.parametrize("found", _LOOKUPS.values(), ids=_LOOKUPS)
async def test_texts_of_a_catalog_are_as_described(admin: Caller, found: object) -> None:
    """None is blank, and each can be shown."""
    body = {"document": {"exact_lookups": [found]}}
    assert not _described("/components/schemas/PublishBody", body)
    assert (await admin.post("/v1/admin/control/catalog", body)).status == 400
