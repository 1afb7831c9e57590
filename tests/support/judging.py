"""Turns and rubrics for the tests of the judges: as much as a test names, the rest plain."""

from uuid import UUID, uuid5

from aggregates.event import Digester, Span
from aggregates.reading.reading import read_prompt, read_response
from aggregates.reading.verdicts import BooleanName, Intent, Rubric, said_booleans
from aggregates.turns.turn import ANSWERED, FileWork, Opening, Turn, Work
from tests.support.stages import bare_turn

DIGESTER = Digester(b"tests")
_NAMESPACE = UUID("8c1a52d8-1f0c-5c0e-9f6f-3d1f8c0b2a11")


def turn(
    text: str | None = "Add a flag that prints the version",
    *,
    place: int = 1,
    answer: str | None = "Done. All tests pass.",
    marks: str = "",
    mutating: int = 0,
    tool_calls: int = 0,
    lines: int = 0,
    repeats: int = 0,
    files: tuple[str, ...] = (),
    changed: tuple[str, ...] = (),
    opening: Opening | None = None,
) -> Turn:
    """A turn; `marks` are followed by an answer where there is one."""
    turn_id = uuid5(_NAMESPACE, f"{place}:{text}")
    touched = {DIGESTER.number(path): 1 if path in changed else 0 for path in (*files, *changed)}
    work = Work(
        marks=marks,
        tool_calls=tool_calls or len(touched),
        mutating_calls=mutating,
        lines_added=lines,
        repeats_before_stop=repeats,
        files=tuple(FileWork(digest, 0, Span(0, 0), touched[digest], 0, 0) for digest in sorted(touched)),
        observed=bool(marks or tool_calls or touched),
    )
    return bare_turn(
        turn_id,
        place * 60_000_000,
        place,
        last_activity_us=place * 60_000_000 + 1,
        agent_us=place * 60_000_000 + 1,
        prompt=None if text is None else read_prompt(text, DIGESTER),
        response=None if answer is None else read_response(answer, DIGESTER),
        response_position=None if answer is None else place + 100,
        answered=answer is not None or ANSWERED in marks,
        work=work,
        opening=opening,
    )


def rubric(intent: Intent | None, *earned: BooleanName) -> Rubric:
    """An `ok` rubric, or an unclassified one without an intent."""
    return Rubric("unclassified") if intent is None else Rubric("ok", intent, 0.9, said_booleans(intent, earned))
