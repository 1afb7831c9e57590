"""The trainer, the measures and, with the labelled data at hand, the judges' figures."""

import json
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from aggregates.judging.boundary import SHIPPED_BOUNDARY, BoundaryModel
from aggregates.reading.model import SHIPPED, RubricWeights
from aggregates.reading.reading import read_prompt, read_response
from aggregates.reading.sentences import PAIRS, WORDS
from aggregates.reading.verdicts import applicable
from tests.judges import labels, train, train_arcs
from tests.judges.labels import (
    FOLDS,
    INTENT_LETTERS,
    LOCK_BOX,
    PROMPT_MARKS,
    SessionItem,
    examples,
    fold_of,
    labelled_items,
    lettered,
    mark_of,
    session_item,
)
from tests.judges.measures import BoundaryMeasures, kappa
from tests.judges.names import SIGNALS
from tests.judges.report import main
from tests.judges.train import NUMBER, tables, words_and_pairs, written_items

PARTS = 2  # of the ten: what all ten take minutes for, `make judge-report` tells


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([(True, True), (False, False)], 1.0),
        ([(True, False), (False, True)], -1.0),
        ([(True, True), (True, False), (False, True), (False, False)], 0.0),
        ([(True, True)], 1.0),
        ([], None),
    ],
)
def test_kappa_is_agreement_beyond_chance(pairs: list[tuple[bool, bool]], value: float | None) -> None:
    assert kappa(Counter(pairs)) == value


