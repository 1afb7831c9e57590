"""Every command and every event: a command and what is known, in; events and a reply, out. And the table of topics.

`decide` is insert-first: a stream that was not loaded is taken to be empty, and the store refuses the append where
that was wrong. The actor then loads `touched_streams` and decides again, now knowing what stands there.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar
from uuid import UUID

from msgspec.structs import replace

from aggregates import retained
from aggregates.capture import decide as capture, events as captures
from aggregates.event import Context, Decision, Done, Event, Exists, Streams, Words, events_of, origin
from aggregates.ids import forget_stream, overrides_stream
from aggregates.judging import rubric
from aggregates.people import acts
from aggregates.prices import catalog
from aggregates.reports import events as reports
from aggregates.reports.decide import ReportState, decide_report, evolve_report
from aggregates.sub_sessions import sub_session
from aggregates.sub_sessions.sub_session import EditTitle, Override, TitleEdited

Unconditional = EditTitle | captures.SetupCompleted | retained.ForgetOrdered | Override
"""Commands that are taken whatever their streams hold: only the versions of these must be known."""
AnyCommand = Unconditional | captures.AnyCapture | reports.ReportEvent


def touched_streams(command: AnyCommand) -> tuple[UUID, ...]:
    if isinstance(command, captures.AnyCapture):
        return capture.capture_streams(command)
    match command:
        case reports.ReportEvent():
            return (command.report_id,)
        case retained.ForgetOrdered():
            return (forget_stream(command.developer_id),)
        case _:
            return (overrides_stream(command.developer_id),)


def required_streams(command: AnyCommand) -> tuple[UUID, ...]:
    """The streams that must be loaded before the first decision, since they are expected to exist."""
    match command:
        case captures.CaptureResponse():
            return command.prompt_id, *capture.former_stream(command)
        case captures.CapturePrompt() | captures.RecordsCaptured() | captures.MetricsCaptured():
            return capture.former_stream(command)
        case _:
            return touched_streams(command)


def decide(command: AnyCommand, streams: Streams, context: Context) -> Decision:
    """What follows from a command; what its events tell unsealed is bounded and holds no secrets."""
    decision = _decided(command, streams, context)
    events = tuple((stream, capture.cleared(event, context)) for stream, event in decision.events)
    return replace(decision, events=events)


def _decided(command: AnyCommand, streams: Streams, context: Context) -> Decision:
    if isinstance(command, captures.AnyCapture):
        return capture.decide_capture(command, streams, context)
    match command:
        case EditTitle():
            return _edit_title(command, context)
        case Override():
            # Saying the same again is a fact again, and changes nothing.
            stream, now = overrides_stream(command.developer_id), {"received_at_us": context.now_us}
            return Decision(tuple((stream, replace(fact, **now)) for fact in command.facts), Done(True))
        case reports.ReportEvent():
            event, reply = decide_report(command, streams, context.now_us)
            return Decision(() if event is None else ((command.report_id, event),), reply)
        case captures.SetupCompleted() | retained.ForgetOrdered():
            # Each order is a fact of its own: a person who was forgotten may come back, and be forgotten again.
            (stream,), fact = touched_streams(command), replace(command, received_at_us=context.now_us)
            return Decision(((stream, fact),), Done(True))


def _edit_title(command: EditTitle, context: Context) -> Decision:
    summary = command.summary
    edited = TitleEdited(
        **origin(command, context.now_us),
        turn_id=command.turn_id,
        title=Words(capture.cleaned(command.title, context).text),
        summary=None if summary is None else Words(capture.cleaned(summary, context).text),
    )
    return Decision(((overrides_stream(command.developer_id), edited),), Done(True, command.turn_id))


StreamState = capture.CaptureState | ReportState | Exists


def evolve(state: StreamState | None, event: Event) -> StreamState:
    if isinstance(event, reports.ReportEvent):
        return evolve_report(state if isinstance(state, ReportState) else None, event) or Exists()
    return capture.evolve_capture(state, event) or state or Exists()


# Facts are never changed. A field that is added with a default needs nothing here. Anything more raises the event's
# `VERSION` and adds one entry that takes the fields of the version before to those of the next; entries are applied in
# turn. A field that holds words keeps its name for ever: the sealed text is found by it.


class TimePassed(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The log was quiet and something was due: the passing of time is itself a fact."""

    TOPIC: ClassVar[str] = "time.passed"


_MODULES = (captures, acts, catalog, reports, retained, sub_session, rubric)
TOPICS: dict[str, type[Event]] = {event.TOPIC: event for module in _MODULES for event in events_of(module)}
TOPICS[TimePassed.TOPIC] = TimePassed
"""Topic → event class. Topics are names in the log, independent of where a class lives; tests hold a golden list."""
Fields = dict[str, Any]
Upcast = Callable[[Fields], Fields]
UPCASTS: Mapping[tuple[str, int], Upcast] = MappingProxyType({})
"""(topic, version) → the step from that version to the next; empty while all events are at their first."""


def upcast(
    topic: str, fields: Fields, *, written: int, wanted: int, steps: Mapping[tuple[str, int], Upcast] = UPCASTS
) -> Fields:
    """The fields as written in one version, as those of the wanted one. KeyError: no such step is known."""
    if written > wanted:
        raise KeyError(f"{topic} of version {written}, known up to {wanted}")
    for version in range(written, wanted):
        fields = steps[topic, version](fields)
    return fields
