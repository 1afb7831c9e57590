"""Telling developers that their reports are finished, by mail and by a webhook, where the profile asks for it.

Each try is an event of the report, so it goes on from there after a restart, or on another node. Everybody is told at
least once: a process that ends between a try and its event tries again.
"""

import binascii
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit
from uuid import UUID

import structlog
import trio

from aggregates.event import Scope
from aggregates.people.commands import EMAIL
from aggregates.people.directory import Developer, Directory
from aggregates.people.events import Channel
from aggregates.reports.events import NoteNotice, Problem
from aggregates.reports.notices import (
    NEWS_US,
    Notice,
    mail_subject,
    mail_text,
    next_try_us,
    webhook_body,
    webhook_headers,
)
from aggregates.times import US_PER_SECOND
from projections.facts.reports import OpenNotice, open_notices
from svc.actors.actors import Clock
from svc.jobs.reports import Desk
from svc.limits import REPORT_RETRY_SECONDS
from svc.outward import asked
from svc.settings import LOOPBACK, Settings, SettingsError, is_safe
from svc_http.ports import Unavailable

if TYPE_CHECKING:
    from email.message import EmailMessage
from svc.limits import KIB_BYTES

NOTICE_LOOK_SECONDS = 30.0
"""How often it is looked whether somebody is to be told of a finished report. The first look comes that late, too: by
then the views of a node that takes the job over hold what the one before has done."""
NOTICE_SECONDS = 20.0  # how long another server may take to hear of one report
NOTICES_MAX = 8  # at a time: on Monday morning all weekly reports are finished at once
NOTICES_WAITING_MAX = 1_000  # looked at in one read, the newest of each channel
NOTICE_ANSWER_BYTES_MAX = 64 * KIB_BYTES  # of what a webhook's receiver answers; nothing of it is used
NOTICE_STORE_SECONDS = 60.0
"""How long it is tried to store that somebody was told; then they are told again after the next start."""

SECRET_START = "whsec_"
SECRET_BYTES_MIN, SECRET_BYTES_MAX = 24, 64
GONE = 410
log = structlog.get_logger()


class Refusal(NamedTuple):
    problem: Problem
    status: int | None
    reason: str  # for the log: it names no address and quotes nobody


class Sender(Protocol):
    async def send(self, notice: Notice, developer: Developer) -> Refusal | None:
        """Tell somebody; None: it arrived."""


def senders_of(settings: Settings, clock: Clock) -> Mapping[Channel, Sender]:
    """Those that the settings name. Raises `SettingsError`, which tells nothing of a secret."""
    found: dict[Channel, Sender] = {}
    if (settings.smtp_url is None) != (settings.mail_from is None):
        raise SettingsError("smtp_url and mail_from belong together: set both or neither")
    if (settings.webhook_url is None) != (settings.webhook_secret is None):
        raise SettingsError("webhook_url and webhook_secret belong together: set both or neither")
    if settings.smtp_url is not None and settings.mail_from is not None:
        found["email"] = mail_of(settings.smtp_url, settings.mail_from, clock)
    if settings.webhook_url is not None and settings.webhook_secret is not None:
        found["webhook"] = webhook_of(settings.webhook_url, settings.webhook_secret, clock)
    return found


