"""Telling people that their reports are finished, over real sockets: who is told, by what, how often; who is not."""

import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import structlog
from msgspec.structs import replace
from standardwebhooks import Webhook as TheirWebhook
from trio.testing import MockClock

from aggregates.decide import AnyCommand
from aggregates.event import Done, Reply, Unavailable, Words
from aggregates.people.acts import ChangeDeveloper, Channel, EndMembership
from aggregates.people.directory import Developer
from aggregates.reports.decide import NEWS_US, RETRY_SECONDS, TRIES_MAX
from aggregates.reports.events import ReportCompleted, ReportDeleted, ReportNoticeTried, ReportStarted
from projections.facts.reports import report_tries
from svc.jobs import notices
from svc.jobs.notices import NOTICES_MAX, ReportNotices, senders_of
from svc.log.opening import open_log
from svc.service import RunningService, lanes_of
from svc.settings import Settings, SettingsError
from tests.support.basics import ANA, ANA_SCOPE, FixedClock, carry_out, named
from tests.support.listening import Intake, MailServer, intake, mail_server, self_signed
from tests.support.tables import each_of, table
from tests.svc.jobs.test_reports import about, wanted
from tests.svc_http.house import DAY_US, House

SECOND_US = 1_000_000
SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
NOBODY = "http://127.0.0.1:1/told"  # port 1: nobody listens there
SECTIONS = '{"score": {"svc_score": 0.6174}, "topPrompts": ["fix the heron harbour"]}'


class Office(House):
    """A company whose reports are made at once; `told` says by what people can be told."""

    def __init__(self, told: Settings) -> None:
        super().__init__()
        self.told = told
        self.clock_us = int(time.time()) * SECOND_US  # now: a receiver checks that a webhook was sent now
        self.unwritable = False
        self.wants("email", "webhook")
        self.starts()

    def starts(self) -> None:
        """Whoever tells people begins anew, as after a restart."""
        self.notices = ReportNotices(self, senders_of(self.told), "https://mirror.example/")

    def wants(self, *channels: Channel, email: str = "ana@example.com") -> None:
        change = ChangeDeveloper(developer_id=ANA, email=email, report_notices=channels)
        carry_out(self.directory, change)

    async def send(self, command: AnyCommand) -> Reply:
        if self.unwritable and isinstance(command, ReportNoticeTried):
            raise Unavailable("the event store cannot be written at present")
        return await super().send(command)

    async def finishes(self, name: str = "one", day: int = 0, *, after_days: int = 0) -> None:
        """A report is asked for, and made so much later."""
        developer = self.directory.get(Developer, ANA)
        assert developer is not None
        notices = developer.report_notices
        assert isinstance(await self.send(wanted(name, day, notices=notices)), Done)
        self.clock_us += after_days * DAY_US
        await self.send(ReportStarted(**about(name)))
        await self.send(ReportCompleted(**about(name), rules_version=1, sections=Words(SECTIONS)))

    async def leaves(self) -> None:
        """Ana is forgotten."""
        member = self.directory.membership(ANA_SCOPE)
        assert member is not None
        carry_out(self.directory, EndMembership(membership_id=member.id, forgotten=True))

    async def after(self, seconds: float) -> None:
        self.clock_us += int(seconds * SECOND_US)
        await self.notices.look()

    async def tries(self, channel: Channel = "webhook", name: str = "one") -> list[str]:
        return [each.outcome for each in await self.read(ANA_SCOPE, report_tries, named(name), channel)]


@pytest.fixture
def there() -> Iterator[Intake]:
    with intake(200) as found:
        found.url += "/told/token-in-the-path"
        yield found


@pytest.fixture
def post() -> Iterator[MailServer]:
    with mail_server() as found:
        yield found


def by_webhook(url: str) -> Settings:
    return Settings(webhook_url=url, webhook_secret=SECRET)


def by_mail(server: MailServer, login: str = "", host: str = "127.0.0.1") -> Settings:
    return Settings(smtp_url=f"smtp://{login}{host}:{server.port}", mail_from="svc@example.com")


# --- what is told, and to whom not ----------------------------------------------------------------------------------


async def test_a_webhook_tells_that_a_report_is_made_and_its_receiver_can_verify_it(there: Intake) -> None:
    """By the library of those who wrote the specification; and nothing of the report is in it."""
    office = Office(by_webhook(there.url))
    await office.finishes()
    assert await office.notices.look() == 1
    (got,) = there.heard
    body = TheirWebhook(SECRET).verify(got.body, got.headers)
    assert (body["type"], body["data"]["report_id"]) == ("report.completed", str(named("one")))
    assert body["data"]["url"] == f"https://mirror.example/reports/{named('one')}"
    assert set(body["data"]) == {"report_id", "developer_id", "period", "from", "to", "url"}
    assert not any(word in got.body for word in (b"6174", b"heron", b"ana@"))
    assert await office.tries() == ["told"]
    await office.after(86_400)
    assert len(there.heard) == 1


