"""Who gets in, as things stand now: by a key, a sign-in, or an account of a sign-in provider; or as the operator.

At the end: how much each may use of the server, once in.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

import msgspec

from aggregates.event import Mendable, Newest, Scope
from aggregates.ids import claim_stream, credential_stream, identity_stream
from aggregates.people import directory as records
from aggregates.people.acts import NoteKeyUse, Role, SeeSignIn
from aggregates.people.directory import Directory
from aggregates.times import US_PER_DAY, US_PER_MINUTE, US_PER_SECOND, iso, parse_instant

DAY_CHARACTERS = 10


class Uses:
    """Of each key and sign-in, the newest day of UTC on which it was used; told the log once, so reads write little."""

    def __init__(self) -> None:
        self._days: dict[UUID, int] = {}

    def note(self, id_: UUID, now_us: int) -> None:
        self._days[id_] = max(now_us // US_PER_DAY, self._days.get(id_, 0))

    def shown(self, key: records.Key) -> records.Key:
        day = self._day(key.id)
        return key if day <= (key.last_used_on or "") else msgspec.structs.replace(key, last_used_on=day)

    def due(self, directory: Directory) -> Iterator[NoteKeyUse | SeeSignIn]:
        """What the log does not know yet: at most one for each of them and day."""
        for key in directory.all(records.Key):
            if (day := self._day(key.id)) > (key.last_used_on or ""):
                yield NoteKeyUse(credential_id=key.id, last_used_on=day)
        for browser in directory.all(records.SignIn, ended=False):
            if self._day(browser.id) > browser.seen_at[:DAY_CHARACTERS]:
                yield SeeSignIn(sign_in_id=browser.id)

    def _day(self, id_: UUID) -> str:
        day = self._days.get(id_)
        return "" if day is None else iso(day * US_PER_DAY)[:DAY_CHARACTERS]


class Account(msgspec.Struct, frozen=True, kw_only=True):
    issuer: str
    subject: str
    email: str | None  # only where the provider has verified it

    @property
    def identity_id(self) -> UUID:
        return identity_stream(self.issuer, self.subject)


class NotProven(Mendable):
    """A key, or an account of a sign-in provider, proves nobody who may come in; the message says why."""


def developer_behind(account: Account, directory: Directory) -> UUID:
    """A link stands before an address, which somebody else may get one day. Raises `NotProven`."""
    linked = directory.get(records.Identity, account.identity_id)
    if linked is not None and not linked.ended:
        return linked.developer_id
    if account.email is None:
        raise NotProven("your account bears no verified e-mail address")
    known = with_email(directory, account.email)
    if known is None:
        raise NotProven("nobody here has the e-mail address of your account")
    was_lost = directory.version(account.identity_id) if linked is None else linked.developer_id in directory.doubtful
    if was_lost or known.id in directory.doubtful:
        raise NotProven("which accounts are yours is damaged in the log; link yours anew, in Settings or by a link")
    if directory.all(records.Identity, ended=False, developer_id=known.id, issuer=account.issuer):
        raise NotProven("another account is linked to the developer of this e-mail address")
    return known.id


def with_email(directory: Directory, email: str) -> records.Developer | None:
    """Whose address it is, in whatever case of ASCII; letters that only look alike are others."""
    wanted = email.lower()
    everybody = directory.all(records.Developer) if email.isascii() else ()
    found = (each for each in everybody if each.email and each.email.isascii() and each.email.lower() == wanted)
    return next(found, None)


class Principal(msgspec.Struct, frozen=True):
    """A developer who showed a valid key, or was named by an internal call, and is a member now."""

    scope: Scope
    role: Role
    key: records.Key | None = None


def authenticate(directory: Directory, key_digest: str, now_us: int) -> Principal:
    """Whose key it is, as things stand now: the key's own life first, then the membership. Raises `NotProven`."""
    key = directory.get(records.Key, credential_stream(key_digest))
    if key is None:
        raise NotProven("unknown key; check that it was copied whole, or ask for a new one")
    if not _opens(key, now_us):
        raise NotProven("this key was revoked or has expired; ask for a new one")
    membership = directory.membership(key.scope)
    if membership is None:
        raise NotProven("the developer of this key is no longer a member of the organization")
    return Principal(key.scope, membership.role, key)


