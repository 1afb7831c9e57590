"""The words and pairs of words that the rubric judge looks for beside its lexicons: `aggregates/judge_words.py`.

    python -m tests.judges.judge_words DATA_DIR

They stand in prompts that were written for training (`judge_examples.py`): nothing that only people's own prompts hold
is kept. Of pairs, those are kept that enough prompts show for a weight, people's own counted too. To be run when the
written prompts have changed, before `python -m tests.judges.train`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from aggregates.features import pairs_of, sentences_of
from aggregates.pasted import look
from svc.labelled import read_lines
from tests.judges.judge_examples import examples
from tests.judges.prompt_marks import MARKS, mark_of

WORD_PROMPTS_MIN = 2
"""In how many written prompts a word stands at least."""
PAIR_PROMPTS_MIN = 3
"""In how many prompts of any kind a pair stands at least, one of them written."""
LINE_CHARS = 100
_OWN_CHARS = 2200
_OUT = Path(__file__).parents[2] / "aggregates" / "judge_words.py"


def words_and_pairs(real: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those to be kept, sorted; a pair is two words with a space between. `real` are people's own prompts."""
    written = [example.text for example in examples()]
    words = Counter(word for text in written for word in _words(text))
    known = {pair for text in written for pair in _pairs(text)}
    pairs = Counter(pair for text in (*written, *real) for pair in _pairs(text) & known)
    return _often(words, WORD_PROMPTS_MIN), _often(pairs, PAIR_PROMPTS_MIN)


def _words(text: str) -> set[str]:
    return {word for _, plain, _ in sentences_of(look(text).own) for word in plain}


def _pairs(text: str) -> set[str]:
    sentences = sentences_of(look(text).own[:_OWN_CHARS])
    return {f"{first} {second}" for first, second in pairs_of(sentences) if first != "$"}


def _often(counts: Counter[str], least: int) -> list[str]:
    return sorted(each for each, count in counts.items() if count >= least and each.isascii() and "|" not in each)


def real_texts(data_dir: Path) -> list[str]:
    """The labelled prompts and those that readers marked."""
    labelled = [str(item["prompt"]) for item in read_lines(data_dir / "labels" / "prompts.jsonl")]
    marked = [
        str(turn["prompt"])
        for path in sorted(data_dir.glob("*/turns.jsonl"))
        for turn in read_lines(path)
        if mark_of(str(turn.get("session_id")), int(turn["turn"])) in MARKS
    ]
    return labelled + marked


def source(words: Sequence[str], pairs: Sequence[str]) -> str:
    """The text of the module."""
    lines = [
        '"""Words and pairs of words that are features of a prompt; written by `python -m tests.judges.judge_words`.',
        "",
        "In a pair ^ is a sentence's beginning and $ its end.",
        '"""',
        "",
        "_WORDS = (",
        *_quoted(words, " "),
        ")",
        "_PAIRS = (",
        *_quoted(pairs, "|"),
        ")",
        "WORDS = frozenset(_WORDS.split())",
        '_SPLIT = (pair.partition(" ") for pair in _PAIRS.split("|")[:-1])',
        "PAIRS = tuple((first, second) for first, _, second in _SPLIT)",
    ]
    return "\n".join(lines) + "\n"


def _quoted(pieces: Sequence[str], end: str) -> list[str]:
    """String literals of bounded length that are the pieces together, each with `end` behind it."""
    lines = [""]
    for piece in pieces:
        if len(lines[-1]) + len(piece) > LINE_CHARS:
            lines.append("")
        lines[-1] += piece + end
    return [f'    "{line}"' for line in lines]


@click.command()
@click.argument("data_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(data_dir: Path) -> None:
    """Write aggregates/judge_words.py."""
    _OUT.write_text(source(*words_and_pairs(real_texts(data_dir))), encoding="utf-8")


if __name__ == "__main__":
    main()
