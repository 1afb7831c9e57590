"""The words and pairs of words that the rubric judge looks for beside its lexicons: `aggregates/judge_words.py`.

    python -m svc.judge_words

They are those of the prompts that were written for training (`judge_examples.py`), never of a labelled one. To be run
when those prompts have changed, before `python -m svc.train_judges`.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from aggregates.features import pairs_of, sentences_of
from aggregates.pasted import look
from svc.judge_examples import examples

WORD_PROMPTS_MIN = 2
PAIR_PROMPTS_MIN = 3
"""In how many prompts a word, or a pair, stands at least."""
LINE_CHARS = 100
_OUT = Path(__file__).parent.parent / "aggregates" / "judge_words.py"


def words_and_pairs() -> tuple[list[str], list[str]]:
    """Those that stand in enough of the written prompts, sorted; a pair is two words with a space between."""
    words: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for example in examples():
        sentences = sentences_of(look(example.text).own)
        words.update({word for _, plain, _ in sentences for word in plain})
        pairs.update({f"{first} {second}" for first, second in pairs_of(sentences) if first != "$"})
    return _often(words, WORD_PROMPTS_MIN), _often(pairs, PAIR_PROMPTS_MIN)


def _often(counts: Counter[str], least: int) -> list[str]:
    return sorted(each for each, count in counts.items() if count >= least and each.isascii() and "|" not in each)


def source() -> str:
    """The text of the module."""
    words, pairs = words_and_pairs()
    lines = [
        '"""Words and pairs of words that are features of a prompt; written by `python -m svc.judge_words`.',
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
def main() -> None:
    """Write aggregates/judge_words.py."""
    _OUT.write_text(source(), encoding="utf-8")


if __name__ == "__main__":
    main()