def written(path: Path, *items: dict[str, Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def report(*options: object) -> Result:
    return CliRunner().invoke(main, list(map(str, options)))


TASKS = ("the invoice export", "our login page", "a nightly import", "the search index", "retry handling")
ANSWERS = ("Done. All tests pass, committed.", "Shall I also change the tests?", "I changed it as you said.")


def session(developer: int, number: int) -> SessionItem:
    """Two goals in six turns: each is asked for as another task, then refined in the words of its answer."""
    turns = []
    for place in range(6):
        task = TASKS[(developer + number + place // 3) % len(TASKS)]
        opens = f"New task: please implement {task} with clear limits and a page of documentation"
        text = opens if place % 3 == 0 else f"also use the same limits for it there, variant {place}"
        answer = f"Now {task} has clear limits and documentation. {ANSWERS[(place + number) % len(ANSWERS)]}"
        turns.append({"prompt": text, "tools": ["Edit /srv/a.py"], "response_end": answer})
    arcs = [{"start": start, "end": start + 2, "intent": None, "goal_complete": None} for start in (1, 4)]
    named = {"session": f"d{developer}:{number}", "developer": f"d{developer}"}
    return session_item({**named, "turns": turns, "arcs": arcs})


def test_training_twice_writes_the_same_file_and_the_judge_reads_it() -> None:
    """No randomness, no order of hashing; no signal speaks against what it is there for."""
    items = written_items()[::12]
    one, two = (train.source_of(tables(items)) for _ in range(2))
    assert one == two
    assert msgspec.json.decode(one, type=RubricWeights) == tables(items)
    sessions = [session(developer, number) for developer in range(4) for number in range(4)]
    one, two = (train_arcs.source_of(train_arcs.train_boundary(sessions)) for _ in range(2))
    assert one == two
    weights = msgspec.json.decode(one, type=BoundaryModel).weights
    assert weights.keys() <= set(SIGNALS)
    wrong = {name for name, weight in weights.items() if (weight < 0) is not (name in train_arcs.GOES_ON)}
    assert wrong <= train_arcs.EITHER


def test_every_written_example_names_only_booleans_that_apply() -> None:
    """And none stands there twice."""
    for example in examples():
        assert example.text.strip()
        assert tuple(example.booleans) == applicable(example.intent)
    assert len({(example.text, example.follows) for example in examples()}) == len(examples())


def test_the_words_that_are_features_are_those_of_the_written_prompts() -> None:
    """They were written anew since those changed; no labelled prompt brings a word or a pair, however often."""
    words, pairs = words_and_pairs(())
    assert frozenset(words) == WORDS
    assert {" ".join(pair) for pair in PAIRS} >= set(pairs)
    common = " ".join(examples()[0].text.lower().split()[:2])
    _, pairs = words_and_pairs(["zyzzy quux"] * 9 + [common] * 2)
    assert ("zyzzy quux" in pairs, common in pairs) == (False, True)


def test_marks_name_prompts_by_digest_alone() -> None:
    """An intent's letter, then those of booleans that apply to it."""
    for digest, mark in PROMPT_MARKS.items():
        assert len(digest) == len(mark_of("any", 1))
        assert sum(lettered(mark[1:], INTENT_LETTERS[mark[0]]).values()) == len(mark) - 1


def test_a_marked_prompt_is_learned_from_with_the_turn_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the folder holds its session; other turns are not."""
    shared = {"session_id": "a"}
    first = {**shared, "turn": 1, "prompt": "Add a chart to the weekly report", "response_text": "Shall I?"}
    second = {**shared, "turn": 2, "prompt": "Why  is the cache\ncold?", "response_text": "Well."}
    written(tmp_path / "source" / "turns.jsonl", first, second)
    monkeypatch.setattr(labels, "PROMPT_MARKS", {mark_of("a", 2): "qgc"})
    (item,) = train.marked_items(tmp_path)
    assert (item.developer, item.intent) == ("unnamed", "question")
    assert item.booleans == {"goal_explicit": True, "context_sufficient": True}
    assert {NUMBER["context:after an offer"], NUMBER["context:first"]} & set(item.features) == {
        NUMBER["context:after an offer"]
    }


def test_nothing_that_serves_needs_numpy() -> None:
    """It is a tool of those who train the judges."""
    root = Path(__file__).parents[2]
    importing = [
        path.name
        for room in ("svc", "aggregates", "projections", "http")
        for path in sorted((root / room).rglob("*.py"))
        if re.search(r"^\s*(import|from) (numpy|tests)", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert importing == []


@pytest.fixture(scope="module")
def real_data() -> Path:
    """The folder that holds `labels/`."""
    folder = os.environ.get("SVC_REAL_DATA")
    if not folder or not (Path(folder) / "labels").is_dir():
        pytest.skip("SVC_REAL_DATA names no folder with labels/")
    return Path(folder)


@pytest.mark.real_data
def test_every_part_has_developers_and_the_lock_box_is_in_none(real_data: Path) -> None:
    """Nothing of its developers is among what is learned from or measured by parts."""
    prompts, sessions = (labelled_items(real_data, kind) for kind in ("prompts", "sessions"))
    assert LOCK_BOX.isdisjoint(item["developer"] for item in (*prompts, *sessions))
    assert {fold_of(item["developer"]) for item in prompts} == set(range(FOLDS))
    locked = [labelled_items(real_data, kind, locked=True) for kind in ("prompts", "sessions")]
    assert [{item["developer"] for item in items} for items in locked] == [LOCK_BOX, LOCK_BOX]
    assert [len(items) for items in locked] == [452, 73]


@pytest.mark.real_data
def test_the_judges_hold_their_level_on_the_labelled_data(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped weights on some parts of the developers: what a reading misses sinks a figure. They have seen these
    labels; what a model does that has not is measured by `make judge-report`, in minutes."""
    # Most turns stand in more than one item, as those before a prompt do.
    for read in (read_prompt, read_response):
        monkeypatch.setattr(f"tests.judges.judge.{read.__name__}", cache(read))
    monkeypatch.setattr("tests.judges.report.items_of", lambda _folder: ())
    monkeypatch.setattr("tests.judges.report.models_by_fold", lambda _items, parts: [SHIPPED] * parts)
    monkeypatch.setattr("tests.judges.report.train_boundary", lambda _sessions: SHIPPED_BOUNDARY)
    result = report(real_data, "--json", "--parts", PARTS)
    assert result.exit_code == 0, result.output
    measured = json.loads(result.output)
    prompts, boundaries = measured["prompts"], msgspec.convert(measured["boundaries"], BoundaryMeasures)
    shares = {"intent": prompts["intent_accuracy"], **measured["decided"]}
    told = {name: shares[name]["hits"] / shares[name]["total"] for name in ("intent", "agreement", "coverage")}
    assert prompts["prompts"] > 300
    assert told["intent"] >= 0.9
    assert sum(prompts["kappa"].values()) / len(prompts["kappa"]) >= 0.79
    assert prompts["score_error"] <= 6
    assert prompts["apg_error"] <= 2
    estimates = measured["estimates"]
    assert abs(estimates["apg_bias"]) <= 4
    assert estimates["developer_error"] <= 6
    assert estimates["coverage"]["hits"] >= 0.9 * estimates["coverage"]["total"]
    assert boundaries.f1 >= 0.54
    assert told["agreement"] >= 0.95
    assert told["coverage"] >= 0.67
