"""Train the embedded judges, labelled data in, resources of `aggregates/` out: `python -m tests.judges.train`.

`words` comes first, after the written prompts have changed. The rubric judge learns from labelled, marked and written
prompts (`labels.py`) by regression with an L2 penalty (`regression.py`), without randomness. The files hold names of
features and whole numbers, thousandths of a logit; nothing of the labelled texts."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import msgspec

from aggregates.event import Digester
from aggregates.judging.prompt import context_names
from aggregates.reading.features import sentences_of
from aggregates.reading.model import MAY_REST_ON_PASTED, RubricWeights
from aggregates.reading.prompt_text import split_pasted
from aggregates.reading.reading import read_prompt
from aggregates.reading.readings import CROSSED
from aggregates.reading.verdicts import BOOLEANS, INTENTS, BooleanName, Intent
from tests.judges import regression, train_arcs
from tests.judges.calibration import Calibration, Unseen, calibrated, calibration, weighed
from tests.judges.judge import before, prompt_turns
from tests.judges.labels import (
    FOLDS,
    INTENT_LETTERS,
    UNNAMED,
    WRITTEN,
    developers_of,
    examples,
    fold_of,
    labelled_items,
    labelled_sessions,
    lettered,
    marked_prompts,
)
from tests.judges.names import ALL_FEATURES, PASTED, features_of

INTENT_PENALTY = 0.02
BOOLEAN_PENALTY = 0.014
FLAT = 3e-5  # where the optimiser stops: further on only the last digits change, for twice the time
INTENT_BY_COUNT = 1.0
BOOLEAN_BY_COUNT = 0.5  # how much dearer a feature's weight is, the more rows show it (`regression.fit`)
MARKED_SHARE = 0.8  # how much a prompt that a reader marked counts beside one that the experts labelled
WRITTEN_SHARE = 0.8  # how much a prompt counts that was written for training
WORD_PROMPTS_MIN = 2  # in how many written prompts a word stands at least
PAIR_PROMPTS_MIN = 3  # in how many prompts of any kind a pair stands at least, one of them written
_OWN_CHARS = 2200
_AGGREGATES = Path(__file__).parents[2] / "aggregates"

_KEY = Digester(b"examples")

Row = regression.Row
NUMBER = {name: place for place, name in enumerate(ALL_FEATURES)}
_PASTED = frozenset(NUMBER[name] for name in PASTED)


class Item(msgspec.Struct, frozen=True):
    """One prompt as the trainer sees it."""

    developer: str  # whose it is; of a written prompt, nobody else's
    features: Row  # those of its text and of what came before it
    intent: Intent
    booleans: Mapping[BooleanName, bool]
    share: float = 1.0  # how much it counts
    labelled: bool = False  # whether experts labelled it: only these measure and calibrate
    real: bool = True  # whether somebody sent it to an agent; else it was written for training


def items_of(data_dir: Path) -> list[Item]:
    """The classified prompts of the labelled data, those that readers marked, and those written for training."""
    return [*_labelled_items(data_dir), *marked_items(data_dir), *written_items()]


def _labelled_items(data_dir: Path) -> Iterator[Item]:
    for raw in labelled_items(data_dir, "prompts"):
        label = raw.get("label")
        if label and label["intent"] and (features := _features(raw)):
            booleans = {name: label[name] for name in BOOLEANS if label[name] is not None}
            yield Item(raw["developer"], features, label["intent"], booleans, labelled=True)


def _features(raw: Mapping[str, Any]) -> Row:
    """None of a prompt that was not captured."""
    *earlier, turn = prompt_turns(raw)
    if turn.prompt is None:
        return ()
    return (*sorted(_numbers(features_of(raw["prompt"]))), *_numbers(context_names(turn.prompt, before(earlier))))


def marked_items(data_dir: Path) -> list[Item]:
    """The prompts that readers marked, as far as DATA_DIR holds them."""
    developers, found = developers_of(data_dir), []
    for session, mark, raw in marked_prompts(data_dir):
        intent = INTENT_LETTERS[mark[0]]
        told = developers.get(session, UNNAMED), _features(raw), intent, lettered(mark[1:], intent)
        found.append(Item(*told, MARKED_SHARE))
    return found


def written_items() -> list[Item]:
    """The prompts that were written for training, each of a developer of its own."""
    found = []
    for place, each in enumerate(examples()):
        names = context_names(read_prompt(each.text, _KEY), None)
        context = (name for name in names if not (each.follows and name.startswith("context:")))
        features = (*sorted(_numbers(features_of(each.text))), *_numbers(context))
        found.append(Item(f"{WRITTEN}{place}", features, each.intent, each.booleans, WRITTEN_SHARE, real=False))
    return found


def _numbers(names: Iterable[str]) -> Row:
    return tuple(NUMBER[name] for name in names)


_CROSSED = {(NUMBER[cue], intent): NUMBER[f"{intent} & {cue}"] for intent in INTENTS for cue in CROSSED}


def _crossed(row: Row, intent: Intent) -> Row:
    """The features of a prompt together with what it was judged to ask for."""
    both = [_CROSSED[number, intent] for number in row if (number, intent) in _CROSSED]
    return (*row, NUMBER[f"is:{intent}"], *both)


def train(items: Sequence[Item]) -> tuple[RubricWeights, Calibration]:
    """The weights of these items, calibrated, and how they were."""
    found = calibration([each for fold in range(FOLDS) for each in unseen(items, fold, trained_without(items, fold))])
    return calibrated(tables(items), found), found


def unseen(items: Sequence[Item], fold: int, weights: RubricWeights) -> list[Unseen]:
    """The labelled prompts of a part of the developers, weighed by weights that know nothing of that part."""
    judged = [item for item in items if item.labelled and fold_of(item.developer) == fold]
    return weighed(weights, fold, [(item.features, item.intent, item.booleans) for item in judged])


def trained_without(items: Sequence[Item], fold: int) -> RubricWeights:
    """Of all that is not of the developers of `fold`."""
    return tables([item for item in items if not item.real or fold_of(item.developer) != fold])


def tables(items: Sequence[Item]) -> RubricWeights:
    """Biases and weights, in thousandths: intents, then booleans."""
    targets = [INTENTS.index(item.intent) for item in items]
    rows = [item.features for item in items]
    own, shares = [_own(row) for row in rows], [item.share for item in items]
    intents = regression.fit(own, targets, shares, len(INTENTS), INTENT_PENALTY, by_count=INTENT_BY_COUNT, flat=FLAT)
    bias: list[int] = []
    weights: dict[str, list[int]] = {}
    for place, name in enumerate(BOOLEANS):
        binary = _boolean(name, items, rows)
        bias.append(round(1000 * binary.bias[0]))
        for number, (weight,) in binary.weights.items():
            weights.setdefault(ALL_FEATURES[number], [0] * len(BOOLEANS))[place] = round(1000 * weight)
    kept = {name: tuple(values) for name, values in sorted(weights.items()) if any(values)}
    named = {ALL_FEATURES[number]: tuple(round(1000 * w) for w in row) for number, row in intents.weights.items()}
    told = {name: row for name, row in sorted(named.items()) if any(row)}
    return RubricWeights(tuple(round(1000 * each) for each in intents.bias), told, tuple(bias), kept)


def _own(row: Row) -> Row:
    return tuple(number for number in row if number not in _PASTED)


def _boolean(name: BooleanName, items: Sequence[Item], rows: Sequence[Row]) -> regression.Fit:
    """One boolean, learned with the experts' intents."""
    keep: Callable[[Row], Row] = (lambda row: row) if name in MAY_REST_ON_PASTED else _own
    chosen = [place for place, item in enumerate(items) if name in item.booleans]
    return regression.fit(
        [keep(_crossed(rows[place], items[place].intent)) for place in chosen],
        [0 if items[place].booleans[name] else 1 for place in chosen],
        [items[place].share for place in chosen],
        2,
        BOOLEAN_PENALTY,
        by_count=BOOLEAN_BY_COUNT,
        flat=FLAT,
    )


