"""`POST /v1/prompts`: every status and every kind of bad input."""

import gzip
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import msgspec
import pytest

from aggregates.capture.events import ForeignSessionAttempted, PromptCaptured
from tests.support.people import BEN_KEY
from tests.svc_http.house import Caller, House, bearer, prompt

EVENT_ID = "6f1c7a52-53a0-4d8e-9a53-0d2a5f4f7c11"
FOUR_MIB_BYTES = 4 * 1024 * 1024


def captured(house: House) -> list[PromptCaptured]:
    """The prompts that were kept."""
    return [event for event in house.events if isinstance(event, PromptCaptured)]


async def test_a_prompt_is_captured(house: House, intake: Caller) -> None:
    """201, with nothing but the new prompt's id."""
    answer = await intake.post("/v1/prompts", prompt())
    assert answer.status == 201
    (event,) = captured(house)
    assert answer.json == {"id": str(event.prompt_id)}
    assert event.source == "claude-code"


async def test_every_field_is_kept(house: House, intake: Caller) -> None:
    """Times with any offset become microseconds; unknown fields change nothing."""
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
    assert (await intake.post("/v1/prompts", prompt(**fields))).status == 201
    (event,) = captured(house)
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
    """200 with the same id, and nothing is stored twice."""
    first = await intake.post("/v1/prompts", prompt(client_event_id=EVENT_ID))
    again = await intake.post("/v1/prompts", prompt(client_event_id=EVENT_ID.upper()))
    assert (first.status, again.status) == (201, 200)
    assert again.json == first.json
    assert len(captured(house)) == 1


async def test_without_a_client_event_id_every_capture_is_new(house: House, intake: Caller) -> None:
    """Nothing says that it is a retry."""
    ids = {(await intake.post("/v1/prompts", prompt())).json["id"] for _ in range(2)}
    assert len(ids) == len(captured(house)) == 2


async def test_event_ids_belong_to_one_developer(house: House, intake: Caller) -> None:
    """Two developers may use the same client event id."""
    await intake.post("/v1/prompts", prompt(client_event_id=EVENT_ID))
    ben = intake.using(bearer(BEN_KEY))
    answer = await ben.post("/v1/prompts", prompt(client_event_id=EVENT_ID, tool_session_id="bens"))
    assert answer.status == 201
    assert len(captured(house)) == 2


async def test_a_session_of_another_scope(house: House, intake: Caller) -> None:
    """409, nothing of the capture is stored, and the caller is flagged once."""
    await intake.post("/v1/prompts", prompt())
    ben = intake.using(bearer(BEN_KEY))
    for _ in range(2):
        answer = await ben.post("/v1/prompts", prompt("Steal this."))
        assert answer.status == 409
        assert "tool_session_id" in answer.message
    assert len(captured(house)) == 1
    assert sum(isinstance(event, ForeignSessionAttempted) for event in house.events) == 1


BAD_BODIES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "JSON"),
    "not json": (b"prompt_text=x", "JSON"),
    "cut off": (b'{"prompt_text": "x', "JSON"),
    "more than one value": (b'{"prompt_text":"x","tool_session_id":"s"} {}', "JSON"),
    "not an object": (b"[]", "object"),
    "not utf-8": (b'{"prompt_text":"\xff","tool_session_id":"s"}', "UTF-8"),
    "prompt_text empty": (b'{"prompt_text":"","tool_session_id":"s"}', "prompt_text"),
    "prompt_text blank": (b'{"prompt_text":" \\n\\t\\u3000","tool_session_id":"s"}', "prompt_text"),
    "NUL in prompt_text": (b'{"prompt_text":"a\\u0000b","tool_session_id":"s"}', "prompt_text"),
    "NUL in tool_session_id": (b'{"prompt_text":"a","tool_session_id":"s\\u0000"}', "tool_session_id"),
    "NUL in metadata": (b'{"prompt_text":"a","tool_session_id":"s","metadata":{"x":["\\u0000"]}}', "metadata"),
    "a lone high surrogate": (b'{"prompt_text":"a\\ud83d","tool_session_id":"s"}', "prompt_text"),
    "a lone low surrogate": (b'{"prompt_text":"a\\ude00b","tool_session_id":"s"}', "prompt_text"),
    "a surrogate in cwd": (b'{"prompt_text":"a","tool_session_id":"s","cwd":"/\\ud800/x"}', "cwd"),
    "a surrogate in metadata": (b'{"prompt_text":"a","tool_session_id":"s","metadata":{"k":"\\udc00"}}', "metadata"),
    "tool_session_id blank": (b'{"prompt_text":"x","tool_session_id":"  "}', "tool_session_id"),
    "metadata bottomless": (
        b'{"prompt_text":"x","tool_session_id":"s","metadata":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
        "nested",
    ),
    "submitted_at no time": (b'{"prompt_text":"x","tool_session_id":"s","submitted_at":"noon"}', "submitted_at"),
    "count huge": (
        b'{"prompt_text":"x","tool_session_id":"s","original_char_count":1' + b"0" * 400 + b"}",
        "original_char_count",
    ),
}


