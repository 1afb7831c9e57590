"""Telling developers that their reports are finished, by mail and by a webhook, where the profile asks for it.

Each try is an event of the report: it goes on from there after a restart, and everybody is told at least once.
"""

import binascii
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing, suppress
from functools import partial
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit
from uuid import UUID

import structlog
import trio
from msgspec import structs

from aggregates.event import Scope
from aggregates.people.acts import EMAIL, Channel
from aggregates.people.directory import Developer
from aggregates.reports import decide as notices
from aggregates.reports.events import Problem, ReportNoticeTried
from aggregates.times import US_PER_SECOND
from projections.facts.reports import open_notices
from svc.actors.actors import recur
from svc.jobs.reports import patiently, seen
from svc.outward import asked, trusted
from svc.process import KIB_BYTES
from svc.settings import LOOPBACK, Settings, SettingsError, is_safe
from svc_http.ports import Service

NOTICE_LOOK_SECONDS = 30.0  # also before the first look: by then a node knows what the one before it did
NOTICE_SECONDS = 20.0  # how long another server may take to hear of one report
NOTICES_MAX = 8  # at a time: on Monday morning all weekly reports are finished at once
NOTICES_WAITING_MAX = 1_000  # looked at in one read, the newest of each channel
NOTICE_ANSWER_BYTES_MAX = 64 * KIB_BYTES  # of what a webhook's receiver answers; nothing of it is used
NOTICE_STORE_SECONDS = 60.0  # how long it is tried to store that somebody was told, before it is told again

SECRET_START = "whsec_"
SECRET_BYTES_MIN, SECRET_BYTES_MAX = 24, 64
log = structlog.get_logger()


class Refusal(NamedTuple):
    problem: Problem
    status: int | None
    reason: str  # for the log: it names no address and quotes nobody


Send = Callable[[notices.Notice, Developer, int], Awaitable[Refusal | None]]  # at a time; None: it arrived


def senders_of(settings: Settings) -> Mapping[Channel, Send]:
    """Those that the settings name. Raises `SettingsError`, which tells nothing of a secret."""
    found: dict[Channel, Send] = {}  # no partials, which show what they hold
    for one, other in (("smtp_url", "mail_from"), ("webhook_url", "webhook_secret")):
        if (getattr(settings, one) is None) != (getattr(settings, other) is None):
            raise SettingsError(f"{one} and {other} belong together: set both or neither")
    if settings.smtp_url is not None and settings.mail_from is not None:
        server = mail_server(settings.smtp_url, settings.mail_from)
        found["email"] = lambda *about: _mail(server, *about)
    if settings.webhook_url is not None and settings.webhook_secret is not None:
        if not is_safe(settings.webhook_url):
            why = "webhook_url is no address to tell anything: write https://…, or http:// on this machine"
            raise SettingsError(why)
        url, key = settings.webhook_url, webhook_key(settings.webhook_secret)
        found["webhook"] = lambda *about: _post(url, key, *about)
    return found


def webhook_key(secret: str) -> bytes:
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
    return key


async def _post(url: str, key: bytes, notice: notices.Notice, _developer: Developer, now_us: int) -> Refusal | None:
    body = notices.webhook_body(notice)
    try:
        headers = notices.webhook_headers(notice.id, body, key, now_us)
        answer = await asked("POST", url, NOTICE_SECONDS, NOTICE_ANSWER_BYTES_MAX, headers=headers, content=body)
    except OSError as error:
        return Refusal("unreachable", None, str(error))
    if 200 <= answer.status < 300:
        return None
    return Refusal("gone" if answer.status == 410 else "refused", answer.status, "it answered with an error")


class MailServer(NamedTuple):
    host: str
    port: int
    tls: Literal["starttls", "at once", "none"]  # none for a server on this very machine alone
    login: tuple[str, str]  # two empty texts where nobody logs in
    sender: str


_PORTS: Mapping[str, int] = {"smtp": 587, "smtps": 465}


def mail_server(url: str, sender: str) -> MailServer:
    if not EMAIL.fullmatch(sender):
        raise SettingsError("mail_from must be one address, like svc@example.com")
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
        name, password = (unquote(each or "", errors="strict") for each in (parts.username, parts.password))
        usable = parts.scheme in _PORTS and f"{name}{password}".isascii() and (bool(name) or not password)
    except (ValueError, KeyError):
        usable = False
    if not usable or not parts.hostname:
        raise SettingsError(
            "smtp_url is no address of a mail server: write smtp://USER:PASSWORD@HOST:587, or smtps:// for TLS from "
            "the first byte; percent-encode characters other than letters and digits in USER and PASSWORD"
        )
    tls: Literal["starttls", "none"] = "none" if parts.hostname in LOOPBACK else "starttls"
    return MailServer(parts.hostname, port, "at once" if parts.scheme == "smtps" else tls, (name, password), sender)


