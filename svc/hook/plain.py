"""One POST over plain HTTP, by a socket: importing the library's client takes longer than all else that a hook does.

Each request has a connection of its own, which the server closes: the answer ends where the connection does, or as its
length says. An `https` address goes by the library's client.
"""

import contextlib
import socket
import time

_HEAD_BYTES_MAX = 64 * 1024
_PIECE_BYTES = 16 * 1024
_INTERIM_MAX = 8
"""Answers like 100 and 103 that may stand before the real one."""


class NoHttp(ValueError):
    """What came is no answer of HTTP."""


def address(url: str) -> tuple[str, int, str]:
    """Host, port and path of an `http` address. Raises `ValueError`."""
    authority, slash, path = url.partition("://")[2].partition("/")
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, "80"
    return host.strip("[]"), int(port or "80"), slash + path


def post(
    url: str, path: str, headers: dict[str, str], body: bytes, deadline: float, bytes_max: int
) -> tuple[int, bytes]:
    """Status and the beginning of the answer. `deadline`: by the monotonic clock. Raises `OSError`, `ValueError`."""
    host, port, before = address(url)
    named = f"[{host}]" if ":" in host else host
    lines = [f"POST {before}{path} HTTP/1.1", f"Host: {named}:{port}", f"Content-Length: {len(body)}"]
    lines += ["Connection: close", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    if any(mark in line for line in lines for mark in "\r\n"):
        raise ValueError("a line end in an address or a key")
    # As bytes: a text has the codec of international names imported.
    place = host.encode("ascii") if host.isascii() else host
    made = socket.create_connection((place, port), _left(deadline))  # type: ignore[arg-type]  # getaddrinfo takes both
    with contextlib.closing(made) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1") + body)
        return _answer(connection, deadline, bytes_max)


def _left(deadline: float) -> float:
    return max(0.01, deadline - time.monotonic())


def _answer(connection: socket.socket, deadline: float, bytes_max: int) -> tuple[int, bytes]:
    data = b""
    for _ in range(_INTERIM_MAX):
        while b"\r\n\r\n" not in data:
            piece = _received(connection, deadline)
            if not piece or len(data) > _HEAD_BYTES_MAX:
                raise NoHttp("no answer of HTTP")
            data += piece
        head, _, data = data.partition(b"\r\n\r\n")
        status = _status(head)
        if status >= 200:
            break
    else:
        raise NoHttp("no answer but interim ones")
    wanted = bytes_max if status not in (204, 304) else 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            wanted = min(wanted, int(value))
    while len(data) < wanted and (piece := _received(connection, deadline)):
        data += piece
    return status, data[:wanted]


def _received(connection: socket.socket, deadline: float) -> bytes:
    if time.monotonic() >= deadline:
        raise TimeoutError
    connection.settimeout(_left(deadline))
    return connection.recv(_PIECE_BYTES)


def _status(head: bytes) -> int:
    parts = head.split(b"\r\n", 1)[0].split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or len(parts[1]) != 3 or not parts[1].isdigit():
        raise NoHttp("no answer of HTTP")
    return int(parts[1])
