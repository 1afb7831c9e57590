"""`POST /v1/prompts`: every status and every kind of bad input."""

import gzip
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import msgspec
import pytest

from aggregates.capture.events import PromptCaptured
from tests.support.basics import BEN_KEY
from tests.svc_http.house import Caller, House, bearer, prompt

EVENT_ID = "6f1c7a52-53a0-4d8e-9a53-0d2a5f4f7c11"
FOUR_MIB_BYTES = 4 * 1024 * 1024


def captured(house: House) -> list[PromptCaptured]:
    """The prompts that were kept."""
    return [event for event in house.events if isinstance(event, PromptCaptured)]


async def test_every_field_is_kept(house: House, intake: Caller) -> None:
    """201 with the new id alone. Times with any offset become microseconds; unknown fields change nothing."""
    fields: dict[str, Any] = {
        "source": "codex",
        "cwd": "/home/ana/shop",
        "metadata": {"branch": "main", "depth": [1, {"a": None}]},
        "client_event_id": EVENT_ID,
        "host_prompt_id": "p-1",
        "submitted_at": "2026-08-01T14:00:00.5+02:00",
        "original_char_count": 70,
        "untruncated_sha256": "ab" * 32,
        "truncated": True,
        "a_field_of_tomorrow": {"x": [1]},
    }
    answer = await intake.post("/v1/prompts", prompt(**fields))
    (event,) = captured(house)
    assert (answer.status, answer.json) == (201, {"id": str(event.prompt_id)})
    assert (event.source, event.host_prompt_id) == ("codex", "p-1")
    assert event.submitted_at_us == 1_785_585_600_500_000
    assert event.client_event_id == UUID(EVENT_ID)
    assert (event.original_char_count, event.truncated, event.untruncated_sha256) == (70, True, "ab" * 32)
    assert event.cwd is not None
    assert event.cwd.text == "/home/ana/shop"
    assert event.metadata is not None
    assert event.metadata.text is not None
    assert msgspec.json.decode(event.metadata.text) == fields["metadata"]


async def test_the_same_capture_again(house: House, intake: Caller) -> None:
    """200 with the same id, and nothing is stored twice; another developer may use the same id for another prompt."""
    first = await intake.post("/v1/prompts", prompt(client_event_id=EVENT_ID))
    again = await intake.post("/v1/prompts", prompt(client_event_id=EVENT_ID.upper()))
    assert (first.status, again.status, again.json) == (201, 200, first.json)
    ben = intake.using(bearer(BEN_KEY))
    assert (await ben.post("/v1/prompts", prompt(client_event_id=EVENT_ID, tool_session_id="bens"))).status == 201
    assert len(captured(house)) == 2


async def test_without_a_client_event_id_every_capture_is_new(house: House, intake: Caller) -> None:
    """Nothing says that it is a retry. A session of somebody else is named by its field."""
    ids = {(await intake.post("/v1/prompts", prompt())).json["id"] for _ in range(2)}
    assert len(ids) == len(captured(house)) == 2
    answer = await intake.using(bearer(BEN_KEY)).post("/v1/prompts", prompt("Steal this."))
    assert (answer.status, "tool_session_id" in answer.message) == (409, True)


@pytest.mark.parametrize(
    ("sent", "text"), [(r"What does \\u0000 mean?", r"What does \u0000 mean?"), (r"\ud83d\ude00", "😀")]
)
async def test_what_only_looks_wrong_is_text(house: House, intake: Caller, sent: str, text: str) -> None:
    """An escaped backslash before u0000 is no NUL; whole surrogate pairs are characters."""
    body = f'{{"prompt_text":"{sent}","tool_session_id":"s"}}'.encode()
    assert (await intake.post("/v1/prompts", body)).status == 201
    assert captured(house)[0].prompt.text == text


