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
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from aggregates.reading.model import RubricWeights
from aggregates.reading.reading import read_prompt, read_response
from aggregates.reading.sentences import PAIRS, WORDS
from aggregates.reading.verdicts import BOOLEANS, applicable
from tests.judges import labels, regression, train
from tests.judges.labels import (
    FOLDS,
    INTENT_LETTERS,
    LOCK_BOX,
    PROMPT_MARKS,
    examples,
    fold_of,
    labelled_items,
    lettered,
    mark_of,
)
from tests.judges.measures import (
    BoundaryMeasures,
    Pair,
    Share,
    kappa,
    measure_boundaries,
    measure_prompts,
    worst_misses,
)
from tests.judges.report import main
from tests.judges.train import NUMBER, source_of, tables, words_and_pairs, written_items

PARTS = 2  # of the ten: what all ten take minutes for, `make judge-report` tells


def pair(expert: str, judged: str, *, earned: bool = True, name: str = "p") -> Pair:
    """A pair in which the judge earns everything or nothing."""
    true: dict[Any, bool | None] = {n: True if n in applicable(expert) else None for n in BOOLEANS}  # type: ignore[arg-type]
    said: dict[Any, bool | None] = {n: earned if n in applicable(judged) else None for n in BOOLEANS}  # type: ignore[arg-type]
    return Pair(name, "ok", expert, true, "ok", judged, said)  # type: ignore[arg-type]


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


@given(st.integers(0, 200), st.integers(1, 200))
def test_a_wilson_interval_holds_its_share(hits: int, more: int) -> None:
    """Within 0 and 1, also at the ends."""
    share = Share(hits, hits + more)
    low, high = share.interval
    assert 0 <= low <= hits / (hits + more) <= high <= 1


def test_a_wilson_interval_matches_a_published_case() -> None:
    """8 of 10 at 95 %: 0.490 to 0.943."""
    assert Share(8, 10).interval == pytest.approx((0.490, 0.943), abs=0.001)


def test_prompt_measures_count_what_they_name() -> None:
    """One right, one of another class that earned nothing."""
    measured = measure_prompts([pair("question", "question"), pair("bug_fix", "question", earned=False)])
    assert measured.intent_accuracy == Share(1, 2)
    assert (measured.score_error, measured.apg_error) == (50.0, 50.0)
    assert measured.confusion["bug_fix"] == {"question": 1}
    assert measured.kappa["scope_bounded"] is None


def test_the_worst_misses_come_first() -> None:
    """By the distance of the scores, then by id."""
    misses = worst_misses(
        [pair("question", "question", name="a"), pair("question", "question", earned=False, name="b")]
    )
    assert [miss.item_id for miss in misses] == ["b", "a"]


def test_boundaries_are_compared_as_sets_of_starts() -> None:
    """Two right of three judged and four expected."""
    measured = measure_boundaries([(frozenset({1, 2, 3}), frozenset({2, 3})), (frozenset({5}), frozenset({6}))])
    assert (measured.right, measured.judged, measured.expert) == (2, 3, 4)
    assert measured.f1 == pytest.approx(4 / 7)


@pytest.mark.real_data
def test_every_part_has_developers_and_the_lock_box_is_in_none(real_data: Path) -> None:
    """Nothing of its developers is among what is learned from or measured by parts."""
    prompts, sessions = (labelled_items(real_data, kind) for kind in ("prompts", "sessions"))
    assert LOCK_BOX.isdisjoint(item["developer"] for item in (*prompts, *sessions))
    assert {fold_of(item["developer"]) for item in prompts} == set(range(FOLDS))
    locked = [labelled_items(real_data, kind, locked=True) for kind in ("prompts", "sessions")]
    assert [{item["developer"] for item in items} for items in locked] == [LOCK_BOX, LOCK_BOX]
    assert [len(items) for items in locked] == [452, 73]


def test_a_fit_learns_what_tells_the_classes_apart() -> None:
    """A feature of one class alone weighs for it."""
    rows = [(1, 9)] * 10 + [(2, 9)] * 10 + [(3, 9)] * 10
    fitted = regression.fit(rows, [0] * 10 + [1] * 10 + [2] * 10, [1.0] * 30, 3, 0.01)
    for place in range(3):
        logits = fitted.logits((place + 1, 9))
        assert max(logits) == logits[place]


def test_a_feature_that_few_rows_show_is_left_out() -> None:
    """Its number is not in the fit."""
    fitted = regression.fit([(1, 2)] * 3 + [(1,)] * 3, [0, 1, 0] * 2, [1.0] * 6, 2, 0.01, seen_min=4)
    assert set(fitted.weights) == {1}


