"""Finding the phrases of the lexicon in a text's tokens."""

from collections.abc import Container, Sequence, Set

from aggregates.lexicons import PHRASE_CUES

_Phrase = tuple[str, str, str]
"""A cue; a phrase that shows it, its words joined by spaces; its last word where it is of more than two, or nothing:
of the others it is enough that their first two stand side by side."""


def _by_opening() -> dict[tuple[str, ...], list[_Phrase]]:
    """Phrases by their first two words, or by the only one."""
    table: dict[tuple[str, ...], list[_Phrase]] = {}
    for cue, phrases in PHRASE_CUES.items():
        for phrase in phrases:
            last = phrase[-1] if len(phrase) > 2 else ""
            table.setdefault(phrase[:2], []).append((cue, " ".join(phrase), last))
    return table


_BY_OPENING = _by_opening()
_OPENINGS = sorted(_BY_OPENING, key=lambda opening: (len(opening), opening))
"""In the order in which phrases are looked at: single words first, then by the alphabet."""
_PHRASES = [_BY_OPENING[opening] for opening in _OPENINGS]
_PLACE_OF_PAIR = {opening: place for place, opening in enumerate(_OPENINGS) if len(opening) == 2}
_PLACE_OF_WORD = {opening[0]: place for place, opening in enumerate(_OPENINGS) if len(opening) == 1}
_PAIRS = frozenset(_PLACE_OF_PAIR)


def phrase_cues(
    sentences: Sequence[Sequence[str]], words: Container[str], pairs: Set[tuple[str, str]]
) -> dict[str, str]:
    """The phrase cues that the sentences show, each with the phrase that shows it; `words` are all their words, and
    `pairs` all that stand side by side in a sentence.

    Where several phrases show a cue, a single word goes before a longer phrase, and then the alphabet decides.
    """
    places = [place for word, place in _PLACE_OF_WORD.items() if word in words]
    # Two sets are compared inside the interpreter: a loop over the tokens takes three times as long.
    places += [_PLACE_OF_PAIR[pair] for pair in _PAIRS.intersection(pairs)]
    places.sort()
    found: dict[str, str] = {}
    for place in places:
        for cue, text, last in _PHRASES[place]:
            if cue not in found and (not last or (last in words and _stands(text, sentences))):
                found[cue] = text
    return found


def _stands(text: str, sentences: Sequence[Sequence[str]]) -> bool:
    return any(f" {text} " in f" {' '.join(sentence)} " for sentence in sentences)
