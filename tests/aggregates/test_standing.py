"""What stands of a text says the same as the text did, in a form that later programs can read."""

from base64 import b85decode

import msgspec
import pytest

from aggregates.event import Digester, Words
from aggregates.judging.prompt import judge_prompt
from aggregates.reading.reading import read_prompt, read_response
from aggregates.reading.readings import NAMED, PromptReading, ResponseReading
from aggregates.reading.verdicts import BOOLEANS
from aggregates.records.record import Record, TextPool
from aggregates.retained import (
    FORM,
    ReadingsRetained,
    RetainedReading,
    RetainedWords,
    packed_readings,
    retain_prompt,
    retain_records,
    retain_response,
    retained_readings,
)
from aggregates.retained import retained_observations as stood
from aggregates.turns.turn import Observation, ToolUse, observe
from tests.support.facts import ANA

DIGESTER = Digester(b"a key for tests")
GOLDEN = {
    PromptReading: "weight navigational clears token_digests title summary characters pasted_characters shown logits "
    "topic_digests foreign maker start",
    ResponseReading: "topic_digests characters asks reports_done reports_failure closes invites breaks_off",
    Observation: "kind prompt_id source model input_tokens output_tokens cache_read_tokens cache_write_tokens "
    "cost_usd_nano duration_ms status_code sidechain tool prompt response text_digest text lines_added lines_removed "
    "lower_bound",
    ToolUse: "effect ok mutating check commit pull_request revert input_digest file_digest path lines_added "
    "lines_removed more parts reverted",
}


@pytest.mark.parametrize("kind", GOLDEN)
def test_readings_that_stand_in_logs_grow_at_their_end_only(kind: type[msgspec.Struct]) -> None:
    """A field added at the end with a default is put here too; whoever does anything else raises `FORM`, and has
    `rows_of` read the older ones."""
    assert kind.__struct_fields__ == tuple(GOLDEN[kind].split())


FORM_1 = (
    b"cmZ9KYe-XJ7{}jDottQzlI27xE1jgK-KR;4j;PSgT9TKQx0Sc!%#@k4&M~6ar`%+Nm?I&bR+RN2EW|h+&zHO{ghItGD5hqaV_v2;PtT-N(BXOB"
    b"_dO3UJiq_{eGEp9^_X@s(v2VY#*C2^-7Kv?S>KnuiKnxSuGH7<@l+XVAC6c*2Iw@A>Um+KB&x>O+Zb<>IKJ8L74~+;H6^xYE=#$Gen@+ozsmdK"
    b"OT(h|PZN$O#ieTG#Y?+nf)CF3?|L7lid804=yRX*?YA(SYIrr*HZIAzFg1~v-eP&%DQr@HZ*z|M@2DyYzoQLq)p?gJ$zN*=iWbx_yhfHUC0MQ`"
    b"d3_Powpgy|QLG+e7_uVdNr-Y&w$rj0CxcHj3|_qo`%ea+<su?_10tH>JP38n0}*R{L`?c1;+ZERg1iv1bBV#*e=#^hh;Stx{=aZmAS;9gp$0e{"
    b"vZ2AqweFVYXC>Rk`DVY4yn@nlmAXt>cu|Qd%d03lpwCXt-5+|)VSPCg7{+WioYv@(AB3NapTk95glJhR2N7am=my?m$g9A36KXC^+BF6bU19K3"
    b"u$$Zv5#x>s{vy=p8N3bd{N?Af4XJ+8h3977D>>{;oBG5x3*lXl#%~!aX^iR*nQ(|lXYTq&9N>L+WM|0stGi^=x|d|it2F;YIrn;Y*}<_u?%9Bx"
    b"NK(-;u9#G_?~v44?es}JQKv^jh**h>pCdxs+-VsFybpwk(1HInu-bvE3v>t}Z$RD#<|oSxt^mJ-Ktrva!Hw`1!JydzcV|H-&1V}>1McerU^URl"
    b"pX#ANjR#4RIz49$ZM0NWs<4VG`2X`!q*>5<xkyzBu8S1X%+V0_)@YVmj|32cb+?g7Bm%dypz9z^%o!jXfb10@f`ZyGIGh1A=is~#h-+YqB6u(v"
    b"3k*JGV{jhS|GCXJqWTHas_AZ@o50d%pcO(?!*7WpjE?"
)
"""Rows as an earlier program wrote them, of the texts below."""


