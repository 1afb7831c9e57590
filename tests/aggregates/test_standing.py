"""What stands of a text says the same as the text did, in a form that later programs can read."""

import msgspec
import pytest

from aggregates.event import Digester, Words
from aggregates.reading.reading import PromptReading, ResponseReading, read_prompt, read_response
from aggregates.records.record import Record, WordTable
from aggregates.retained import (
    FORM,
    Standing,
    StandingSealed,
    Stood,
    of_prompt,
    of_records,
    of_response,
    packed_rows,
    rows_of,
)
from aggregates.retained import stood_observations as stood
from aggregates.turns.turn import Observation, ToolUse, observe
from tests.support.facts import ANA

DIGESTER = Digester(b"a key for tests")
GOLDEN = {
    PromptReading: "weight navigational clears token_digests title summary characters pasted_characters flags sums "
    "topic_digests foreign opening",
    ResponseReading: "topic_digests characters asks reports_done reports_failure",
    Observation: "kind prompt_id source model input_tokens output_tokens cache_read_tokens cache_write_tokens "
    "cost_usd_nano duration_ms status_code sidechain tool prompt response text_digest text lines_added lines_removed "
    "lower_bound",
    ToolUse: "effect ok mutating check commit pull_request revert input_digest file_digest path lines_added "
    "lines_removed",
}


@pytest.mark.parametrize("kind", GOLDEN)
def test_readings_that_stand_in_logs_grow_at_their_end_only(kind: type[msgspec.Struct]) -> None:
    """A field added at the end with a default is put here too; whoever does anything else raises `FORM`, and has
    `rows_of` read the older ones."""
    assert kind.__struct_fields__ == tuple(GOLDEN[kind].split())


def told(*rows: Standing, form: int = FORM) -> StandingSealed:
    """The fact that tells of them."""
    return StandingSealed(
        received_at_us=1,
        organization_id=ANA.organization_id,
        developer_id=ANA.developer_id,
        first=rows[0].position,
        last=rows[-1].position,
        form=form,
        rows=packed_rows(rows),
    )


def test_a_text_and_what_stands_of_it_say_the_same() -> None:
    """A prompt, a response."""
    prompt, response = "Fix the parser in src/a.py and run pytest", "Done, all tests pass."
    rows = [of_prompt(3, Words(prompt), DIGESTER), of_response(4, Words(response), DIGESTER)]
    first, second = rows_of(told(*(row for row in rows if row is not None)))
    assert first.prompt == read_prompt(prompt, DIGESTER)
    assert second.response == read_response(response, DIGESTER)
    assert of_prompt(3, Stood(None, first), DIGESTER) == first


def test_of_a_batch_only_what_rests_on_words_is_told() -> None:
    """A request needs none; a shell command, a path and a prompt do."""
    table = WordTable()
    records = (
        Record(record_id="r", at_us=1, kind="request", input_tokens=5),
        Record(record_id="c", at_us=2, kind="tool", tool="Bash", command=table.add("git revert HEAD")),
        Record(record_id="p", at_us=3, kind="prompt", text=table.add("Revert it")),
    )
    words = Words(table.words)
    standing = of_records(7, records, words, DIGESTER)
    assert standing is not None
    assert stood(Stood(None, standing)) == {place: observe(records[place], words, DIGESTER) for place in (1, 2)}


def test_nothing_stands_of_what_is_gone_already() -> None:
    """Nor of a batch without texts."""
    gone = Words(None)
    assert of_prompt(1, gone, DIGESTER) is None
    assert of_response(1, None, DIGESTER) is None
    assert of_records(1, (), gone, DIGESTER) is None
    assert of_records(1, (Record(record_id="r", at_us=1, kind="request"),), Words(""), DIGESTER) is None


def test_an_unknown_form_is_named() -> None:
    """It is not read as something else."""
    with pytest.raises(ValueError, match="form 99"):
        rows_of(told(Standing(1), form=99))