SIGN_IN_IDLE_DAYS = 14  # a browser that was not seen for longer signs in again


def signed_in(directory: Directory, sign_in_id: UUID, now_us: int) -> records.SignIn | None:
    """The sign-in, where it stands now: neither ended nor idle, its key good, its developer a member."""
    found = directory.get(records.SignIn, sign_in_id)
    if found is None or found.ended or now_us - parse_instant(found.seen_at) > SIGN_IN_IDLE_DAYS * US_PER_DAY:
        return None
    if found.opened_by is not None:
        stream = directory.stream_of(records.Key, found.opened_by)
        key = None if stream is None else directory.get(records.Key, stream)
        if key is None or not _opens(key, now_us):
            return None
    return found if directory.membership(found.scope) is not None else None


def sign_ins_of(directory: Directory, scope: Scope, now_us: int) -> list[records.SignIn]:
    """The browsers that stand for a member now, the newest first."""
    theirs = reversed(directory.all(records.SignIn, scope=scope))
    return [each for each in theirs if signed_in(directory, each.id, now_us) is not None]


def let_in(directory: Directory, scope: Scope, now_us: int) -> list[records.Access]:
    """What came by another member's link and opens something now, until its developer calls it their own for good."""
    keys = (each for each in directory.all(records.Key, scope=scope) if _opens(each, now_us))
    accounts = directory.all(records.Identity, ended=False, developer_id=scope.developer_id)
    found: list[records.Access] = [*sign_ins_of(directory, scope, now_us), *keys, *accounts]
    return [each for each in found if root_of(directory, each) is not None]


def root_of(directory: Directory, access: records.Access | None) -> UUID | None:
    """The link of another member by which it came; None once its developer called it their own for good."""
    if access is None or directory.get(records.Claim, claim_stream(access.id, None)) is not None:
        return None
    return access.came_by


def maker(directory: Directory, link_id: UUID | None) -> str | None:
    link = None if link_id is None else directory.get(records.Link, link_id)
    return None if link is None else directory.name_of(link.by)


def inviters(directory: Directory) -> dict[Scope, str]:
    """Of everybody who came in by another member's link, the name of that member."""
    used = reversed(directory.all(records.Link, used=True))
    roots = {each.scope: each.root for each in used if each.root is not None}  # the first counts
    return {scope: name for scope, root in roots.items() if (name := maker(directory, root)) is not None}


def begun(directory: Directory, uses: Uses) -> set[UUID]:
    """The developers who have signed in, linked an account or used a key: what they have is theirs alone to open."""
    used = (key for key in directory.all(records.Key) if uses.shown(key).last_used_on)
    came: list[records.Access] = [*directory.all(records.SignIn), *directory.all(records.Identity), *used]
    return {each.developer_id for each in came} | directory.doubtful


def _opens(key: records.Key, now_us: int) -> bool:
    return not key.revoked and (key.expires_at is None or parse_instant(key.expires_at) > now_us)


def principal(directory: Directory, scope: Scope) -> Principal | None:
    membership = directory.membership(scope)
    return None if membership is None else Principal(scope, membership.role)


OPERATOR_HOURS = 8  # so long a browser stands for the operator
OPERATOR_LINK_SECONDS = 60
KEPT_MAX = 16  # links and browsers at a time; the oldest go


class Passes(Newest[str, int]):
    """Links, or browsers, that stand for whoever runs the server, by digests: until when."""

    def __init__(self, seconds: int) -> None:
        super().__init__(KEPT_MAX)
        self._lasts_us = seconds * US_PER_SECOND

    def begin(self, digest: str, now_us: int) -> int:
        self.put(digest, now_us + self._lasts_us)
        return self[digest]

    def stands(self, digest: str, now_us: int) -> bool:
        return self.get(digest, 0) > now_us