def test_two_classes_are_the_same_fit_with_one_of_them_held_at_0() -> None:
    """Three classes of which one never occurs give the same lead, by twice the penalty's share."""
    rows, targets = [(1,)] * 8 + [(2,)] * 4, [0] * 6 + [1] * 5 + [0]
    two = regression.fit(rows, targets, [1.0] * 12, 2, 0.1)
    three = regression.fit(rows, targets, [1.0] * 12, 3, 0.1)
    for row in [(1,), (2,)]:
        first, second, _ = three.logits(row)
        assert two.logits(row)[0] == pytest.approx(first - second, abs=0.02)


def test_training_twice_writes_the_same_file_and_the_judge_reads_it() -> None:
    items = written_items()[::12]
    one, two = (source_of(tables(items)) for _ in range(2))
    assert one == two
    assert msgspec.json.decode(one, type=RubricWeights) == tables(items)


def test_every_written_example_names_only_booleans_that_apply() -> None:
    """And none stands there twice."""
    for example in examples():
        assert example.text.strip()
        assert tuple(example.booleans) == applicable(example.intent)
    assert len({example.intent for example in examples()}) == 8
    assert len({(example.text, example.follows) for example in examples()}) == len(examples())


def test_the_words_that_are_features_are_those_of_the_written_prompts() -> None:
    """They were written anew since those changed; no labelled prompt brings a word or a pair."""
    words, pairs = words_and_pairs(())
    assert frozenset(words) == WORDS
    assert {" ".join(pair) for pair in PAIRS} >= set(pairs)
    every, _ = words_and_pairs(example.text for example in examples())
    assert every == words


def test_a_pair_that_only_peoples_own_prompts_hold_is_no_feature() -> None:
    """However often; one that a written prompt holds once is, where they hold it too."""
    written = " ".join(examples()[0].text.lower().split()[:2])
    _, pairs = words_and_pairs(["zyzzy quux"] * 9 + [written] * 2)
    assert "zyzzy quux" not in pairs
    assert written in pairs


def test_marks_name_prompts_by_digest_alone() -> None:
    """An intent's letter, then those of booleans that apply to it."""
    for digest, mark in PROMPT_MARKS.items():
        assert len(digest) == len(mark_of("any", 1))
        intent = INTENT_LETTERS[mark[0]]
        assert sum(lettered(mark[1:], intent).values()) == len(mark) - 1


def test_a_marked_prompt_is_learned_from_with_the_turn_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the folder holds its session; other turns are not."""
    turns = [
        {"session_id": "a", "turn": 1, "prompt": "Add a chart to the weekly report", "response_text": "Shall I?"},
        {"session_id": "a", "turn": 2, "prompt": "Why  is the cache\ncold?", "response_text": "Well."},
    ]
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "turns.jsonl").write_text("\n".join(map(json.dumps, turns)))
    monkeypatch.setattr(labels, "PROMPT_MARKS", {mark_of("a", 2): "qgc"})
    (item,) = train.marked_items(tmp_path)
    assert (item.session, item.text, item.intent) == ("a", "why is the cache cold?", "question")
    assert item.booleans == {"goal_explicit": True, "context_sufficient": True}
    assert NUMBER["context:after an offer"] in item.features
    assert NUMBER["context:first"] not in item.features


def test_what_a_feature_may_weigh_goes_by_how_many_rows_show_it() -> None:
    """The same evidence, ten times as often among rows of which most say nothing: by count both cost the same a row."""
    few = [(1,)] * 3 + [()] * 97
    plain_fit = regression.fit(few, [0] * 50 + [1] * 50, [1.0] * 100, 2, 0.1)
    by_count = regression.fit(few, [0] * 50 + [1] * 50, [1.0] * 100, 2, 0.1, by_count=1.0)
    assert by_count.weights[1][0] > 2 * plain_fit.weights[1][0] > 0


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
def test_the_judges_hold_their_level_on_the_labelled_data(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On some parts of the developers, each judged by a model that has not seen it; no figure may sink unnoticed."""
    # Most turns stand in more than one item, as those before a prompt do.
    for read in (read_prompt, read_response):
        monkeypatch.setattr(f"tests.judges.judge.{read.__name__}", cache(read))
    result = CliRunner().invoke(main, [str(real_data), "--json", "--parts", str(PARTS)])
    assert result.exit_code == 0, result.output
    measured = json.loads(result.output)
    prompts, boundaries = measured["prompts"], msgspec.convert(measured["boundaries"], BoundaryMeasures)
    assert prompts["prompts"] > 300
    assert share_of(prompts["intent_accuracy"]) >= 0.55
    assert sum(prompts["kappa"].values()) / len(prompts["kappa"]) >= 0.38
    assert prompts["score_error"] <= 18
    assert prompts["apg_error"] <= 6
    assert boundaries.f1 >= 0.4
    assert share_of(measured["decided"]["agreement"]) >= 0.9
    assert share_of(measured["decided"]["coverage"]) >= 0.6


def share_of(told: dict[str, int]) -> float:
    return told["hits"] / told["total"]
