"""Deletes texts: of developers who are to be forgotten, and those that outlived their retention.

What was read from a text is kept as a fact before the text goes. An order to forget somebody is a fact, and the service
carries it out, however often that is broken off; each step may be done twice. The person's keys are revoked and
memberships ended. What was read from their texts is appended. Their data key is destroyed while nothing is written.
The views are built anew. The closed texts are deleted from the log. That it is done is a fact, too.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import accumulate, groupby
from math import inf
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import msgspec
import structlog
import trio

from aggregates import retained
from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import DeveloperEvent, Event, NewEvent, RecordedEvent, Scope
from aggregates.ids import forget_stream, retained_stream, retention_stream
from aggregates.judging.rubric import JoinedReading
from aggregates.people.acts import ChangeDeveloper, EndMembership, PeopleAct, RevokeKey
from aggregates.people.directory import Developer, Directory, Key, Membership, Organization
from aggregates.times import US_PER_DAY
from projections.derive.developers import joined_in
from projections.derive.integrity import texts_alike
from svc.actors.actors import Clock, recur
from svc.actors.administration import Administration
from svc.log.codec import CorruptEvent
from svc.log.journal import Journal
from svc.log.store import EventStore, Piece, leave_out
from svc.process import KIB_BYTES, POLL_SECONDS, RESTART_SECONDS_MAX
from svc.views.projector import Projector
from svc.views.replay import Rebuilding
from svc.views.views import readings_of_log

KEEP_PAUSE_SECONDS = 0.01  # between two pieces of the log in a server, so that captures and readers get their turn
ORDERS_SECONDS = 0.5  # how soon after the log grew the server looks for orders to forget somebody
SWEEP_TRIES = 20  # to empty the write-ahead log, a quarter of a second apart, before that is put off
STANDING_BYTES = 256 * KIB_BYTES  # of readings in one fact about forgotten texts; one batch may hold more
RETENTION_SECONDS = 3_600.0  # how often a server takes away what has outlived its retention, which is given in days
RETENTION_MARK_EVENTS = 20_000  # after so many a retention notes how far it has come: the rest is looked at again
RETENTION_YOUNG_EVENTS = 20_000  # too young in a row: then a retention looks on an hour later

log = structlog.get_logger()
T = TypeVar("T")
_BROKEN = "an order to forget somebody could not be carried out; it is tried again"
_UNREADABLE = "what stands of an order to forget somebody cannot be read; order it again where it is not done"
TEXTS = ("prompt", "cwd", "metadata", "response", "words", "title", "summary", "sections", "narrative")


class TextDeleter:
    """Deletes texts of a running service, once what was read from them is kept. Each step may be begun again."""

    def __init__(self, store: EventStore, journal: Journal, projector: Projector, clock: Clock) -> None:
        self.store, self.journal, self.projector, self.clock = store, journal, projector, clock

    async def seal_readings(self, positions: Iterable[int]) -> None:
        """Append what was read from the texts at these positions, where nobody has yet."""
        wanted = sorted(positions)
        if wanted:
            await self.projector.wait_for(wanted[-1])
            for event in await aside(partial(self._sealing_events, wanted)):
                await self.journal.append([event])

    async def delete(self, positions: Iterable[int], keep: Collection[str] = ()) -> int:
        """Delete all texts at these positions but those of the named fields; how many events had any."""
        wanted = dict.fromkeys(positions, keep)
        # Between commits: the one connection that writes is never waited for with an open transaction.
        return await self.journal.between_commits(partial(self.store.take_words, wanted)) if wanted else 0

    async def sweep(self) -> None:
        """Leave no copy of deleted texts; where a reader needs one for long, a later sweep does it."""
        for _ in range(SWEEP_TRIES):
            if await self.journal.between_commits(self.store.sweep):
                return
            await trio.sleep(POLL_SECONDS)
        log.warning("somebody reads the log for long; what was taken away leaves the write-ahead log later")

    async def append(self, stream_id: UUID, event: Event) -> int:
        version = await aside(partial(self.store.version, stream_id))
        (position,) = await self.journal.append([NewEvent(stream_id, version + 1, event)])
        return position

    def _sealing_events(self, positions: Sequence[int]) -> list[NewEvent]:
        """What must be appended before the texts at these positions may go. The views hold these positions already."""
        alike: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        """Where a text begins in the fact at a position, and the position and beginning of a text like it."""
        joined: dict[int, list[JoinedReading]] = defaultdict(list)
        """What was read of a fact's prompts together with others."""
        # What cannot be read tells nothing to keep, and its text goes all the same.
        found = self.store.read_positions(positions, heard=leave_out)
        facts = [found[position] for position in sorted(found)]
        read_from = (PromptCaptured, PromptAnswered, RecordsCaptured)
        named = {fact.event.agent_session_id for fact in facts if isinstance(fact.event, read_from)}
        with self.projector.readers.reading() as views:
            for session in sorted(name for name in named if name is not None):
                for one, other in texts_alike(views, session):
                    alike[one.position].append((one.start, other.position, other.start))
                    alike[other.position].append((other.start, one.position, one.start))
                for reading in joined_in(views, session):
                    for position in {position for position, _ in reading.prompts}:
                        joined[position].append(reading)
        kept, by_scope = readings_of_log(self.store), defaultdict[Scope, list[retained.RetainedReading]](list)
        for fact in facts:
            event = fact.event
            if isinstance(event, read_from) and kept.standing(event.scope, fact.position) is None:
                shown = retained.retain(fact.position, event, self.store.vault.known_digester(event.developer_id))
                together = {"alike": tuple(alike[fact.position]), "joined": tuple(joined[fact.position])}
                if shown is not None or any(together.values()):
                    standing = msgspec.structs.replace(shown or retained.RetainedReading(fact.position), **together)
                    by_scope[event.scope].append(standing)
        events = []
        for scope, rows in by_scope.items():
            sizes = accumulate(len(retained.packed_readings([row])) for row in rows)
            for _, part in groupby(zip(sizes, rows, strict=True), key=lambda each: each[0] // STANDING_BYTES):
                fitting = [row for _, row in part]
                sealing = retained.ReadingsRetained(
                    received_at_us=self.clock.now_us(),
                    organization_id=scope.organization_id,
                    developer_id=scope.developer_id,
                    first=fitting[0].position,
                    last=fitting[-1].position,
                    form=retained.FORM,
                    rows=retained.packed_readings(fitting),
                )
                stream_id = retained_stream(scope.organization_id, scope.developer_id, sealing.first)
                events.append(NewEvent(stream_id, 1, sealing))
        return events


async def aside(work: Callable[[], T]) -> T:
    """Do something in a thread, and leave others some time."""
    done = await trio.to_thread.run_sync(work)
    await trio.sleep(KEEP_PAUSE_SECONDS)
    return done


def open_orders(store: EventStore, heard: Callable[[CorruptEvent], object] = leave_out) -> list[retained.ForgetOrdered]:
    """One that was perhaps carried out is none: whoever came back since would be forgotten without an order."""
    newest = dict[UUID, Event]()
    for piece in store.pieces(0, topics=(retained.ForgetOrdered.TOPIC, retained.DeveloperForgotten.TOPIC)):
        for each in piece.all:
            if isinstance(each, RecordedEvent):
                newest[each.stream_id] = each.event
            else:
                heard(each)
                if each.topic == retained.DeveloperForgotten.TOPIC:
                    newest.pop(each.stream_id, None)
    return [event for event in newest.values() if isinstance(event, retained.ForgetOrdered)]


class Forgetting:
    def __init__(self, texts: TextDeleter, administration: Administration, rebuilding: Rebuilding) -> None:
        self._texts, self._administration, self._rebuilding = texts, administration, rebuilding
        self.carried_out: Callable[[int], object] = lambda _position: None
        """Called with the position of the fact that somebody is forgotten."""
        self._looked_up_to = -1
        self._told: set[int] = set()  # positions of what cannot be read

    async def run(self) -> None:
        """Carry out orders until cancelled, beginning with those that were broken off."""
        await recur(self._carry_out, ORDERS_SECONDS, _BROKEN, RESTART_SECONDS_MAX)

    async def _carry_out(self) -> None:
        await self._texts.journal.wait_beyond(self._looked_up_to)
        head = self._texts.journal.head
        corrupt, failed = list[CorruptEvent](), list[Exception]()
        for order in await aside(partial(open_orders, self._texts.store, corrupt.append)):
            try:
                await self._forget(order)
            except Exception as error:  # the orders about others are carried out all the same
                failed.append(error)
        for each in corrupt:
            if each.position not in self._told:
                self._told.add(each.position)
                everybody = self._administration.directory.all(Developer)
                whose = next((str(one.id) for one in everybody if forget_stream(one.id) == each.stream_id), None)
                log.error(_UNREADABLE, developer_id=whose, reason=str(each))
        for other in failed[1:]:
            log.warning(_BROKEN, exc_info=other)
        if failed:
            raise failed[0]
        self._looked_up_to = head

    async def _forget(self, order: retained.ForgetOrdered) -> None:
        developer_id = order.developer_id
        log.warning("a developer is being forgotten", developer_id=str(developer_id))
        directory = self._administration.directory
        whose: dict[str, Any] = {"developer_id": developer_id}
        keys, theirs = directory.all(Key, **whose, revoked=False), directory.all(Membership, **whose, active=True)
        shut_out: list[PeopleAct] = [RevokeKey(credential_id=key.id) for key in keys]
        shut_out += [EndMembership(membership_id=each.id, forgotten=True) for each in theirs]
        nobody = ChangeDeveloper(**whose, display_name="Forgotten", email="", report_schedules=(), report_notices=())
        for command in (*shut_out, nobody):
            await self._administration.send(command)
        up_to = await self._destroy_key(developer_id)
        await self._rebuilding.anew()
        pieces = self._texts.store.pieces(0, up_to)
        while piece := await aside(partial(next, pieces, None)):
            await self._texts.delete(_of(piece, developer_id))
        await self._texts.sweep()
        forgotten = retained.DeveloperForgotten(
            received_at_us=self._texts.clock.now_us(),
            organization_id=order.organization_id,
            developer_id=developer_id,
            up_to=up_to,
        )
        self.carried_out(await self._texts.append(forget_stream(developer_id), forgotten))
        log.warning("a developer was forgotten", developer_id=str(developer_id))

    async def _destroy_key(self, developer_id: UUID) -> int:
        """Seal the readings, then destroy the key; again while new texts came. The position of the last seal."""
        store = self._texts.store

        def destroyed(sealed_up_to: int) -> bool:
            if any(_of(piece, developer_id) for piece in store.pieces(sealed_up_to, store.head())):
                return False
            store.vault.destroy(developer_id)
            return True

        position = 0
        while True:
            pieces = store.pieces(position, self._texts.journal.head)
            while piece := await aside(partial(next, pieces, None)):
                position = piece.reached
                await self._texts.seal_readings(_of(piece, developer_id))
            if await self._texts.journal.between_commits(partial(destroyed, position)):
                return position


def _of(piece: Piece, developer_id: UUID) -> list[int]:
    """Positions in a piece of the log that may hold words of a developer."""
    return [
        recorded.position
        for recorded in piece.events
        if isinstance(event := recorded.event, DeveloperEvent)
        and event.developer_id == developer_id
        and not isinstance(event, retained.ReadingsRetained | retained.ForgetOrdered | retained.DeveloperForgotten)
    ]


class _Stretch(NamedTuple):
    """A part of the log where an organization's texts are left."""

    after: int
    up_to: float  # a position, or the end of the log
    earliest_us: int  # when the oldest of them came; 0 where nobody has looked


class _Term(msgspec.Struct):
    """How far a retention was applied to the log: of exports, or of what people wrote and the exports that quote it."""

    organization_id: UUID
    kind: str  # `telemetry`, or `text`
    noted: int  # up to this position nothing is left, as the log says
    left: list[_Stretch]  # the end of the log among them
    unnoted: int = 0  # events that lost a text since the last note

    @property
    def done(self) -> int:
        return min(stretch.after for stretch in self.left)


class Retention:
    """A fact is old when its own time of receipt is: a clock that ran ahead must not keep what came later."""

    def __init__(self, texts: TextDeleter, directory: Directory) -> None:
        self._texts, self._directory = texts, directory
        self._terms: dict[tuple[UUID, str], _Term] = {}

    async def run(self) -> None:
        broken = "what has outlived its retention could not be taken away; it is tried again"
        await recur(partial(self.apply, RETENTION_YOUNG_EVENTS), RETENTION_SECONDS, broken)

    async def apply(self, young_max: float = inf) -> int:
        """Delete all that is too old, until about so many young facts in a row; how many facts lost a text."""
        terms = [
            (each.id, kind, days)
            for each in self._directory.all(Organization)
            for kind, days in (("telemetry", each.retention_days_telemetry), ("text", each.retention_days_text))
            if days
        ]
        deleted = [await self._apply(*term, young_max) for term in terms]
        if deleted:
            await self._texts.sweep()
        return sum(deleted)

    async def _apply(self, organization_id: UUID, kind: str, days: int, young_max: float) -> int:
        end_us = self._texts.clock.now_us() - days * US_PER_DAY
        # Popped while it changes: where this is broken off, the next time begins where the log says.
        term = self._terms.pop((organization_id, kind), None)
        if term is None:
            stream_id = retention_stream(organization_id, kind)
            newest = await aside(partial(self._texts.store.read_newest, stream_id, heard=leave_out))
            noted = newest.event.up_to if newest is not None and isinstance(newest.event, retained.WordsExpired) else 0
            term = _Term(organization_id, kind, noted, [_Stretch(noted, inf, 0)])
        due = [stretch for stretch in term.left if stretch.earliest_us <= end_us]
        deleted = [await self._sift(term, stretch, end_us, young_max) for stretch in due]
        await self._note(term)
        self._terms[organization_id, kind] = term
        return sum(deleted)

    async def _sift(self, term: _Term, stretch: _Stretch, end_us: int, young_max: float) -> int:
        """Delete what is old in a stretch; what is young there becomes stretches of its own."""
        deleted = young = 0
        pieces = self._texts.store.pieces(stretch.after, stretch.up_to)
        while young < young_max and (piece := await aside(partial(next, pieces, None))):
            came = {each.position: each.event.received_at_us for each in piece.events if _may_expire(each, term)}
            old = [position for position, at_us in came.items() if at_us <= end_us]
            if term.kind == "text":
                await self._texts.seal_readings(old)
            lost = await self._texts.delete(old, keep=TEXTS if term.kind == "telemetry" else ())
            deleted, term.unnoted = deleted + lost, term.unnoted + lost
            term.left.remove(stretch)
            if len(old) < len(came):
                earliest_us = min(at_us for at_us in came.values() if at_us > end_us)
                term.left.append(_Stretch(piece.after, piece.reached, earliest_us))
            stretch = stretch._replace(after=piece.reached)
            if stretch.after < stretch.up_to:
                term.left.append(stretch)
            is_old = any(each.event.received_at_us <= end_us for each in piece.events)
            young = 0 if is_old else young + len(piece.events)
            if term.done - term.noted >= RETENTION_MARK_EVENTS:
                await self._note(term, always=True)
        return deleted

    async def _note(self, term: _Term, *, always: bool = False) -> None:
        if not (term.unnoted or always):
            return
        expired = retained.WordsExpired(
            received_at_us=self._texts.clock.now_us(),
            organization_id=term.organization_id,
            kind=term.kind,
            up_to=term.done,
            events=term.unnoted,
        )
        await self._texts.append(retention_stream(term.organization_id, term.kind), expired)
        term.noted, term.unnoted = expired.up_to, 0
        log.info("old texts were taken away", kind=term.kind, events=expired.events, up_to=expired.up_to)


def _may_expire(recorded: RecordedEvent, term: _Term) -> bool:
    event = recorded.event
    its = isinstance(event, DeveloperEvent) and event.organization_id == term.organization_id
    return its and not isinstance(event, retained.ReadingsRetained)