def told(*rows: RetainedReading, form: int = FORM) -> ReadingsRetained:
    return ReadingsRetained(
        received_at_us=1,
        organization_id=ANA.organization_id,
        developer_id=ANA.developer_id,
        first=rows[0].position,
        last=rows[-1].position,
        form=form,
        rows=packed_readings(rows),
    )


def test_a_text_and_what_stands_of_it_say_the_same() -> None:
    prompt, response = "Fix the parser in src/a.py and run pytest", "Done, all tests pass."
    rows = [retain_prompt(3, Words(prompt), DIGESTER), retain_response(4, Words(response), DIGESTER)]
    first, second = retained_readings(told(*(row for row in rows if row is not None)))
    assert first.prompt == read_prompt(prompt, DIGESTER)
    assert second.response == read_response(response, DIGESTER)
    assert retain_prompt(3, RetainedWords(None, first), DIGESTER) == first


def test_of_a_batch_only_what_rests_on_words_is_told() -> None:
    """A request needs none; a shell command, a path and a prompt do."""
    table = TextPool()
    records = (
        Record(record_id="r", at_us=1, kind="request", input_tokens=5),
        Record(record_id="c", at_us=2, kind="tool", tool="Bash", command=table.add("git revert HEAD")),
        Record(record_id="p", at_us=3, kind="prompt", text=table.add("Revert it")),
    )
    words = Words(table.words)
    standing = retain_records(7, records, words, DIGESTER)
    assert standing is not None
    assert stood(RetainedWords(None, standing)) == {place: observe(records[place], words, DIGESTER) for place in (1, 2)}


def test_an_unknown_form_is_named() -> None:
    with pytest.raises(ValueError, match="form 99"):
        retained_readings(told(RetainedReading(1), form=99))


def _read_then(row: RetainedReading) -> RetainedReading:
    """Without what was not yet looked for when the first rows were written, and without any model's sums."""
    response = row.response
    if response is not None:
        response = msgspec.structs.replace(response, closes=False, invites=False, breaks_off=False)
    observations = tuple(
        (place, msgspec.structs.replace(each, prompt=_prompt_then(each.prompt))) for place, each in row.observations
    )
    return msgspec.structs.replace(row, prompt=_prompt_then(row.prompt), response=response, observations=observations)


def _prompt_then(prompt: PromptReading | None) -> PromptReading | None:
    return None if prompt is None else msgspec.structs.replace(prompt, shown=(), logits=())


def test_rows_of_the_first_form_say_what_the_texts_say() -> None:
    """Prompts, a response and a prompt within a batch, with the verdicts that were given then."""
    table = TextPool()
    records = (
        Record(record_id="r", at_us=1, kind="request"),
        Record(record_id="p", at_us=3, kind="prompt", text=table.add("Revert it")),
    )
    prompts = (
        "By the way, fix the flaky parser test in src/parser.py so that it passes; keep the public API and run pytest.",
        "thanks, that works",
        "Why is it slow?\n```\nTraceback (most recent call last)\n```",
    )
    texts = [retain_prompt(place, Words(text), DIGESTER) for place, text in enumerate(prompts, 1)]
    texts.append(retain_response(4, Words("Done, all tests pass."), DIGESTER))
    texts.append(retain_records(5, records, Words(table.words), DIGESTER))
    stored = msgspec.structs.replace(told(RetainedReading(1), form=1), rows=b85decode(FORM_1))
    assert [_read_then(row) for row in retained_readings(stored)] == [
        _read_then(row) for row in texts if row is not None
    ]
    rubrics = [judge_prompt(row.prompt, None) for row in retained_readings(stored)]
    assert [(rubric.intent, rubric.confidence) for rubric in rubrics[:3]] == [
        ("bug_fix", 0.877),
        (None, 0.0),
        ("investigation", 0.851),
    ]
    assert rubrics[0].forced == BOOLEANS[:5]
    assert rubrics[0].earned == ("scope_bounded", "references_concrete"), (
        "for a goal and a check less was looked for then"
    )
    assert rubrics[2].forced == ("goal_explicit", "root_cause_oriented")


def test_what_stands_of_a_text_does_not_spell_it() -> None:
    """Of the words and pairs that are features, a reading keeps a few everyday ones; of all others only the weight."""
    kept = {name for name in NAMED if name.startswith(("word:", "pair:", "start:"))}
    assert kept == {"word:review", "word:still", "word:now", "word:also"}
