"""Text models on the labelled items: recorded answers measured by the same program, and the questions to get them.

A file of answers has an object a line. Of a prompt: `id`, `intent` (null or "unclassified": it cannot be said) and the
booleans, each true, false, null or "unsure". Of a gap: `session`, `turn` (the one after it, from 1) and `new_topic`.
Who answers sees the texts of `svc/llm/prompts`, and of an item what a model in service would see.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import UUID

import msgspec
import trio
from genai_prices import Usage, calc_price
from rich.console import Console
from rich.progress import Progress

from aggregates.judging.boundary import OpenArc, cannot_shift
from aggregates.reading.prompt_text import pasted_lines, split_pasted
from aggregates.reading.verdicts import BOOLEANS, Intent, applicable
from aggregates.turns.turn import Turn
from projections.sub_sessions.unjudged import EARLIER_MAX, PASTED_CHARACTERS_MAX, PROMPT_CHARACTERS_MAX, TurnWords
from svc.jobs.questions import JUDGE_VERSION
from svc.llm.answers import (
    BoundaryAnswer,
    Disbelieved,
    NoAnswer,
    RubricAnswer,
    Said,
    believed_boundary,
    believed_rubric,
    leaving,
)
from svc.llm.client import ANSWER_TOKENS_MAX, Budget, Gateway
from svc.settings import Settings
from tests.judges.judge import Item, prompt_turns, read_lines, session_turns
from tests.judges.labels import labelled_items
from tests.judges.measures import BoundaryMeasures, Pair, PromptMeasures, pair_of, with_intervals

INSTRUCTION_TOKENS = 2_200  # the texts and the schema that go with a question, about
CHARACTERS_PER_TOKEN = 4
FAILED_IN_A_ROW_MAX = 5  # after so many questions without an answer the rest is left
_NOBODY = UUID(int=0)


class PromptAnswer(msgspec.Struct, kw_only=True, rename={"item_id": "id"}):
    """What was answered about one labelled prompt; quotes and the like are not measured."""

    item_id: str
    intent: Intent | Literal["unclassified"] | None
    confidence: float = 0.0
    goal_explicit: Said = None
    scope_bounded: Said = None
    references_concrete: Said = None
    context_sufficient: Said = None
    verification_requested: Said = None
    root_cause_oriented: Said = None
    plan_first: Said = None


class GapAnswer(msgspec.Struct, kw_only=True):
    """What was answered about the gap before a turn."""

    session: str
    turn: int
    new_topic: bool
    confidence: float = 0.0


class Recorded(NamedTuple):
    prompts: Mapping[str, PromptAnswer]
    gaps: Mapping[tuple[str, int], GapAnswer]


class Answered(msgspec.Struct, frozen=True):
    """Recorded answers beside the labels."""

    prompts: PromptMeasures
    answered_prompts: int
    gaps: int
    boundaries: BoundaryMeasures  # of the gaps that were answered
    unknown: int  # answers about nothing that is labelled here


def recorded(files: Sequence[Path]) -> Recorded:
    """The answers of these files; of two about the same the later one. Raises ValueError that names a bad line."""
    prompts: dict[str, PromptAnswer] = {}
    gaps: dict[tuple[str, int], GapAnswer] = {}
    for path in files:
        for number, line in enumerate(read_lines(path), 1):
            try:
                if "session" in line:
                    gap = msgspec.convert(line, GapAnswer)
                    gaps[gap.session, gap.turn] = gap
                else:
                    prompt = msgspec.convert(line, PromptAnswer)
                    prompts[prompt.item_id] = prompt
            except msgspec.ValidationError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
    return Recorded(prompts, gaps)


def measured_answers(data_dir: Path, answers: Recorded, *, locked: bool = False) -> Answered:
    """Recorded answers beside the labels of DATA_DIR, outside the lock box or only in it."""
    items = [item for item in labelled_items(data_dir, "prompts", locked=locked) if str(item["id"]) in answers.prompts]
    pairs = [_pair(item, answers.prompts[str(item["id"])]) for item in items]
    sessions = {str(each["session"]): each for each in labelled_items(data_dir, "sessions", locked=locked)}
    known = {gap: said for gap, said in answers.gaps.items() if sessions.get(gap[0], {}).get("arcs")}
    starts = {(name, arc["start"]) for name in {gap[0] for gap in known} for arc in sessions[name]["arcs"]}
    judged = {gap for gap, said in known.items() if said.new_topic}
    expert = known.keys() & starts
    unknown = len(answers.prompts) - len(pairs) + len(answers.gaps) - len(known)
    boundaries = BoundaryMeasures(len(expert & judged), len(judged), len(expert))
    return Answered(with_intervals(pairs), len(pairs), len(known), boundaries, unknown)


def _pair(item: Item, answer: PromptAnswer) -> Pair:
    intent = None if answer.intent == "unclassified" else answer.intent
    said: dict[Any, Said] = {name: getattr(answer, name) for name in (applicable(intent) if intent else ())}
    return pair_of(
        item,
        "unclassified" if intent is None else "ok",
        intent,
        {name: said[name] is True if name in said else None for name in BOOLEANS},
        confidence=answer.confidence,
        sure={name: value for name, value in said.items() if isinstance(value, bool)},
    )


# Asking


class LabelledQuestion(NamedTuple):
    kind: Literal["rubric", "boundary"]
    names: Mapping[str, str | int]  # the item it is about, as an answer names it
    payload: dict[str, Any]


def questions(data_dir: Path, known: Recorded, limit: int) -> list[LabelledQuestion]:
    """About labelled prompts that a judge judges, then about gaps; at most `limit` of each, in the order of names."""
    prompts = [_about_prompt(item) for item in _by_name(labelled_items(data_dir, "prompts"), "id")]
    wanted = [each for each in prompts if each is not None and each.names["id"] not in known.prompts]
    sessions = _by_name(labelled_items(data_dir, "sessions"), "session")
    gaps = [each for item in sessions if item.get("arcs") for each in _about_gaps(item)]
    unknown = [each for each in gaps if (each.names["session"], each.names["turn"]) not in known.gaps]
    return wanted[:limit] + unknown[:limit]


def _by_name(items: list[Item], key: str) -> list[Item]:
    """Short of its developer, so that a limit takes some of everybody."""
    return sorted(items, key=lambda item: str(item[key]).partition(":")[2])


def _words(turn: Turn, item: Item) -> TurnWords:
    text = str(item["prompt"])
    own = split_pasted(text).own.strip() or None
    return TurnWords(turn, "ok", own, pasted_lines(text), item.get("response_end") or None)


def _about_prompt(item: Item) -> LabelledQuestion | None:
    if item["label"]["intent"] is None:
        return None
    raw = [*(item.get("earlier_turns") or []), item]
    *earlier, now = [_words(turn, each) for turn, each in zip(prompt_turns(item), raw, strict=True)]
    payload = {
        "earlier": [each.exchange() for each in earlier[-EARLIER_MAX:] if each.prompt],
        "prompt": (now.prompt or "")[:PROMPT_CHARACTERS_MAX],
        "pasted": now.pasted[:PASTED_CHARACTERS_MAX],
    }
    return LabelledQuestion("rubric", {"id": str(item["id"])}, payload)


def _about_gaps(item: Item) -> Iterator[LabelledQuestion]:
    """The gaps within and between the experts' arcs, the work before each as they cut it."""
    words = [_words(turn, each) for turn, each in zip(session_turns(item), item["turns"], strict=True)]
    starts = sorted(arc["start"] for arc in item["arcs"])
    for turn in range(2, len(words) + 1):
        arc = words[max((start for start in starts if start < turn), default=1) - 1 : turn - 1]
        now = words[turn - 1]
        if now.prompt and not cannot_shift(OpenArc([each.turn for each in arc]), now.turn):
            told = [*arc[:1], *arc[1:][-EARLIER_MAX:]]
            payload = {"earlier": [dict(each.course()) for each in told], "prompt": now.prompt[:PROMPT_CHARACTERS_MAX]}
            yield LabelledQuestion("boundary", {"session": str(item["session"]), "turn": turn}, payload)