def webhook_of(url: str, secret: str, clock: Clock) -> "Webhook":
    if not is_safe(url):
        raise SettingsError("webhook_url is no address to tell anything: write https://…, or http:// on this machine")
    try:
        key = b64decode(secret.removeprefix(SECRET_START), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(SECRET_START) or not SECRET_BYTES_MIN <= len(key) <= SECRET_BYTES_MAX:
        bounds = f"{SECRET_BYTES_MIN} to {SECRET_BYTES_MAX}"
        raise SettingsError(
            f"webhook_secret must be {SECRET_START} and the base64 of {bounds} random bytes; "
            f'make one by: echo "{SECRET_START}$(openssl rand -base64 32)"'
        )
    return Webhook(url, key, clock)


class Webhook:
    def __init__(self, url: str, secret: bytes, clock: Clock) -> None:
        self._url = url
        self._secret = secret
        self._clock = clock

    async def send(self, notice: Notice, developer: Developer) -> Refusal | None:
        body = webhook_body(notice)
        try:
            answer = await asked(
                "POST",
                self._url,
                seconds=NOTICE_SECONDS,
                bytes_max=NOTICE_ANSWER_BYTES_MAX,
                headers=webhook_headers(notice.id, body, self._secret, self._clock.now_us()),
                content=body,
            )
        except OSError as error:
            return Refusal("unreachable", None, str(error))
        if 200 <= answer.status < 300:
            return None
        return Refusal("gone" if answer.status == GONE else "refused", answer.status, "it answered with an error")


_NO_SERVER = (
    "smtp_url is no address of a mail server: write smtp://USER:PASSWORD@HOST:587, or smtps:// for TLS from the first "
    "byte; percent-encode characters other than letters and digits in USER and PASSWORD"
)
Tls = Literal["starttls", "at once", "none"]
_PORTS: Mapping[str, int] = {"smtp": 587, "smtps": 465}


def mail_of(url: str, sender: str, clock: Clock) -> "Mail":
    if not EMAIL.fullmatch(sender):
        raise SettingsError("mail_from must be one address, like svc@example.com")
    try:
        parts = urlsplit(url)
        usual = _PORTS[parts.scheme]
        host, port = parts.hostname, parts.port or usual
        login = tuple(unquote(each or "", errors="strict") for each in (parts.username, parts.password))
    except (ValueError, KeyError):
        raise SettingsError(_NO_SERVER) from None
    if not host or not all(each.isascii() for each in login) or (not login[0] and login[1]):
        raise SettingsError(_NO_SERVER)
    tls: Tls = "at once" if parts.scheme == "smtps" else "none" if host in LOOPBACK else "starttls"
    return Mail(host, port, tls, (login[0], login[1]), sender, clock)


class Mail:
    """`tls` is "none" for a server on this very machine alone. `login`: two empty texts where nobody logs in."""

    def __init__(self, host: str, port: int, tls: Tls, login: tuple[str, str], sender: str, clock: Clock) -> None:
        self._host = host
        self._port = port
        self._tls = tls
        self._login = login
        self._sender = sender
        self._clock = clock

    async def send(self, notice: Notice, developer: Developer) -> Refusal | None:
        assert developer.email is not None, "who has no address is not told by mail"
        sent = partial(self._sent, self._message(notice, developer.email))
        try:
            with trio.fail_after(NOTICE_SECONDS):
                return await trio.to_thread.run_sync(sent, abandon_on_cancel=True)
        except trio.TooSlowError:
            return Refusal("unreachable", None, f"no answer within {NOTICE_SECONDS:.0f} s")

    def _message(self, notice: Notice, to: str) -> "EmailMessage":
        from email.message import EmailMessage  # takes a while, and most servers send no mail
        from email.utils import formatdate

        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._sender, to, mail_subject(notice)
        message["Date"] = formatdate(self._clock.now_us() / US_PER_SECOND)
        message["Message-ID"] = f"<{notice.id}@{self._domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail_text(notice))
        return message

    @property
    def _domain(self) -> str:
        return self._sender.rpartition("@")[2]

    def _sent(self, message: "EmailMessage") -> Refusal | None:
        import smtplib

        # What a mail server says may name people and accounts: only its numbers are told on.
        try:
            self._hand_over(message)
        except smtplib.SMTPRecipientsRefused as error:
            ((status, _),) = error.recipients.values()
            return Refusal("refused", status, type(error).__name__)
        except smtplib.SMTPResponseException as error:
            return Refusal("refused", error.smtp_code, type(error).__name__)
        except OSError as error:
            return Refusal("unreachable", None, type(error).__name__)
        return None

    def _hand_over(self, message: "EmailMessage") -> None:
        import smtplib

        import httpx

        at = (self._host, self._port, self._domain)
        if self._tls == "at once":
            context = httpx.create_ssl_context()  # trusts whom all other requests of svc trust
            server: smtplib.SMTP = smtplib.SMTP_SSL(*at, timeout=NOTICE_SECONDS, context=context)
        else:
            server = smtplib.SMTP(*at, timeout=NOTICE_SECONDS)
        try:
            if self._tls == "starttls":
                server.starttls(context=httpx.create_ssl_context())
            if self._login[0]:
                server.login(*self._login)
            server.send_message(message)
            with suppress(OSError):  # it has the mail
                server.quit()
        finally:
            server.close()


class ReportNotices:
    def __init__(
        self,
        desk: Desk,
        directory: Directory,
        senders: Mapping[Channel, Sender],
        dashboard_url: str | None,
        clock: Clock,
    ) -> None:
        self._desk = desk
        self._directory = directory
        self._senders = senders
        self._dashboard_url = dashboard_url
        self._clock = clock
        self._news: set[Scope] = set()  # who was told since the last look: the views must hold that before the next
        self._not_stored: set[tuple[UUID, Channel]] = set()
        """Told, and nobody could write that down: they are not told again and again."""

    async def run(self) -> None:
        while True:
            await trio.sleep(NOTICE_LOOK_SECONDS)
            try:
                while await self.look() == NOTICES_MAX:
                    pass
            except Unavailable as error:
                log.warning("nobody is told of finished reports at present; it is tried again", reason=str(error))
            except Exception:
                log.exception("nobody could be told of finished reports; it is tried again")

    async def look(self) -> int:
        """Tell whoever is to be told now; how many that were. Raises `Unavailable`."""
        due = await self._due()
        async with trio.open_nursery() as nursery:
            for each in due:
                nursery.start_soon(self._tell, each)
        return len(due)

    async def _due(self) -> list[OpenNotice]:
        for scope in list(self._news):
            await self._desk.read(scope, lambda _reader, _scope: None)
            self._news.discard(scope)
        now_us, channels = self._clock.now_us(), tuple(self._senders)
        since_us, most = now_us - NEWS_US, NOTICES_WAITING_MAX
        waiting = await self._desk.read_all(lambda reader: open_notices(reader, channels, since_us, most))
        return [each for each in waiting if self._is_due(each, now_us)][:NOTICES_MAX]

    def _is_due(self, waiting: OpenNotice, now_us: int) -> bool:
        next_us = next_try_us(waiting.finished_us, waiting.tries)
        is_new = (waiting.report_id, waiting.channel) not in self._not_stored
        return next_us is not None and next_us <= now_us and is_new and self._who_wants(waiting) is not None

    def _who_wants(self, waiting: OpenNotice) -> Developer | None:
        """The developer, as long as they are a member and their profile asks for it."""
        developer = self._directory.get(Developer, waiting.scope.developer_id)
        if developer is None or self._directory.membership(waiting.scope) is None:
            return None
        reachable = waiting.channel != "email" or developer.email is not None
        return developer if reachable and waiting.channel in developer.report_notices else None

    async def _tell(self, waiting: OpenNotice) -> None:
        developer = self._who_wants(waiting)
        if developer is None:
            return
        refusal = await self._tried(waiting, developer)
        note = NoteNotice(
            organization_id=waiting.scope.organization_id,
            developer_id=waiting.scope.developer_id,
            report_id=waiting.report_id,
            period=waiting.period,
            channel=waiting.channel,
            problem=None if refusal is None else refusal.problem,
            status=None if refusal is None else refusal.status,
        )
        self._news.add(waiting.scope)
        if not await self._stored(note):
            self._not_stored.add((waiting.report_id, waiting.channel))

    async def _tried(self, waiting: OpenNotice, developer: Developer) -> Refusal | None:
        url = None if self._dashboard_url is None else f"{self._dashboard_url.rstrip('/')}/reports/{waiting.report_id}"
        notice = Notice(
            report_id=waiting.report_id,
            developer_id=developer.id,
            completed=waiting.completed,
            finished_us=waiting.finished_us,
            period=waiting.period,
            url=url,
        )
        about = {"report_id": str(waiting.report_id), "channel": waiting.channel, "attempt": len(waiting.tries) + 1}
        try:
            refusal = await self._senders[waiting.channel].send(notice, developer)
        except Exception:
            log.exception("telling of a report broke", **about)
            return Refusal("unreachable", None, "broken")
        if refusal is not None:
            status, reason = refusal.status, refusal.reason
            log.warning("a developer could not be told of a report", **about, status=status, reason=reason)
        return refusal

    async def _stored(self, note: NoteNotice) -> bool:
        try:
            with trio.move_on_after(NOTICE_STORE_SECONDS):
                while True:
                    try:
                        await self._desk.send(note)
                        return True
                    except Unavailable:
                        await trio.sleep(REPORT_RETRY_SECONDS)
        except Exception:
            log.exception("that a developer was told of a report could not be stored", report_id=str(note.report_id))
        log.error("a developer may be told of a report again after the next start", report_id=str(note.report_id))
        return False
