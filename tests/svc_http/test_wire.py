"""Requests as bytes: what could be read in two ways is refused, and the rest is read as h11 reads it."""

from collections.abc import Sequence

import pytest

from svc_http.wire_heads import Head, Refused
from svc_http.wire_requests import CHUNK_SIZE_LINE_BYTES, Mark, Requests
from tests.svc_http.readings import BOUND, Reading, by_h11, ours

_CHUNKED = b"POST / HTTP/1.1\r\nHost: svc\r\nTransfer-Encoding: chunked\r\n\r\n"


def request(*headers: bytes, line: bytes = b"POST /v1/prompts HTTP/1.1", body: bytes = b"") -> bytes:
    """A request with these headers after its Host."""
    return b"\r\n".join((line, b"Host: svc", *headers, b"", body))


def alone(line: bytes) -> bytes:
    """A request of this line and a Host."""
    return request(line=line)


REFUSED: dict[str, bytes] = {
    "words": b"HELLO\r\n\r\n",
    "a TLS handshake": b"\x16\x03\x01\x02\x00\x01",
    "an empty line first": b"\r\n" + alone(b"GET / HTTP/1.1"),
    "a bare LF after the request line": b"GET / HTTP/1.1\nHost: svc\r\n\r\n",
    "bare LFs all over": b"GET / HTTP/1.1\nHost: svc\n\n",
    "a bare LF after a header": b"GET / HTTP/1.1\r\nHost: svc\nA: b\r\n\r\n",
    "a bare CR after a header": b"GET / HTTP/1.1\r\nHost: svc\rA: b\r\n\r\n",
    "a bare CR in a header": request(b"A: b\rc"),
    "two CRs": b"GET / HTTP/1.1\r\nHost: svc\r\r\n\r\n",
    "a blank line of LFs": b"GET / HTTP/1.1\r\nHost: svc\r\n\n",
    "two blanks after the method": alone(b"GET  / HTTP/1.1"),
    "a tab after the method": alone(b"GET\t/ HTTP/1.1"),
    "a blank at the end of the line": alone(b"GET / HTTP/1.1 "),
    "a blank in the target": alone(b"GET /a b HTTP/1.1"),
    "HTTP/0.9": b"GET /\r\n\r\n",
    "no target": alone(b"GET HTTP/1.1"),
    "HTTP/0.9 by its name": alone(b"GET / HTTP/0.9"),
    "HTTP/1.2": alone(b"GET / HTTP/1.2"),
    "HTTP/1.10": alone(b"GET / HTTP/1.10"),
    "HTTP/2 without TLS": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "http in small letters": alone(b"GET / http/1.1"),
    "a method in small letters": alone(b"get / HTTP/1.1"),
    "a method of other characters": alone(b"G(T / HTTP/1.1"),
    "a very long method": alone(b"G" * 33 + b" / HTTP/1.1"),
    "a target with its host": alone(b"GET http://svc/ HTTP/1.1"),
    "a host as target": alone(b"CONNECT svc:80 HTTP/1.1"),
    "an asterisk as target": alone(b"OPTIONS * HTTP/1.1"),
    "a target beyond ASCII": alone(b"GET /\xff HTTP/1.1"),
    "NUL in the target": alone(b"GET /\0 HTTP/1.1"),
    "no Host": b"GET / HTTP/1.1\r\n\r\n",
    "two Hosts": request(b"Host: svc"),
    "two Hosts in HTTP/1.0": request(b"Host: svc", line=b"GET / HTTP/1.0"),
    "two Hosts in one": b"GET / HTTP/1.1\r\nHost: svc, other\r\n\r\n",
    "a path as Host": b"GET / HTTP/1.1\r\nHost: svc/x\r\n\r\n",
    "a user in Host": b"GET / HTTP/1.1\r\nHost: a@svc\r\n\r\n",
    "a blank before the colon": request(b"Content-Length : 5"),
    "a tab before the colon": request(b"Content-Length\t: 5"),
    "a blank before the name": b"GET / HTTP/1.1\r\n Host: svc\r\n\r\n",
    "a blank in the name": request(b"A B: c"),
    "no name": request(b": c"),
    "no colon": request(b"Content-Length"),
    "a folded header": request(b"A: b", b" c"),
    "a folded length": request(b"Content-Length:", b"\t5"),
    "NUL in a header": request(b"A: b\0c"),
    "NUL in a name": request(b"A\0: b"),
    "a control character in a header": request(b"A: b\x01c"),
    "DEL in a header": request(b"A: b\x7fc"),
    "a vertical tab before a coding": request(b"Transfer-Encoding:\x0bchunked"),
    "a name beyond ASCII": request(b"\xe4: b"),
    "a length and a coding": request(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    "a coding and a length": request(b"Transfer-Encoding: chunked", b"Content-Length: 5", body=b"0\r\n\r\n"),
    "two lengths": request(b"Content-Length: 5", b"Content-Length: 6"),
    "the same length twice": request(b"Content-Length: 5", b"content-length: 5"),
    "two lengths in one": request(b"Content-Length: 5, 6"),
    "the same length twice in one": request(b"Content-Length: 5, 5"),
    "a length with a sign": request(b"Content-Length: +5"),
    "a negative length": request(b"Content-Length: -5"),
    "a length in hexadecimal": request(b"Content-Length: 0x5"),
    "a length with a line below": request(b"Content-Length: 1_0"),
    "a length in other digits": request("Content-Length: ٥".encode()),
    "a length with a blank": request(b"Content-Length: 1 0"),
    "an empty length": request(b"Content-Length:"),
    "a length of very many digits": request(b"Content-Length: " + b"0" * 20 + b"5"),
    "another coding": request(b"Transfer-Encoding: gzip"),
    "no coding": request(b"Transfer-Encoding: identity"),
    "an empty coding": request(b"Transfer-Encoding:"),
    "a coding before chunked": request(b"Transfer-Encoding: gzip, chunked"),
    "a coding after chunked": request(b"Transfer-Encoding: chunked, identity"),
    "chunked twice": request(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
    "chunked twice in one": request(b"Transfer-Encoding: chunked, chunked"),
    "chunked in quotes": request(b'Transfer-Encoding: "chunked"'),
    "nearly chunked": request(b"Transfer-Encoding: xchunked"),
    "chunks in HTTP/1.0": request(b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.0", body=b"0\r\n\r\n"),
    "a chunk without a size": _CHUNKED + b"\r\nab\r\n0\r\n\r\n",
    "a chunk of a negative size": _CHUNKED + b"-2\r\nab\r\n0\r\n\r\n",
    "a chunk's size with 0x": _CHUNKED + b"0x2\r\nab\r\n0\r\n\r\n",
    "a chunk's size after a blank": _CHUNKED + b" 2\r\nab\r\n0\r\n\r\n",
    "a chunk's size before a blank": _CHUNKED + b"2 \r\nab\r\n0\r\n\r\n",
    "a chunk's size of many digits": _CHUNKED + b"0" * 16 + b"2\r\nab\r\n0\r\n\r\n",
    "a chunk's size before a bare LF": _CHUNKED + b"2\nab\r\n0\r\n\r\n",
    "a chunk's extension with a bare LF": _CHUNKED + b"2;a\nb\r\nab\r\n0\r\n\r\n",
    "a chunk's extension with a bare CR": _CHUNKED + b"2;a\rb\r\nab\r\n0\r\n\r\n",
    "a chunk that is longer than its size": _CHUNKED + b"2\r\nabc\r\n0\r\n\r\n",
    "a chunk without its end": _CHUNKED + b"2\r\nab0\r\n\r\n",
    "a chunk with other bytes for its end": _CHUNKED + b"2\r\nabXY0\r\n\r\n",
    "a chunk that ends in LF": _CHUNKED + b"2\r\nab\n0\r\n\r\n",
    "a chunk that ends in CR": _CHUNKED + b"2\r\nab\r0\r\n\r\n",
    "a trailer that is none": _CHUNKED + b"0\r\nGET / HTTP/1.1\r\n\r\n",
    "a folded trailer": _CHUNKED + b"0\r\nA: b\r\n c\r\n\r\n",
}

READ: dict[str, tuple[bytes, int]] = {
    "no body": (alone(b"GET /health?a=b HTTP/1.1"), 1),
    "no body, by its length": (request(b"Content-Length: 0"), 1),
    "a body": (request(b"Content-Length: 5", body=b"a\r\n\r\n"), 1),
    "a length with zeros before it": (request(b"Content-Length: 005", body=b"abcde"), 1),
    "a body of a GET": (request(b"Content-Length: 2", line=b"GET / HTTP/1.1", body=b"ab"), 1),
    "chunks": (_CHUNKED + b"2\r\nab\r\n1a\r\n" + b"c" * 26 + b"\r\n0\r\n\r\n", 1),
    "chunks in another case": (request(b"transfer-ENCODING: Chunked", body=b"A\r\n0123456789\r\n0\r\n\r\n"), 1),
    "chunks with extensions and trailers": (
        _CHUNKED + b'2;a="b";c\r\nab\r\n0;d\r\nA: b\r\nContent-Length: 9\r\n\r\n',
        1,
    ),
    "one after the other": (_CHUNKED + b"1\r\na\r\n0\r\n\r\n" + request(b"Content-Length: 1", body=b"b") * 2, 3),
    "an empty header": (request(b"A:", b"B: \t", b"C: c"), 1),
    "blanks around a value": (request(b"A: \t b\t c \t"), 1),
    "a value beyond ASCII": (request("A: ä".encode()), 1),
    "HTTP/1.0": (b"GET / HTTP/1.0\r\n\r\n", 1),
    "HTTP/1.0 that wants to stay": (request(b"Connection: keep-alive", line=b"GET / HTTP/1.0") * 2, 1),
    "the last one": (request(b"Connection: x, Close") * 2, 1),
    "an upgrade": (request(b"Connection: Upgrade", b"Upgrade: h2c", b"Content-Length: 1", body=b"a") * 2, 2),
    "an unknown method": (alone(b"M-SEARCH / HTTP/1.1"), 1),
    "an IPv6 Host": (b"GET / HTTP/1.1\r\nHost: [::1]:8318\r\n\r\n", 1),
    "an empty Host": (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 1),
}


def byte_by_byte(data: bytes) -> list[bytes]:
    """In the smallest pieces."""
    return [data[at : at + 1] for at in range(len(data))]


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_could_be_read_in_two_ways_is_refused(data: bytes) -> None:
    """At once or at its end, and so is whatever follows it."""
    follower = alone(b"GET /smuggled HTTP/1.1")
    for pieces in ([data], byte_by_byte(data), [data + follower], byte_by_byte(data + follower)):
        assert ours(pieces) == Reading([], True)


@pytest.mark.parametrize(("data", "count"), READ.values(), ids=READ)
def test_what_is_fine_is_read_as_h11_reads_it(data: bytes, count: int) -> None:
    """However it is cut."""
    expected = by_h11([data])
    assert not expected.refused
    assert len(expected.whole) == count
    assert ours([data]) == ours(byte_by_byte(data)) == expected


@pytest.mark.parametrize(
    "data",
    [
        alone(b"GET /" + b"a" * BOUND + b" HTTP/1.1"),
        request(b"A: " + b"a" * BOUND),
        request(*[b"A: b"] * (BOUND // 4)),
        b"G" * (BOUND + 1),
        _CHUNKED + b"2;" + b"a" * (BOUND + CHUNK_SIZE_LINE_BYTES),
        _CHUNKED + (b"2;" + b"a" * 500 + b"\r\nab\r\n") * (BOUND // 500 + 1),
        _CHUNKED + b"0\r\n" + b"A: " + b"a" * (BOUND + CHUNK_SIZE_LINE_BYTES),
        _CHUNKED + b"0\r\n" + b"A: b\r\n" * (BOUND // 4 + 1),
    ],
)
def test_nothing_but_bodies_is_larger_than_its_bound(data: bytes) -> None:
    """Neither a head nor what chunks bring along; 431."""
    for pieces in ([data], byte_by_byte(data)):
        requests = Requests(BOUND)
        with pytest.raises(Refused) as refusal:
            _read_all(requests, pieces)
        assert refusal.value.status == 431


def _read_all(requests: Requests, pieces: Sequence[bytes]) -> None:
    for piece in pieces:
        requests.feed(piece)
        while requests.next() is not Mark.MORE:
            pass


@pytest.mark.parametrize(
    "data",
    [b"GET / HT", _CHUNKED[:-2], _CHUNKED, _CHUNKED + b"2\r\nab\r\n0\r\n", request(b"Content-Length: 2", body=b"a")],
)
def test_half_a_request_is_refused_when_the_client_ends(data: bytes) -> None:
    """Half a body is never taken for a whole one."""
    assert ours([data]) == Reading([], False)
    assert ours([data, b""]) == Reading([], True)


def test_the_next_request_stays_unread_until_the_first_is_answered() -> None:
    """One at a time."""
    requests = Requests(BOUND)
    requests.feed(alone(b"GET /1 HTTP/1.1") + alone(b"GET /2 HTTP/1.1"))
    first = requests.next()
    assert (requests.next(), requests.next(), requests.next()) == (Mark.END, Mark.WAIT, Mark.WAIT)
    requests.start_next()
    second = requests.next()
    assert isinstance(first, Head)
    assert isinstance(second, Head)
    assert (first.target, second.target) == (b"/1", b"/2")
