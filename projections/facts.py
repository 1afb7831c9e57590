"""Stage 1: each fact becomes rows keyed by session, time and id, and says what it touched.

Readings are made here, outside any transaction, so that a fact that cannot be read spoils nothing else.
"""

from collections.abc import Callable, Iterable
from uuid import UUID

import msgspec

from aggregates import events as e
from aggregates.commands import TRANSCRIPT_SUFFIX
from aggregates.digests import Digester
from aggregates.ids import record_capture_id
from aggregates.observation import Observation, observe, text_digest
from aggregates.reading import PromptReading, read_prompt, read_response
from aggregates.turns import SKEW_US, Answer, Capture
from projections.bodies import pack

BEGINNING_US = -(1 << 62)
END_US = 1 << 62
"""Before and after every time that can be captured."""

Row = tuple[object, ...]
Digesters = Callable[[UUID], Digester]


class Rows(msgspec.Struct):
    """The rows of a batch of facts, by table, and what they touched."""

    sessions: list[Row] = []
    captures: list[Row] = []
    answers: list[Row] = []
    observations: list[Row] = []
    titles: list[Row] = []
    setups: list[Row] = []
    touched_times: list[tuple[str, int]] = []
    """(agent session, time) of everything new in it."""
    touched_hosts: list[tuple[str, str]] = []
    """(agent session, host prompt id) that something new belongs to."""
    touched_texts: list[tuple[str, int, int]] = []
    """(agent session, text digest, time) of new captures."""
    touched_captures: list[str] = []
    """Captures that were answered."""
    touched_turns: list[str] = []
    """Turns whose sub-session got a new title."""

    def extend(self, other: "Rows") -> None:
        for name in self.__struct_fields__:
            getattr(self, name).extend(getattr(other, name))


def rows_of(position: int, event: e.Event, digesters: Digesters) -> Rows:
    """The rows one fact stands for; none for facts that concern no session."""
    rows = Rows()
    match event:
        case e.SessionClaimed():
            owner = (event.agent_session_id, str(event.organization_id), str(event.developer_id))
            rows.sessions.append(owner)
            # Captures may have been waiting for the claim: derive the session from its beginning.
            rows.touched_times.append((event.agent_session_id, BEGINNING_US))
        case e.PromptCaptured():
            _add_prompt(rows, position, event, digesters(event.developer_id))
        case e.PromptAnswered():
            _add_answer(rows, position, event, digesters(event.developer_id))
        case e.RecordsCaptured():
            _add_records(rows, position, event, digesters(event.developer_id))
        case e.SetupCompleted():
            rows.setups.append((str(event.developer_id),))
        case e.TitleEdited():
            rows.titles.append((str(event.turn_id), position, int(event.summary is not None)))
            rows.touched_turns.append(str(event.turn_id))
    return rows


def _add_prompt(rows: Rows, position: int, event: e.PromptCaptured, digester: Digester) -> None:
    text = event.prompt.text
    capture = Capture(
        capture_id=event.prompt_id,
        kind="transcript" if event.source.endswith(TRANSCRIPT_SUFFIX) else "plugin",
        at_us=_trusted(event.submitted_at_us, event.received_at_us),
        position=position,
        host_prompt_id=_host_id(event.host_prompt_id, event.agent_session_id),
        text_digest=None if text is None else text_digest(text, digester),
        reading=None if text is None else read_prompt(text, digester),
        cwd_digest=event.cwd_digest,
    )
    _add_capture(rows, event.agent_session_id, capture)


def _add_capture(rows: Rows, session: str, capture: Capture) -> None:
    rows.captures.append(
        (
            str(capture.capture_id),
            session,
            capture.at_us,
            capture.host_prompt_id,
            capture.text_digest,
            int(capture.kind == "plugin"),
            pack(capture),
        )
    )
    rows.touched_times.append((session, capture.at_us))
    if capture.host_prompt_id is not None:
        rows.touched_hosts.append((session, capture.host_prompt_id))
    if capture.text_digest is not None:
        rows.touched_texts.append((session, capture.text_digest, capture.at_us))


def _add_answer(rows: Rows, position: int, event: e.PromptAnswered, digester: Digester) -> None:
    text = None if event.response is None else event.response.text
    answer = Answer(
        # Times that hang on the prompt's own time are settled when the turn is built.
        at_us=_trusted(event.responded_at_us, event.received_at_us),
        timed=event.responded_at_us is not None,
        position=position,
        reading=None if text is None else read_response(text, digester),
        elapsed_ms=event.elapsed_ms,
        model=event.model,
        input_tokens=event.input_tokens,
        output_tokens=event.output_tokens,
        cache_read_tokens=event.cache_read_tokens,
        cache_write_tokens=event.cache_creation_tokens,
        cost_usd_nano=event.cost_usd_nano,
    )
    capture_id = str(event.prompt_id)
    body = pack(answer)
    rows.answers.append((capture_id, event.agent_session_id, event.content_digest, event.received_at_us, body))
    rows.touched_captures.append(capture_id)


def _add_records(rows: Rows, position: int, event: e.RecordsCaptured, digester: Digester) -> None:
    session = event.agent_session_id
    if session is None:
        return
    for record in event.records:
        seen = observe(record, event.words, digester)
        at_us = _trusted(record.at_us, event.received_at_us)
        prompt_id = _host_id(seen.prompt_id, session)
        rows.observations.append((session, at_us, record.record_id, prompt_id, position, pack(seen)))
        rows.touched_times.append((session, at_us))
        if prompt_id is not None:
            rows.touched_hosts.append((session, prompt_id))
        if record.kind == "prompt":
            _add_capture(rows, session, _log_capture(session, position, at_us, record.record_id, prompt_id, seen))


def _log_capture(
    session: str, position: int, at_us: int, record_id: str, prompt_id: str | None, seen: Observation
) -> Capture:
    reading: PromptReading | None = seen.prompt
    return Capture(
        capture_id=record_capture_id(session, record_id),
        kind="log",
        at_us=at_us,
        position=position,
        host_prompt_id=prompt_id,
        text_digest=seen.text_digest,
        reading=reading,
        words_start=0 if seen.text is None else seen.text.start,
    )


def _host_id(prompt_id: str | None, agent_session_id: str) -> str | None:
    """Gemini names a prompt like its session; such a name tells prompts apart no more than none."""
    return None if prompt_id == agent_session_id else prompt_id


def _trusted(said_us: int | None, received_us: int) -> int:
    if said_us is None or said_us > received_us + SKEW_US:
        return received_us
    return said_us


def merge_rows(parts: Iterable[Rows]) -> Rows:
    """The rows of many facts as one batch."""
    merged = Rows()
    for part in parts:
        merged.extend(part)
    return merged
