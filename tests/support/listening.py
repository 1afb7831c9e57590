"""Small servers of a test's own until the end of a block: HTTP, one that never answers, mail; and a certificate."""

import json
import socket
import ssl
import threading
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from itertools import takewhile
from pathlib import Path
from socketserver import StreamRequestHandler, TCPServer, ThreadingTCPServer
from typing import Any, NamedTuple, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def self_signed(folder: Path, address: str = "127.0.0.1") -> tuple[Path, Path]:
    """A certificate for an address of this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "svc")])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = (
        builder.not_valid_before(now)
        .not_valid_after(now + timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(address))]), critical=False)
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(signed.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests are quiet."""


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with served(server):
        yield f"http://127.0.0.1:{server.server_port}"


@contextmanager
def served(server: TCPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Heard(NamedTuple):
    """One request."""

    headers: dict[str, str]
    body: bytes


class Intake:
    """Answers every request with `status`, and keeps what it took."""

    def __init__(self, status: int = 204) -> None:
        self.status = status
        self.body = b""
        self.location = ""  # where it redirects to
        self.received: list[dict[str, Any]] = []  # the bodies of requests, in order, those that were refused included
        self.heard: list[Heard] = []
        self.paths: list[str] = []
        self.url = ""
        self.answers = threading.Event()  # cleared, it takes requests and answers them once this is set again
        self.answers.set()


@contextmanager
def intake(status: int = 204) -> Iterator[Intake]:
    """An intake on a port of its own, until the end of the block."""
    state, lock = Intake(status), threading.Lock()

    class Taking(Handler):
        def do_POST(self) -> None:
            body, headers = self.body(), {name.lower(): value for name, value in self.headers.items()}
            with lock:
                state.received.append(json.loads(body))
                state.heard.append(Heard(headers, body))
                state.paths.append(self.path)
                status, answer = state.status, state.body
            state.answers.wait(10)
            if status == 204:
                self.send_response(status)
                self.end_headers()
            else:
                self.answer(status, answer, **({"Location": state.location} if state.location else {}))

    with listening(Taking) as state.url:
        yield state


@contextmanager
def silent(drips: bytes = b"") -> Iterator[str]:
    """The URL of a server that takes connections and never says a word; or begins so, drips, and never comes to an
    end."""
    done = threading.Event()

    def drip(listener: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.sendall(drips)
                while not done.wait(0.1):
                    connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        listener.settimeout(10)
        if drips:
            pool.submit(drip, listener)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()


def dripping() -> AbstractContextManager[str]:
    """The URL of a server that answers, a byte now and then, and never comes to an end."""
    return silent(b"HTTP/1.1 200 OK\r\nX: ")


def closed() -> str:
    """The URL of a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


# --- mail --------------------------------------------------------------------------------------------------------

LINE_BYTES_MAX = 1_000


class Mail(NamedTuple):
    """As it came in."""

    sender: str
    to: str
    message: EmailMessage
    by_tls: bool
    login: tuple[str, str] | None


class MailServer:
    """`refuses`: the answer to a command in the place of the usual one."""

    def __init__(self) -> None:
        self.port = 0
        self.refuses: dict[str, str] = {}
        self.received: list[Mail] = []
        self.commands: list[str] = []


USUAL = dict.fromkeys(("MAIL", "RCPT", "RSET"), "250 ok") | {
    "STARTTLS": "220 go ahead",
    "AUTH": "235 welcome",
    "DATA": "354 go on",
    "QUIT": "221 bye",
}


class _Session(StreamRequestHandler):
    """One connection, as far as `smtplib` goes."""

    state: MailServer
    context: ssl.SSLContext | None

    def handle(self) -> None:
        self.by_tls, said = False, dict[str, str]()
        self.say("220 mail.example ESMTP")
        while line := self.line().decode().strip():
            verb, _, rest = line.partition(" ")
            verb = verb.upper()
            self.state.commands.append(verb)
            if verb == "EHLO" and verb not in self.state.refuses:
                offers = ["250-STARTTLS"] if self.context is not None and not self.by_tls else []
                self.say("250-mail.example", *offers, "250-AUTH PLAIN", "250 8BITMIME")
                continue
            refusal = self.state.refuses.get(verb)  # looked up once: a test changes it as soon as it has its answer
            self.say(refusal or USUAL.get(verb, "500 what?"))
            if refusal is not None:
                continue
            said[verb] = rest
            if verb == "STARTTLS":
                self.begin_tls()
            elif verb == "DATA":
                self.state.received.append(self.mail(said))
                self.say("250 queued")

    def line(self) -> bytes:
        return self.rfile.readline(LINE_BYTES_MAX)

    def say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())
        self.wfile.flush()

    def begin_tls(self) -> None:
        assert self.context is not None
        self.connection = self.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), cast(Any, self.connection.makefile("wb"))
        self.by_tls = True

    def mail(self, said: dict[str, str]) -> Mail:
        """What follows DATA, with what was said before it."""
        content = b"".join(takewhile(b".\r\n".__ne__, iter(self.line, b"")))  # or until who sends it hangs up
        sender, to = (said[verb].partition("<")[2].partition(">")[0] for verb in ("MAIL", "RCPT"))
        login = b64decode(said["AUTH"].split()[1]).decode().split("\0")[1:] if "AUTH" in said else None
        message = message_from_bytes(content, policy=policy.default)
        return Mail(sender, to, message, self.by_tls, (login[0], login[1]) if login else None)

    def finish(self) -> None:
        super().finish()
        self.connection.close()


@contextmanager
def mail_server(address: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> Iterator[MailServer]:
    """`context`: with it there is STARTTLS."""
    state = MailServer()
    session = type("Session", (_Session,), {"state": state, "context": context})
    server = ThreadingTCPServer((address, 0), session)
    state.port = server.server_address[1]
    with served(server):
        yield state
