"""One's own habits: prompts that show each and prompts that miss it, and goals reached with and without."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from aggregates.event import Scope
from aggregates.judging.prompt import how_to_earn, rubric_evidence
from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores.insights import Decided
from aggregates.times import Window
from projections.derive.sub_session_rows import PromptDetail, mask, unmask
from projections.reader import Reader, bound, json_array
from projections.scores.skill import COUNTED, TopPrompt, graded_bodies
from projections.sub_sessions.rows import CRUSHED, QUALIFIES, owned

EXAMPLES_READ = 5  # so many prompts are looked at for one whose text is still there
MARKED_CHARACTERS_MAX = 20_000  # in a longer prompt no words are looked for
AROUND_CHARACTERS = 70  # so much is shown on either side of the words
WORDS_CHARACTERS = 140
DECIDED_READ_MAX = 5_000  # so many decided goals are looked at, the newest


class ShownHabit(msgspec.Struct, frozen=True):
    """A prompt of one's own that shows a habit, or misses it."""

    prompt: TopPrompt
    before: str
    words: str  # those that show it; empty where no words stand out, and of one that misses it
    after: str
    advice: str | None  # how this very prompt would show it, where it does not


ShownHabits = Mapping[BooleanName, ShownHabit | None]  # None where no prompt is one, or its words are gone


def best_shown(reader: Reader, scope: Scope, window: Window) -> ShownHabits:
    """Of each habit the developer's best prompt that shows it."""
    query = f"SELECT rowid, standing_sure & standing_earned & own_earned {_GRADED} ORDER BY own_score DESC, at_us DESC"
    found = _first(reader.db.execute(query, bound(scope, window)))
    return _examples(reader, scope, window, found, "p.own_score DESC, p.at_us DESC, p.turn_id")


def newest_missed(reader: Reader, scope: Scope, window: Window) -> ShownHabits:
    """Of each habit the newest prompt that surely misses it, as did those before it in its sub-session."""
    query = f"SELECT rowid, standing_sure & ~standing_earned {_GRADED} ORDER BY at_us DESC"
    found = _first(reader.db.execute(query, bound(scope, window)))
    return _examples(reader, scope, window, found, "p.at_us DESC, p.turn_id DESC")


_GRADED = f"{COUNTED} AND own_score IS NOT NULL"


def _first(prompts: Iterable[tuple[int, int]]) -> dict[BooleanName, list[int]]:
    """Of each habit the first rows that have its bit."""
    found: dict[BooleanName, list[int]] = {name: [] for name in BOOLEANS}
    open_bits = mask(BOOLEANS)
    for row, bits in prompts:
        for name in unmask(bits & open_bits):
            found[name].append(row)
            if len(found[name]) == EXAMPLES_READ:
                open_bits &= ~mask((name,))
        if not open_bits:
            break
    return found


def _examples(
    reader: Reader, scope: Scope, window: Window, found: Mapping[BooleanName, Sequence[int]], order: str
) -> ShownHabits:
    """Of each habit the first prompt whose text is still there."""
    shown: dict[BooleanName, ShownHabit | None] = dict.fromkeys(found)
    for name, rows in found.items():
        page = bound(scope, window, rows=json_array(rows), limit=EXAMPLES_READ, offset=0)
        narrowed = "AND p.rowid IN (SELECT value FROM json_each(:rows))"
        for prompt, body in graded_bodies(reader, order, page, narrowed) if rows else ():
            if prompt.preview is not None:
                shown[name] = _shown(reader, name, prompt, body)
                break
    return shown


def _shown(reader: Reader, name: BooleanName, prompt: TopPrompt, body: PromptDetail) -> ShownHabit:
    whole = ShownHabit(prompt, prompt.preview or "", "", "", None)
    text = None if body.prompt is None else reader.texts([body.prompt])[body.prompt]
    if text is None or len(text) > MARKED_CHARACTERS_MAX:
        return whole
    if name not in body.rubric.earned:
        return msgspec.structs.replace(whole, advice=how_to_earn(name, text))
    evidence = rubric_evidence(text, body.rubric, 0).get(name)
    if evidence is None or evidence.span is None:
        return whole
    start, end = evidence.span.start, min(evidence.span.end, evidence.span.start + WORDS_CHARACTERS)
    before, after = text[max(0, start - AROUND_CHARACTERS) : start], text[end : end + AROUND_CHARACTERS]
    before = ("… " if start > AROUND_CHARACTERS else "") + before.lstrip()
    after = after.rstrip() + (" …" if end + AROUND_CHARACTERS < len(text) else "")
    return ShownHabit(prompt, before, text[start:end], after, None)


_DECIDED = (
    "SELECT sure, earned, count(*), sum(reached) FROM ("
    f"SELECT s.sure, s.earned, coalesce({CRUSHED}, 0) AS reached {owned()} AND {QUALIFIES} "
    "AND s.goal_complete IS NOT NULL ORDER BY s.started_us DESC LIMIT :most) GROUP BY sure, earned"
)


def decided_goals(reader: Reader, scope: Scope) -> Iterable[Decided]:
    """The decided goals of all time, by the habits that they surely show."""
    rows = reader.db.execute(_DECIDED, bound(scope, most=DECIDED_READ_MAX)).fetchall()
    return [
        Decided(frozenset(unmask(sure & earned)), frozenset(unmask(sure)), goals, reached)
        for sure, earned, goals, reached in rows
    ]