async def test_a_mail_goes_to_the_persons_own_address(post: MailServer) -> None:
    """From the server's, signed in by what the setting says, as mail of a machine."""
    office = Office(by_mail(post, "svc%40example.com:p%3Ass@"))
    await office.finishes()
    await office.notices.look()
    (got,) = post.received
    assert (got.sender, got.to, got.login) == ("svc@example.com", "ana@example.com", ("svc@example.com", "p:ss"))
    assert (got.message["To"], got.message["Subject"]) == ("ana@example.com", "Your daily report is ready")
    assert got.message["Auto-Submitted"] == "auto-generated"
    assert got.message["Message-ID"] == f"<report-{named('one')}@example.com>"
    text = got.message.get_content()
    assert f"https://mirror.example/reports/{named('one')}" in text
    assert not any(word in text for word in ("6174", "heron"))
    assert await office.tries("email") == ["told"]


async def test_all_are_told_where_many_are_finished_at_once(there: Intake) -> None:
    office = Office(by_webhook(there.url))
    for day in range(NOTICES_MAX + 1):
        await office.finishes(f"day {day}", day)
    assert [await office.notices.look() for _ in range(3)] == [NOTICES_MAX, 1, 0]
    assert len({got.headers["webhook-id"] for got in there.heard}) == NOTICES_MAX + 1


async def asks_no_longer(office: Office) -> None:
    office.wants("email")


async def had_not_asked(office: Office) -> None:
    await office.send(ReportDeleted(**about("one")))
    office.wants()
    await office.finishes("two", 1)
    office.wants("webhook")


@table(
    "meanwhile",
    {
        "who asks no longer": asks_no_longer,
        "who had not asked for it when it was made": had_not_asked,
        "who is forgotten": Office.leaves,
        "of a deleted report": lambda office: office.send(ReportDeleted(**about("one"))),
        "of what is no news any more": lambda office: office.after(NEWS_US / SECOND_US),
    },
)
async def test_nobody_is_told(there: Intake, meanwhile: Callable[[Office], Awaitable[object]]) -> None:
    office = Office(by_webhook(there.url))
    await office.finishes()
    await meanwhile(office)
    assert await office.notices.look() == 0
    assert there.heard == []


async def test_a_report_that_took_a_month_is_not_looked_for(there: Intake) -> None:
    """So that a look need not read all there ever were."""
    office = Office(by_webhook(there.url))
    await office.finishes("late", after_days=40)
    await office.finishes("new", 1)
    await office.notices.look()
    assert [await office.tries(name=name) for name in ("late", "new")] == [[], ["told"]]


async def test_who_has_no_address_gets_no_mail_until_there_is_one(post: MailServer) -> None:
    office = Office(by_mail(post))
    office.wants("email", email="")
    await office.finishes()
    assert await office.notices.look() == 0
    office.wants("email", email="new@example.com")
    await office.notices.look()
    assert [got.to for got in post.received] == ["new@example.com"]


# --- again, and no more -------------------------------------------------------------------------------------------


async def test_a_receiver_that_is_down_is_tried_again_also_after_a_restart(there: Intake) -> None:
    """Nobody there, then errors, then all is well; each time it is the same delivery, sent at another time."""
    office = Office(by_webhook(NOBODY))
    await office.finishes()
    await office.notices.look()
    office.told, there.status = by_webhook(there.url), 503
    office.starts()
    await office.after(RETRY_SECONDS[0] - 1)
    assert there.heard == []
    await office.after(1)
    office.starts()
    there.status = 204
    await office.after(RETRY_SECONDS[1])
    await office.after(86_400)
    assert await office.tries() == ["failed", "failed", "told"]
    first, second = there.heard
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == f"report-{named('one')}"
    assert first.body == second.body
    sent = [int(got.headers["webhook-timestamp"]) for got in there.heard]
    assert sent[1] - sent[0] == RETRY_SECONDS[1]


@table(
    ("status", "tries"),
    {
        "a receiver that never answers well": (500, ["failed"] * (TRIES_MAX - 1) + ["given_up"]),
        "one that sends us elsewhere, perhaps within the walls": (307, ["failed"] * (TRIES_MAX - 1) + ["given_up"]),
        "a receiver that is gone": (410, ["given_up"]),
    },
)
async def test_in_the_end_it_is_given_up(there: Intake, status: int, tries: list[str]) -> None:
    """No redirection is followed."""
    office = Office(by_webhook(there.url))
    there.status, there.location = status, there.url.replace("/told", "/elsewhere")
    await office.finishes()
    for pause in (0, *RETRY_SECONDS, 86_400):
        await office.after(pause)
    assert (await office.tries(), len(there.heard)) == (tries, len(tries))


@pytest.mark.parametrize(
    ("verb", "tries"),
    [*((verb, ["failed", "told"]) for verb in ("EHLO", "AUTH", "MAIL", "RCPT", "DATA")), ("QUIT", ["told"])],
)
async def test_a_mail_server_that_refuses_is_asked_again(post: MailServer, verb: str, tries: list[str]) -> None:
    """Not because of a bad goodbye: it has the mail."""
    office = Office(by_mail(post, "svc:password@"))
    post.refuses[verb] = "451 not now"
    await office.finishes()
    await office.notices.look()
    post.refuses.clear()
    await office.after(RETRY_SECONDS[0])
    assert (await office.tries("email"), len(post.received)) == (tries, 1)


