"""Responses as bytes: one framing, and nothing that an application says can begin a second one."""

from collections.abc import Sequence

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_http.wire_responses import ResponseWriter, WrongResponse
from tests.svc_http.readings import Fields


def written(writer: ResponseWriter, status: int, headers: Fields, pieces: Sequence[bytes]) -> bytes:
    """The whole response."""
    return b"".join((writer.head(status, headers), *map(writer.piece, pieces), writer.end()))


@pytest.mark.parametrize(
    ("method", "version", "status", "headers", "pieces", "sent"),
    [
        ("GET", "1.1", 200, [(b"content-length", b"2")], [b"a", b"b"], b"200 \r\ncontent-length: 2\r\n\r\nab"),
        (
            "GET",
            "1.1",
            200,
            [],
            [b"ab", b"", b"c" * 10],
            b"200 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\na\r\ncccccccccc\r\n0\r\n\r\n",
        ),
        ("GET", "1.0", 200, [], [b"ab"], b"200 \r\nConnection: close\r\n\r\nab"),
        ("HEAD", "1.1", 200, [(b"content-length", b"2")], [], b"200 \r\ncontent-length: 2\r\n\r\n"),
        ("HEAD", "1.1", 200, [], [], b"200 \r\nTransfer-Encoding: chunked\r\n\r\n"),
        ("POST", "1.1", 204, [], [], b"204 \r\n\r\n"),
        ("GET", "1.1", 304, [(b"etag", b"x")], [], b"304 \r\netag: x\r\n\r\n"),
    ],
)
def test_a_response_is_framed_as_its_request_allows(
    method: str, version: str, status: int, headers: Fields, pieces: list[bytes], sent: bytes
) -> None:
    """By its length, in chunks, or by the end of the connection."""
    writer = ResponseWriter(method, version, keep_alive=version == "1.1")
    assert written(writer, status, headers, pieces) == b"HTTP/1.1 " + sent
    assert writer.complete
    assert writer.keep_alive is (version == "1.1")


@pytest.mark.parametrize(
    ("status", "headers", "pieces"),
    [
        (200, [(b"a", b"b\r\nset-cookie: c")], []),
        (200, [(b"a", b"b\nc: d")], []),
        (200, [(b"a", b"b\rc")], []),
        (200, [(b"a", b"b\r\n")], []),
        (200, [(b"a", b"b\0")], []),
        (200, [(b"a: b\r\nc", b"d")], []),
        (200, [(b"a b", b"c")], []),
        (200, [(b"", b"c")], []),
        (200, [(b"transfer-encoding", b"chunked")], []),
        (200, [(b"x:", b"close")], []),
        (200, [(b"content-length", b"-1")], []),
        (200, [(b"content-length", b"1"), (b"Content-Length", b"1")], [b"a"]),
        (200, [(b"content-length", b"1")], [b"ab"]),
        (200, [(b"content-length", b"1")], []),
        (204, [], [b"a"]),
        (101, [], []),
    ],
)
def test_what_would_break_a_response_is_never_written(status: int, headers: Fields, pieces: list[bytes]) -> None:
    """Such a response stays incomplete, so that its connection is closed."""
    writer = ResponseWriter("GET", "1.1", keep_alive=True)
    with pytest.raises(WrongResponse):
        written(writer, status, headers, pieces)
    assert not writer.complete


def test_no_byte_beyond_the_length_is_written() -> None:
    """A client would read it as the next response."""
    writer = ResponseWriter("GET", "1.1", keep_alive=True)
    writer.head(200, [(b"content-length", b"3")])
    assert writer.piece(b"ab") == b"ab"
    with pytest.raises(WrongResponse):
        writer.piece(b"cd")


_any_headers = st.lists(
    st.tuples(
        st.one_of(st.sampled_from([b"a", b"x-b", b"Content-Length", b"connection"]), st.binary(max_size=3)),
        st.one_of(st.sampled_from([b"close", b"4", b"x\r\ny: z"]), st.binary(max_size=6)),
    ),
    max_size=4,
)


@given(
    st.sampled_from(["GET", "HEAD"]), st.sampled_from([200, 204, 404]), _any_headers, st.lists(st.binary(max_size=4))
)
def test_a_client_reads_one_response_with_these_headers_and_this_body(
    method: str, status: int, headers: Fields, pieces: list[bytes]
) -> None:
    """Whatever an application wants sent: either nothing of it, or just that."""
    writer = ResponseWriter(method, "1.1", keep_alive=True)
    try:
        data = written(writer, status, headers, pieces)
    except WrongResponse:
        return
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("Host", "svc")]))
    client.send(h11.EndOfMessage())
    client.receive_data(data)
    response = client.next_event()
    assert isinstance(response, h11.Response)
    own = {b"transfer-encoding", b"connection"}
    expected = [(name.lower(), value.strip(b" \t")) for name, value in headers if name.lower() not in own]
    assert [each for each in response.headers if each[0] not in own] == expected
    body = b""
    while isinstance(event := client.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    assert body == b"".join(pieces)
    assert client.trailing_data[0] == b""