def source_of(trained: RubricWeights) -> str:
    """The text of the weights file, a feature a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in msgspec.structs.asdict(trained).items()]
    text = ",\n".join(lines).replace('], "', '],\n"').replace("{", "{\n").replace("}", "\n}")
    return f"{{\n{text}\n}}\n"


def bounds_source(found: Calibration) -> str:
    """The text of the file of bounds, a boolean a line."""
    lines = [f" {json.dumps(name)}: {json.dumps(msgspec.to_builtins(found.bounds[name]))}" for name in BOOLEANS]
    return "{\n" + ",\n".join(lines) + "\n}\n"


# The words that are features


def words_and_pairs(real: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those of the written prompts, sorted; a pair is two words with a space between. Nothing that only people's own
    prompts (`real`) hold is kept; they count where a pair must be common enough."""
    written = [example.text for example in examples()]
    said = [sentences_of(split_pasted(text).own) for text in written]
    words = Counter(word for sentences in said for word in {word for _, plain, _ in sentences for word in plain})
    known = {pair for text in written for pair in _pairs(text)}
    pairs = Counter(pair for text in (*written, *real) for pair in _pairs(text) & known)
    return _often(words, WORD_PROMPTS_MIN), _often(pairs, PAIR_PROMPTS_MIN)


def _pairs(text: str) -> set[str]:
    sentences = sentences_of(split_pasted(text).own[:_OWN_CHARS])
    said = [("^", *tokens, "$") for tokens, _, _ in sentences]
    return {f"{first} {second}" for each in said for first, second in pairwise(each)}


def _often(counts: Counter[str], least: int) -> list[str]:
    return sorted(each for each, count in counts.items() if count >= least and each.isascii() and "|" not in each)


# Commands


@click.command()
@click.argument("judge", type=click.Choice(("words", "rubric", "boundary", "outcome")))
@click.argument("data_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(judge: str, data_dir: Path) -> None:
    """Write what a judge weighs, or the words that the rubric judge looks for, learned from DATA_DIR/labels."""
    written: dict[str, str] = {}
    if judge == "words":
        raw = [*labelled_items(data_dir, "prompts"), *(raw for _, _, raw in marked_prompts(data_dir))]
        found, pairs = words_and_pairs(str(item["prompt"]) for item in raw)
        written["reading/words.txt"] = "".join(f"{each}\n" for each in (*found, *pairs))
    elif judge == "rubric":
        weights, calibrated_by = train(items_of(data_dir))
        written = {"reading/rubric.json": source_of(weights), "reading/bounds.json": bounds_source(calibrated_by)}
    elif judge == "boundary":
        model = train_arcs.train_boundary(labelled_sessions(data_dir))
        written["judging/boundary.json"] = train_arcs.source_of(model)
    else:
        outcome = train_arcs.train_outcome(train_arcs.arc_rows(labelled_sessions(data_dir)))
        written["judging/outcome.json"] = train_arcs.source_of(outcome)
    for name, text in written.items():
        (_AGGREGATES / name).write_text(text, encoding="utf-8")
        click.echo(f"{name}: {text.count(chr(10))} lines")


if __name__ == "__main__":
    main()