# What one developer, or one address, may use; whoever has used it up is asked to wait. An allowance is a bucket that
# leaks: a whole window's use may come at once, and room for more comes back evenly. A use is counted when it is known,
# so the last request before a refusal may go beyond it.

User = UUID | str  # a developer, or an address
BYTES_PER_MEGABYTE = 1024 * 1024
USERS_MAX = 10_000  # whose use of an allowance is remembered; beyond it those are forgotten who used it longest ago
ADDRESS = ("address_requests_per_minute", "address_megabytes_per_minute")
DEVELOPER = ("requests_per_minute", "megabytes_per_minute", "cpu_seconds_per_minute")
DERIVING = "deriving_seconds_per_minute"
CAPTURES = ("sessions_per_day", "stored_megabytes_per_day", DERIVING)  # these keep nobody from reading
WRONG_KEYS = "wrong_keys_per_minute"
NAMES = (*DEVELOPER, *CAPTURES, *ADDRESS, WRONG_KEYS)  # each is a setting


class Exhausted(NamedTuple):
    name: str
    most: int
    wait_seconds: int
    is_new: bool  # whether nobody was told before, since there last was room


class BudgetShown(msgspec.Struct, frozen=True):
    """An allowance of each developer or address; its name is the setting's."""

    name: str
    most: int  # 0: no bound
    used: float  # by whoever has used most of it: 1 is all of it
    used_by: str | None  # that developer's id, or that address
    refused: int  # requests answered 429 for it since the start


class _Use(msgspec.Struct):
    level_us: float = 0.0  # how long the use takes to leak away; a full window is as much as may be used
    at_us: int = 0
    told: bool = False

    def leak(self, now_us: int) -> None:
        if now_us > self.at_us:  # a clock that was set back leaks nothing, and keeps nobody waiting for long
            self.level_us = max(self.level_us - (now_us - self.at_us), 0.0)
        self.at_us = now_us


class Budgets:
    """Who has used how much of what, and what each may use in a window; 0 or none: no bound."""

    def __init__(self, most: Mapping[str, int]) -> None:
        self._most = {name: amount for name in NAMES if (amount := most.get(name, 0))}
        self._uses: dict[str, Newest[User, _Use]] = {name: Newest(USERS_MAX) for name in self._most}
        self.refused: Counter[str] = Counter()

    def use(self, name: str, user: User, amount: float, now_us: int) -> None:
        most = self._most.get(name)
        if most is None or not amount:
            return
        uses = self._uses[name]
        use = uses.get(user) or _Use()
        use.leak(now_us)
        window_us = _window_us(name)
        # Nobody waits for longer than a window, whatever one request turned out to be.
        use.level_us = min(use.level_us + amount * window_us / most, 2.0 * window_us)
        uses.put(user, use)

    def exhausted(self, names: Iterable[str], user: User, now_us: int) -> Exhausted | None:
        """The first allowance of which the user has nothing left."""
        for name in names:
            use = self._uses[name].get(user) if name in self._most else None
            if use is None:
                continue
            use.leak(now_us)
            over_us = use.level_us - _window_us(name)
            if over_us < 0:
                use.told = False
                continue
            self.refused[name] += 1
            is_new, use.told = not use.told, True
            return Exhausted(name, self._most[name], 1 + int(over_us // US_PER_SECOND), is_new)
        return None

    def shown(self, now_us: int) -> list[BudgetShown]:
        found = []
        for name in NAMES:
            used_us, by = 0.0, None
            for user, use in self._uses.get(name, {}).items():
                use.leak(now_us)
                if use.level_us > used_us:
                    used_us, by = use.level_us, str(user)
            found.append(BudgetShown(name, self._most.get(name, 0), used_us / _window_us(name), by, self.refused[name]))
        return found


def _window_us(name: str) -> int:
    return US_PER_DAY if name.endswith("_per_day") else US_PER_MINUTE
