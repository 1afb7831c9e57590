"""What must be known to decide: the streams that a command rests on, and no others."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from aggregates.decide import AnyCommand, decide, required_streams, touched_streams
from aggregates.ids import attempt_stream, operation_stream, overrides_stream, session_stream
from tests.aggregates.test_decide import (
    ANA,
    ANSWERED,
    CONTEXT,
    NOTHING,
    PROMPT,
    PROMPT_ID,
    RECORDS,
    RESPONSE,
    SECOND,
    SETUP,
    TITLE,
    after,
)

_SESSION_STREAMS = (session_stream("session-1"), attempt_stream(ANA, "session-1"))


@pytest.mark.parametrize(
    ("command", "touched", "required"),
    [
        (PROMPT, (PROMPT_ID, *_SESSION_STREAMS), ()),
        (RESPONSE, (PROMPT_ID, operation_stream(ANA, "op-1")), (PROMPT_ID,)),
        (replace(RESPONSE, response_operation_id=None), (PROMPT_ID,), (PROMPT_ID,)),
        (TITLE, (overrides_stream(ANA),), (overrides_stream(ANA),)),
        (SETUP, (overrides_stream(ANA),), (overrides_stream(ANA),)),
    ],
)
def test_each_command_names_the_streams_it_rests_on(
    command: AnyCommand, touched: tuple[UUID, ...], required: tuple[UUID, ...]
) -> None:
    """Only what is expected to exist is loaded before the first decision."""
    assert touched_streams(command) == touched
    assert required_streams(command) == required


@pytest.mark.parametrize("command", [PROMPT, SECOND, RECORDS, RESPONSE, TITLE, SETUP])
@pytest.mark.parametrize("given", [NOTHING, (PROMPT,), ANSWERED, (RECORDS,)])
def test_a_decision_writes_only_to_streams_it_names(given: tuple[AnyCommand, ...], command: AnyCommand) -> None:
    """So an actor that has loaded them has loaded enough to be right."""
    written = {stream for stream, _ in decide(command, after(*given), CONTEXT).events}
    assert written <= set(touched_streams(command))


@pytest.mark.parametrize("command", [PROMPT, RECORDS, RESPONSE])
def test_a_decision_needs_nothing_but_the_streams_it_names(command: AnyCommand) -> None:
    """With all other streams left out it comes out the same."""
    streams = after(*ANSWERED, SECOND, RECORDS)
    named_only = {stream: streams[stream] for stream in touched_streams(command) if stream in streams}
    assert decide(command, named_only, CONTEXT) == decide(command, streams, CONTEXT)