@pytest.mark.parametrize("case", BAD_BODIES)
async def test_bad_input_is_refused(house: House, intake: Caller, case: str) -> None:
    """400 that names the place; nothing is stored, and a good capture right after goes through."""
    body, named = BAD_BODIES[case]
    answer = await intake.post("/v1/prompts", body)
    assert answer.status == 400
    assert named in answer.message
    assert house.events == []
    assert (await intake.post("/v1/prompts", prompt())).status == 201


async def test_an_escaped_backslash_before_u0000_is_no_nul(house: House, intake: Caller) -> None:
    """A prompt may talk about NUL."""
    text = "What does \\u0000 mean?"
    assert (await intake.post("/v1/prompts", prompt(text))).status == 201
    assert captured(house)[0].prompt.text == text


async def test_whole_surrogate_pairs_are_characters(house: House, intake: Caller) -> None:
    """As many encoders write what lies beyond the first 65,536 characters."""
    assert (await intake.post("/v1/prompts", b'{"prompt_text":"\\ud83d\\ude00","tool_session_id":"s"}')).status == 201
    assert captured(house)[0].prompt.text == "😀"


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "application/x-protobuf", "multipart/form-data", "nonsense"],
)
async def test_another_content_type(house: House, intake: Caller, content_type: str) -> None:
    """415."""
    answer = await intake.post("/v1/prompts", prompt(), {"Content-Type": content_type})
    assert answer.status == 415
    assert "application/json" in answer.message
    assert house.events == []


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"', "application/json ; v=1"]
)
async def test_json_with_parameters(intake: Caller, content_type: str) -> None:
    """Parameters of a media type change nothing."""
    assert (await intake.post("/v1/prompts", prompt(), {"Content-Type": content_type})).status == 201


def packed(value: object) -> bytes:
    """A body as gzip clients send it."""
    return gzip.compress(msgspec.json.encode(value))


GZIP = {"Content-Encoding": "gzip"}


async def test_gzip_is_unpacked(house: House, intake: Caller) -> None:
    """On the prompt routes too."""
    assert (await intake.post("/v1/prompts", packed(prompt("Zip it.")), GZIP)).status == 201
    assert captured(house)[0].prompt.text == "Zip it."


async def test_identity_is_no_encoding(intake: Caller) -> None:
    """The name for nothing."""
    assert (await intake.post("/v1/prompts", prompt(), {"Content-Encoding": "identity"})).status == 201


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip"])
async def test_another_content_encoding(intake: Caller, encoding: str) -> None:
    """415."""
    answer = await intake.post("/v1/prompts", prompt(), {"Content-Encoding": encoding})
    assert (answer.status, "gzip" in answer.message) == (415, True)


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
    """The bound itself is inside."""
    body = of_size(FOUR_MIB_BYTES)
    assert len(body) == FOUR_MIB_BYTES
    assert (await intake.post("/v1/prompts", body)).status == 201
    assert len(captured(house)) == 1


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
