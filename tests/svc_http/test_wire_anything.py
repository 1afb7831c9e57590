"""Requests of any kind, whole, spoiled and cut: what h11 refuses is refused, what both read they read alike."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.svc_http.readings import Seen, by_h11, ours

_rarely = [b"Host", b"Content-Length", b"Transfer-Encoding", b"content-length", b"Connection", b"Expect", b"Upgrade"]
_names = st.sampled_from([b"X-A", b"Accept", b"x_b"] * 6 + _rarely)
_values = st.sampled_from(
    [b"svc", b"0", b"3", b"3, 3", b"+3", b"chunked", b"Chunked", b"gzip, chunked", b"close", b"", b"a\tb ", b"\x80"]
)
_between = st.sampled_from([b": "] * 40 + [b":", b":\t", b" : ", b"\t:", b": \r\n ", b" "])
_ends = st.sampled_from([b"\r\n"] * 60 + [b"\n", b"\r", b"\r\r\n", b"\r\n ", b"\n\r\n", b"\x0b\r\n"])
_lines = st.one_of(
    *[st.sampled_from([b"POST / HTTP/1.1", b"GET /a?b=c HTTP/1.1"])] * 3,
    st.tuples(
        st.sampled_from([b"GET", b"POST", b"HEAD", b"CONNECT", b"OPTIONS", b"FOO", b"get", b""]),
        st.sampled_from([b" "] * 6 + [b"  ", b"\t"]),
        st.sampled_from([b"/", b"/a?b=c", b"*", b"svc:80", b"http://svc/", b"/\x80", b"/#"]),
        st.sampled_from([b" HTTP/1.1"] * 6 + [b" HTTP/1.0", b" HTTP/2.0", b"", b" http/1.1", b" HTTP/1.1 "]),
    ).map(b"".join),
)
_headers = st.lists(st.tuples(_names, _between, _values, _ends).map(b"".join), max_size=4).map(b"".join)
_hosts = st.sampled_from([b"Host: svc\r\n"] * 8 + [b"", b"Host: a, b\r\n"])
_chunks = st.tuples(
    st.lists(st.sampled_from([b"3\r\nabc\r\n"] * 9 + [b"1;x\r\na\r\n", b"3 \r\nabc\r\n", b"4\r\nabc\r\n"]), max_size=3),
    st.sampled_from([b"0\r\n\r\n"] * 6 + [b"0\r\nX: y\r\n\r\n", b"0\r\n", b"0\n\r\n", b"00;\r\n\r\n"]),
).map(lambda parts: b"".join([*parts[0], parts[1]]))
_framed = st.one_of(
    st.tuples(st.just(b"\r\n"), st.just(b"")),
    st.tuples(st.just(b"Content-Length: 3\r\n\r\n"), st.sampled_from([b"abc"] * 4 + [b"ab", b"abcd", b"\r\n\r"])),
    st.tuples(st.just(b"Transfer-Encoding: chunked\r\n\r\n"), _chunks),
).map(b"".join)
_request = st.tuples(_lines, _ends, _hosts, _headers, _framed).map(b"".join)
_spoilers = st.sampled_from([b"", b"\0", b"\r", b"\n", b" ", b"\t", b"\x7f", b"\x85", b":", b",", b"0", b"\r\n"])


def pieces_of(data: bytes) -> st.SearchStrategy[list[bytes]]:
    """The bytes, cut anywhere."""
    places = st.lists(st.integers(0, len(data)), max_size=6).map(lambda found: sorted({0, len(data), *found}))
    return places.map(lambda found: [data[start:end] for start, end in pairwise(found)])


@st.composite
def cut(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """Some requests, perhaps spoiled at a place, and the same in pieces."""
    data = b"".join(draw(st.lists(_request, min_size=1, max_size=3)))
    if draw(st.integers(0, 2)) == 0:
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(_spoilers) + data[at + draw(st.integers(0, 1)) :]
    return data, draw(pieces_of(data))


@st.composite
def fine(draw: st.DrawFn) -> tuple[list[Seen], list[bytes]]:
    """Some requests as they should be, and their bytes in pieces."""
    requests = st.builds(Seen, _methods, _targets, _fine_headers, st.binary(max_size=40).map(bytearray))
    wanted = draw(st.lists(requests, max_size=4))
    data = b"".join(_sent(each, draw(st.integers(0, 12))) for each in wanted)
    return wanted, draw(pieces_of(data))


_methods = st.sampled_from([b"GET", b"POST", b"HEAD", b"PATCH", b"DELETE", b"OPTIONS"])
_targets = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=9).map(
    lambda text: b"/" + text.encode()
)
_fine_headers = st.lists(
    st.tuples(
        st.from_regex(rb"x[!#$%&'*+.^_`|~0-9a-z-]{0,5}", fullmatch=True),
        st.from_regex(rb"([\x21-\x7e\x80-\xff]([\t\x20-\x7e\x80-\xff]{0,5}[\x21-\x7e\x80-\xff])?)?", fullmatch=True),
    ),
    max_size=4,
)


def _sent(seen: Seen, chunk_bytes: int) -> bytes:
    """The request as bytes; its body in chunks of so many bytes, or with its length where that is 0."""
    lines = b"".join(b"%b: %b\r\n" % each for each in seen.headers)
    head = b"%b %b HTTP/1.1\r\nHost: svc\r\n%b" % (seen.method, seen.target, lines)
    whole = bytes(seen.body)
    if not chunk_bytes:
        return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(whole), whole)
    chunks = (whole[at : at + chunk_bytes] for at in range(0, len(whole), chunk_bytes))
    body = b"".join(b"%X\r\n%b\r\n" % (len(each), each) for each in chunks)
    return b"%bTransfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n" % (head, body)


@given(fine())
def test_what_is_as_it_should_be_is_read_as_it_was_sent(requests: tuple[list[Seen], list[bytes]]) -> None:
    """However it is cut, and whatever its body looks like."""
    wanted, pieces = requests
    mine = ours(pieces)
    assert not mine.refused
    assert [(each.method, each.target, each.headers[1:-1], each.body) for each in mine.whole] == wanted


@given(cut())
def test_nothing_is_read_otherwise_than_h11_reads_it(given_bytes: tuple[bytes, list[bytes]]) -> None:
    """More may be refused, nothing less; and cuts change nothing."""
    data, pieces = given_bytes
    mine, theirs = ours(pieces), by_h11([data])
    assert mine == ours([data])
    assert mine.whole == theirs.whole[: len(mine.whole)]
    if not mine.refused:
        assert mine == theirs


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_no_bytes_break_the_reader(pieces: list[bytes]) -> None:
    """They are requests or are refused."""
    mine = ours(pieces)
    if not mine.refused:
        assert mine.whole == by_h11([b"".join(pieces)]).whole
