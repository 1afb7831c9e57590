"""A mail server over a real socket, and what it took."""

import ssl
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, NamedTuple, cast

from tests.support.listening import served

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


class _Session(StreamRequestHandler):
    """One connection, as far as `smtplib` goes."""

    state: MailServer
    context: ssl.SSLContext | None

    def setup(self) -> None:
        super().setup()
        self.sender = self.to = ""
        self.by_tls = False
        self.login: tuple[str, str] | None = None

    def handle(self) -> None:
        self.say("220 mail.example ESMTP")
        while line := self.rfile.readline(LINE_BYTES_MAX).decode().strip():
            verb, _, rest = line.partition(" ")
            self.state.commands.append(verb.upper())
            if (refusal := self.state.refuses.get(verb.upper())) is not None:
                self.say(refusal)
            else:
                getattr(self, f"on_{verb.lower()}")(rest)

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())
        self.wfile.flush()

    def on_ehlo(self, _rest: str) -> None:
        offers = ["250-STARTTLS"] if self.context is not None and not self.by_tls else []
        self.say("250-mail.example", *offers, "250-AUTH PLAIN", "250 8BITMIME")

    def on_starttls(self, _rest: str) -> None:
        assert self.context is not None
        self.say("220 go ahead")
        self.connection = self.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), cast(Any, self.connection.makefile("wb"))
        self.by_tls = True

    def on_auth(self, rest: str) -> None:
        _, user, password = b64decode(rest.split()[1]).decode().split("\0")
        self.login = (user, password)
        self.say("235 welcome")

    def on_mail(self, rest: str) -> None:
        self.sender = rest.partition("<")[2].partition(">")[0]
        self.say("250 ok")

    def on_rcpt(self, rest: str) -> None:
        self.to = rest.partition("<")[2].partition(">")[0]
        self.say("250 ok")

    def on_data(self, _rest: str) -> None:
        self.say("354 go on")
        lines = b""
        while (line := self.rfile.readline(LINE_BYTES_MAX)) != b".\r\n":
            lines += line
        message = message_from_bytes(lines, policy=policy.default)
        self.state.received.append(Mail(self.sender, self.to, message, self.by_tls, self.login))
        self.say("250 queued")

    def on_rset(self, _rest: str) -> None:
        self.say("250 ok")

    def on_quit(self, _rest: str) -> None:
        self.say("221 bye")


@contextmanager
def mail_server(address: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> Iterator[MailServer]:
    """`context`: with it there is STARTTLS."""
    state = MailServer()
    session = type("Session", (_Session,), {"state": state, "context": context})
    server = ThreadingTCPServer((address, 0), session)
    state.port = server.server_address[1]
    with served(server):
        yield state