async def test_what_cannot_be_written_down_is_not_told_again_and_again(autojump_clock: MockClock) -> None:
    office, sent = Office(Settings()), list[object]()

    async def send(*about: object) -> None:
        sent.append(about)

    office.notices = ReportNotices(office, {"webhook": send}, None)
    await office.finishes()
    office.unwritable = True
    assert [await office.notices.look() for _ in range(3)] == [1, 0, 0]
    assert len(sent) == 1


async def test_a_channel_that_breaks_is_one_that_failed() -> None:
    async def broken(*_about: Any) -> None:
        raise ValueError("a bug")

    office = Office(Settings())
    office.notices = ReportNotices(office, {"webhook": broken}, None)
    await office.finishes()
    with structlog.testing.capture_logs() as lines:
        await office.notices.look()
    assert [line["event"] for line in lines] == ["telling of a report broke"]
    assert await office.tries() == ["failed"]


# --- TLS and secrets ----------------------------------------------------------------------------------------------


@table(
    ("offers_tls", "trusted"),
    {"a trusted certificate": (True, True), "another's certificate": (True, False), "no TLS": (False, True)},
)
async def test_mail_goes_elsewhere_by_trusted_tls_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offers_tls: bool, trusted: bool
) -> None:
    """Another address is not called this machine's own."""
    file, key = self_signed(tmp_path, "127.0.0.2")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with mail_server("127.0.0.2", context if offers_tls else None) as post:
        office = Office(by_mail(post, "svc:password@", "127.0.0.2"))
        await office.finishes()
        await office.notices.look()
    is_told = offers_tls and trusted
    assert await office.tries("email") == ["told" if is_told else "failed"]
    assert is_told or set(post.commands) <= {"EHLO", "STARTTLS"}
    assert [(got.by_tls, got.login) for got in post.received] == [(True, ("svc", "password"))] * is_told


async def test_no_log_line_and_no_event_holds_an_address_or_a_secret(there: Intake, post: MailServer) -> None:
    settings = replace(by_mail(post, "the-user:the-password@"), webhook_url=there.url, webhook_secret=SECRET)
    office = Office(settings)
    there.status, post.refuses["RCPT"] = 500, "550 ana@example.com is unknown to the-user"
    await office.finishes()
    with structlog.testing.capture_logs() as lines:
        await office.notices.look()
    assert len(lines) == 2
    shown = repr(lines) + repr(settings) + repr(senders_of(settings)) + repr(office.events)
    for secret in ("the-user", "the-password", "token-in-the-path", SECRET, SECRET[6:], "ana@example.com"):
        assert secret not in shown


@each_of(
    [
        ({"smtp_url": "smtp://hush@h"}, "smtp_url and mail_from belong together"),
        ({"mail_from": "svc@example.com"}, "smtp_url and mail_from belong together"),
        ({"webhook_url": "https://hush.example"}, "webhook_url and webhook_secret belong together"),
        ({"webhook_secret": SECRET}, "webhook_url and webhook_secret belong together"),
        ({"webhook_url": "http://hush.example", "webhook_secret": SECRET}, "webhook_url is no address"),
        ({"webhook_url": "https://h.example", "webhook_secret": "hush"}, "webhook_secret must be whsec_"),
        ({"webhook_url": "https://h.example", "webhook_secret": "whsec_hush"}, "base64 of 24 to 64 random bytes"),
        ({"webhook_url": "https://h.example", "webhook_secret": "whsec_hush!"}, "base64 of 24 to 64 random bytes"),
        ({"smtp_url": "http://hush@h:25", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://user:hu/sh@h", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://user:h%FFush@h", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://user:hüsh@h", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://:hush@h", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://h", "mail_from": "a@example.com, b@example.com"}, "mail_from must be one address"),
    ]
)
def test_a_setting_that_cannot_be_used_is_named_without_what_it_holds(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said) as error:
        senders_of(Settings(**settings))
    assert "hush" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_mail_server_is_reached_where_such_servers_listen() -> None:
    """STARTTLS on 587, TLS from the first byte on 465, and none on this machine."""
    urls = ("smtp://mail.example", "smtps://mail.example", "smtp://localhost:2525")
    mails = [notices.mail_server(url, "svc@example.com") for url in urls]
    assert [(each.port, each.tls) for each in mails] == [(587, "starttls"), (465, "at once"), (2525, "none")]


@pytest.mark.parametrize("wanted", [True, False])
async def test_a_server_tells_people_where_its_settings_say_so(tmp_path: Path, wanted: bool) -> None:
    settings = replace(by_webhook(NOBODY) if wanted else Settings(), var=str(tmp_path))
    with (
        closing(open_log(settings.place)) as store,
        closing(RunningService(settings, store, FixedClock(0), lasting=True)) as service,
    ):
        lanes = lanes_of(service, settings, lasting=True, reporting=True)
        owners = [type(getattr(lane, "__self__", None)) for lane in lanes]
        assert (ReportNotices in owners, service.settings.channels) == (wanted, ("webhook",) * wanted)
