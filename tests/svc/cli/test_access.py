"""What a command makes of the answers of a running server, and of whatever else answers in its place."""

import httpx
import pytest
from trio.testing import MockClock

from svc.cli.access import BUSY_TRIES, Access, NotReached, checked_answer

ASKED = httpx.Request("GET", "http://127.0.0.1:8318/v1/admin/keys")
PAGE = b"<html>\n<head><title>502 Bad Gateway</title></head>\n<body>" + b"nginx " * 100 + b"</body></html>"


def answer(status: int, content: bytes, kind: str = "application/json") -> httpx.Response:
    return httpx.Response(status, content=content, headers={"Content-Type": kind}, request=ASKED)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (answer(404, b'{"code": "not_found", "message": "there is no such key"}'), "refused: there is no such key"),
        (answer(503, b'{"status": "unavailable", "reason": "no prices yet"}'), "refused: no prices yet"),
    ],
)
def test_an_error_of_svc_is_said_in_its_own_words(given: httpx.Response, said: str) -> None:
    with pytest.raises(NotReached, match=f"^{said}$"):
        checked_answer(given)


@pytest.mark.parametrize(
    "given",
    [
        answer(502, PAGE, "text/html"),
        answer(200, PAGE, "text/html; charset=utf-8"),
        answer(302, b"", "text/plain"),
        answer(500, b"\xff\xfe\x00", "application/octet-stream"),
        answer(400, b'["a list"]'),
        answer(400, b'{"message": 5}'),
        answer(500, b"{}"),
        answer(403, b""),
    ],
)
def test_an_answer_of_somebody_else_is_one_line_that_says_what_came_and_from_where(given: httpx.Response) -> None:
    """A page of a proxy is no traceback, and no answer either."""
    with pytest.raises(NotReached) as caught:
        checked_answer(given)
    said = str(caught.value)
    assert f"GET {ASKED.url} was answered with {given.status_code}" in said
    assert ("proxy" in said, "\n" in said, len(said) < 300) == (True, False, True)
    assert given.content != PAGE or "502 Bad Gateway" in said


@pytest.mark.parametrize("wanted", ["0", "5", "1e9", "99999999", "-1", "Wed, 21 Oct 2026 07:28:00 GMT", ""])
async def test_however_an_answer_asks_to_be_left_alone_the_command_ends(autojump_clock: MockClock, wanted: str) -> None:
    """After some tries, within a minute or so."""
    asked = []

    def busy(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(503, content=b'{"message": "too much is waiting"}', headers={"Retry-After": wanted})

    async with httpx.AsyncClient(transport=httpx.MockTransport(busy), base_url="http://127.0.0.1") as client:
        with pytest.raises(NotReached, match="refused: too much is waiting"):
            await Access(client).admin("GET", "/v1/admin/keys")
    assert len(asked) == BUSY_TRIES
    assert autojump_clock.current_time() < 90