def cost_told(asked: Sequence[LabelledQuestion], model: str) -> str:
    """What the questions may cost at most, in one sentence."""
    sent = sum(len(msgspec.json.encode(each.payload)) for each in asked) // CHARACTERS_PER_TOKEN
    sent += INSTRUCTION_TOKENS * len(asked)
    answered = ANSWER_TOKENS_MAX * len(asked)
    try:
        price = calc_price(Usage(input_tokens=sent, output_tokens=answered), model_ref=model).total_price
        dollars = f"at most about {price:.2f} US dollars"
    except LookupError:
        dollars = "nobody knows the price of this model"
    return f"{len(asked)} questions to {model}: some {sent:,} tokens sent, up to {answered:,} answered; {dollars}."


def ask_all(settings: Settings, asked: Sequence[LabelledQuestion], file: Path) -> int:
    """Ask, with a progress bar, and append each answer to `file` at once; how many were believed."""
    return trio.run(partial(_ask_all, settings, asked, file))


async def _ask_all(settings: Settings, asked: Sequence[LabelledQuestion], file: Path) -> int:
    gateway = Gateway(settings, Budget(file.with_suffix(".spent"), 2**62, lambda: 0), lambda _: True, lambda *_: None)
    believed = failed = 0
    with Progress(console=Console(stderr=True)) as progress, file.open("a", encoding="utf-8") as out:
        for each in progress.track(asked, description=str(settings.llm_model)):
            try:
                answer = await _answer(gateway, each)
            except (NoAnswer, Disbelieved) as fault:
                progress.console.print(f"{':'.join(map(str, each.names.values()))}: {fault}")
                failed += isinstance(fault, NoAnswer)
            else:
                out.write(msgspec.json.encode({**each.names, **answer}).decode() + "\n")
                out.flush()
                believed, failed = believed + 1, 0
            if failed >= FAILED_IN_A_ROW_MAX:
                progress.console.print(f"{failed} questions in a row had no answer: the rest is left")
                break
    return believed


async def _answer(gateway: Gateway, asked: LabelledQuestion) -> dict[str, Any]:
    sent = leaving(asked.payload)
    assert isinstance(sent, dict)
    if asked.kind == "boundary":
        gap = await gateway.ask(_NOBODY, "boundary", JUDGE_VERSION, BoundaryAnswer, sent)
        return {"new_topic": believed_boundary(gap.value, str(sent["prompt"])), "confidence": gap.value.confidence}
    rubric = await gateway.ask(_NOBODY, "rubric", JUDGE_VERSION, RubricAnswer, sent)
    said = believed_rubric(rubric.value, str(sent["prompt"]), str(sent["pasted"]))
    applies = () if said.intent is None else applicable(said.intent)
    booleans: dict[str, Said] = {name: "unsure" if name in said.unsure else name in said.earned for name in applies}
    return {"intent": said.intent, "confidence": rubric.value.confidence, **booleans}