async def _mail(server: MailServer, notice: notices.Notice, developer: Developer, now_us: int) -> Refusal | None:
    assert developer.email is not None, "who has no address is not told by mail"
    try:
        with trio.fail_after(NOTICE_SECONDS):
            return await trio.to_thread.run_sync(_sent, server, notice, developer.email, now_us, abandon_on_cancel=True)
    except trio.TooSlowError:
        return Refusal("unreachable", None, f"no answer within {NOTICE_SECONDS:.0f} s")


def _sent(to: MailServer, notice: notices.Notice, receiver: str, now_us: int) -> Refusal | None:
    import smtplib  # takes a while, and most servers send no mail
    from email.message import EmailMessage
    from email.utils import formatdate

    message, domain = EmailMessage(), to.sender.rpartition("@")[2]
    message["From"], message["To"], message["Subject"] = to.sender, receiver, notices.mail_subject(notice)
    message["Date"], message["Message-ID"] = formatdate(now_us / US_PER_SECOND), f"<{notice.id}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(notices.mail_text(notice))
    connect = partial(smtplib.SMTP_SSL, context=trusted()) if to.tls == "at once" else smtplib.SMTP
    try:  # what a mail server says may name people and accounts: only its numbers are told on
        with closing(connect(to.host, to.port, domain, timeout=NOTICE_SECONDS)) as server:
            if to.tls == "starttls":
                server.starttls(context=trusted())
            if to.login[0]:
                server.login(*to.login)
            server.send_message(message)
            with suppress(OSError):  # it has the mail
                server.quit()
    except smtplib.SMTPRecipientsRefused as error:
        ((status, _),) = error.recipients.values()
        return Refusal("refused", status, type(error).__name__)
    except smtplib.SMTPResponseException as error:
        return Refusal("refused", error.smtp_code, type(error).__name__)
    except OSError as error:
        return Refusal("unreachable", None, type(error).__name__)
    return None


class ReportNotices:
    def __init__(self, service: Service, senders: Mapping[Channel, Send], dashboard_url: str | None) -> None:
        self._service = service
        self._senders = senders
        self._dashboard_url = dashboard_url
        self._news: set[Scope] = set()  # who was told
        self._not_stored: set[tuple[UUID, Channel]] = set()  # told, and not written down: they are not told again

    async def run(self) -> None:
        async def all_due() -> None:
            while await self.look() == NOTICES_MAX:
                pass

        await trio.sleep(NOTICE_LOOK_SECONDS)
        await recur(all_due, NOTICE_LOOK_SECONDS, "nobody could be told of finished reports; it is tried again")

    async def look(self) -> int:
        """Tell whoever is to be told now; how many that were. Raises `Unavailable`."""
        await seen(self._service, self._news)
        now_us, channels = self._service.now_us(), tuple(self._senders)
        since_us, most = now_us - notices.NEWS_US, NOTICES_WAITING_MAX
        waiting = await self._service.read_all(lambda reader: open_notices(reader, channels, since_us, most))
        due = [(each, who) for each in waiting if (who := self._who_wants(each, now_us)) is not None][:NOTICES_MAX]
        async with trio.open_nursery() as nursery:
            for notice, developer in due:
                nursery.start_soon(self._tell, notice, developer)
        return len(due)

    def _who_wants(self, waiting: notices.Notice, now_us: int) -> Developer | None:
        """The developer, where a try is due, they are a member and their profile asks for it."""
        directory, channel = self._service.directory, waiting.channel
        next_us = notices.next_try_us(waiting.finished_us, waiting.tries)
        if next_us is None or next_us > now_us or (waiting.report_id, channel) in self._not_stored:
            return None
        developer = directory.get(Developer, waiting.scope.developer_id)
        if developer is None or directory.membership(waiting.scope) is None:
            return None
        reachable = channel != "email" or developer.email is not None
        return developer if reachable and channel in developer.report_notices else None

    async def _tell(self, waiting: notices.Notice, developer: Developer) -> None:
        report_id, channel = waiting.report_id, waiting.channel
        url = None if self._dashboard_url is None else f"{self._dashboard_url.rstrip('/')}/reports/{report_id}"
        about = {"report_id": str(report_id), "channel": channel, "attempt": len(waiting.tries) + 1}
        try:
            notice = structs.replace(waiting, url=url)
            refusal = await self._senders[channel](notice, developer, self._service.now_us())
            if refusal is not None:
                what = "a developer could not be told of a report"
                log.warning(what, **about, status=refusal.status, reason=refusal.reason)
        except Exception:
            log.exception("telling of a report broke", **about)
            refusal = Refusal("unreachable", None, "broken")
        who, (problem, status, _) = structs.asdict(waiting.scope), refusal or (None, None, "")
        tried = ReportNoticeTried(**who, report_id=report_id, channel=channel, problem=problem, status=status)
        self._news.add(waiting.scope)
        try:
            with trio.fail_after(NOTICE_STORE_SECONDS):
                await patiently(partial(self._service.send, tried))
        except Exception:
            log.exception("a developer may be told of a report again after the next start", **about)
            self._not_stored.add((report_id, channel))