_JSON = ("application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"')
_OTHERS = ("text/plain", "application/x-www-form-urlencoded", "nonsense", "application/json; charset=latin-1")
_TYPES = dict.fromkeys(_JSON, 201) | dict.fromkeys(_OTHERS, 415)
_CODINGS = {"identity": 201, **dict.fromkeys(("br", "deflate", "zstd", "gzip, gzip"), 415)}


@pytest.mark.parametrize(
    ("name", "sent", "status"),
    [
        *(("Content-Type", each, status) for each, status in _TYPES.items()),
        *(("Content-Encoding", each, status) for each, status in _CODINGS.items()),
    ],
)
async def test_what_a_body_may_be(house: House, intake: Caller, name: str, sent: str, status: int) -> None:
    """JSON in UTF-8, plain or as gzip; parameters of a media type change nothing."""
    answer = await intake.post("/v1/prompts", prompt(), {name: sent})
    assert answer.status == status
    assert status == 201 or ("application/json" if name == "Content-Type" else "gzip") in answer.message
    assert bool(house.events) == (status == 201)


def packed(value: object) -> bytes:
    """A body as gzip clients send it."""
    return gzip.compress(msgspec.json.encode(value))


GZIP = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize(
    "body", [b"", b"\x1f\x8b", b"no gzip at all", packed(prompt())[:-4], packed(prompt()) + b"rest"]
)
async def test_a_broken_gzip_stream(house: House, intake: Caller, body: bytes) -> None:
    """400, also for a stream that breaks off or is followed by something else."""
    answer = await intake.post("/v1/prompts", body, GZIP)
    assert answer.status == 400
    assert "gzip" in answer.message
    assert house.events == []


def of_size(size_bytes: int) -> bytes:
    """A well-formed capture of exactly so many bytes."""
    frame = msgspec.json.encode(prompt(""))
    return msgspec.json.encode(prompt("x" * (size_bytes - len(frame))))


async def test_a_frame_of_four_mib(house: House, intake: Caller) -> None:
    """The bound itself is inside, as it is and packed."""
    body = of_size(FOUR_MIB_BYTES)
    assert len(body) == FOUR_MIB_BYTES
    for sent, headers in ((body, {}), (gzip.compress(body, 1), GZIP)):
        assert (await intake.post("/v1/prompts", sent, headers)).status == 201
    assert len(captured(house)) == 2


@pytest.mark.parametrize("path", ["/v1/prompts", "/v1/prompts/response"])
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (lambda: of_size(FOUR_MIB_BYTES + 1), {}),
        (lambda: of_size(5 * 1024 * 1024), {}),
        (lambda: gzip.compress(of_size(FOUR_MIB_BYTES + 1)), GZIP),
        (lambda: gzip.compress(b" " * (200 * 1024 * 1024), 1), GZIP),
        (lambda: b"\x00" * (FOUR_MIB_BYTES + 1), GZIP),
    ],
    ids=["one byte more", "5 MiB", "unpacked one byte more", "a bomb", "as sent"],
)
async def test_a_body_over_the_bound(
    house: House, intake: Caller, path: str, body: Callable[[], bytes], headers: Mapping[str, str]
) -> None:
    """413 for good, without Retry-After: 4 MiB counts as sent and as unpacked."""
    answer = await intake.post(path, body(), headers)
    assert answer.status == 413
    assert "4194304" in answer.message
    assert "Retry-After" not in answer.headers
    assert house.events == []


@pytest.mark.parametrize("path", ["/v1/prompts", "/v1/prompts/response", "/v1/setup-complete"])
async def test_saturation(house: House, intake: Caller, path: str) -> None:
    """503 with Retry-After 5, and the capture may be sent again."""
    house.refuses = "too much is waiting to be stored"
    body = prompt(prompt_id=EVENT_ID, response_operation_id="op", plugin_version="0.6.0", response_text="x")
    answer = await intake.post(path, body)
    assert answer.status == 503
    assert answer.headers["Retry-After"] == "5"
    assert "too much is waiting" in answer.message
    house.refuses = None
    assert (await intake.post("/v1/prompts", prompt())).status == 201
