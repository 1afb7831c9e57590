"""What an explanation is made from: the sub-session's rows, the facts that its work was seen in, and fixed words."""

import re
from collections.abc import Iterable
from functools import cached_property
from pkgutil import get_data

import msgspec

from aggregates.ids import plain
from aggregates.judging.boundary import as_typed
from aggregates.judging.outcome import CORRECTED, NOT_WORKING, STATED_FAILURE
from aggregates.turns.turn import Turn
from aggregates.turns.turns import PlacedObservation
from projections.derive.sessions import arcs_of, neighbour, seen_in
from projections.derive.sub_session_rows import PromptDetail
from projections.reader import Reader, TextRef, bodies
from projections.sub_sessions.rows import SubSessionRow, judged_turns

QUOTE_CHARS_MAX = 240
_WEIGHED = {NOT_WORKING: "the user's words may tell of something wrong"}  # what decides nothing may be a question
FORGOTTEN = "observed, and forgotten since"
SENTENCES = msgspec.toml.decode(get_data(__name__, "sentences.toml") or b"", type=dict[str, dict[str, str]])
_SENTENCE_START = re.compile(r"(?<=[.!?:]) (?=\S)")


class EvidencePiece(msgspec.Struct, frozen=True, kw_only=True):
    what: str
    position: int | None  # the fact in which it stands; None where it is something that is not there
    quote: str | None  # its words: a prompt's, an answer's, a command's, a path; None where none are left


class ExplainedPart(msgspec.Struct, frozen=True, kw_only=True):
    text: list[str]
    not_observed: list[str]  # what could not be looked at; a rule over it did not fire
    positions: list[int]


class SubSessionEvidence:
    def __init__(self, reader: Reader, row: SubSessionRow) -> None:
        self.reader, self.row, self.arcs = reader, row, arcs_of(reader.db, row.sub_session_id)
        judged = list(judged_turns(reader.db, row.sub_session_id))
        self.turns = as_typed([each.turn for each in judged])
        self.prompts = [each._replace(turn=turn) for each, turn in zip(judged, self.turns, strict=True)]
        self.following = neighbour(reader.db, self.turns[-1], ">")
        self.around = [*self.turns, *([] if self.following is None else [self.following])]

    def next_goal(self) -> str | None:
        turn_id = None if self.following is None else str(self.following.turn_id)
        found = self.reader.db.execute("SELECT sub_session_id FROM prompts WHERE turn_id = ?", (turn_id,))
        return next((str(name) for (name,) in found), None)

    @cached_property
    def seen(self) -> list[PlacedObservation]:
        return [each for turn in self.turns for each in seen_in(self.reader.db, turn)]

    def work_piece(self, what: str, seen: PlacedObservation) -> EvidencePiece:
        tool = seen.observation.tool
        if tool is not None and tool.path is not None:
            words = self.text(TextRef(seen.position, "words", tool.path))
        else:
            words = self.command(seen.position, seen.record_id)
        return EvidencePiece(what=what, position=seen.position, quote=one_line(words))

    def prompt_piece(self, what: str, turn: Turn) -> EvidencePiece:
        """Evidence that is a prompt, of any turn of the developer's."""
        found = bodies(self.reader.db, PromptDetail, "SELECT body FROM prompts WHERE turn_id = ?", (str(turn.turn_id),))
        text = self.text(found[0].prompt if found else None)
        # What a run came to stands at its end.
        pasted = turn.prompt is not None and turn.prompt.shows("pastes a failure") and turn.prompt.shows("no own words")
        quote = last_line(text) if pasted else one_line(text)
        said = what if self.row.detail.outcome.evident else _WEIGHED.get(what, what)
        said = said.replace("the user", "the next prompt", 1) if turn is self.following else said
        return EvidencePiece(what=said, position=turn.position, quote=quote)

    def text(self, ref: TextRef | None) -> str | None:
        """One text; None where it was not captured, or has been forgotten."""
        return None if ref is None else self.reader.texts((ref,))[ref]

    def command(self, position: int, record_id: str) -> str | None:
        return self.reader.calls([(position, record_id)]).get((position, record_id), (None, None))[1]

    def answered_correction(self) -> list[str]:
        """A correction that is no evidence, since it was answered."""
        weighed = {each.what for each in self.row.detail.outcome.evidence_against} & {CORRECTED, NOT_WORKING}
        later = enumerate(self.turns[1:], 2)
        said_at = [number for number, turn in later if turn.prompt is not None and turn.prompt.corrects]
        return [said("weighed", "corrected", turn=said_at[-1])] if said_at and not weighed else []

    def not_observed(self) -> list[str]:
        """What the agent did that nobody reported, as far as it can be known."""
        dark = sum(not turn.work.observed for turn in self.turns)
        tools = [each.observation.tool for each in self.seen if each.observation.tool is not None]
        edits = [tool for tool in tools if tool.effect == "edit"]
        # Of a blind call neither the command nor even its digest was told.
        shell = [tool for tool in tools if tool.effect == "shell" and tool.mutating and not tool.check]
        blind = sum(tool.input_digest is None for tool in shell)
        pathless = sum(tool.path is None for tool in edits)
        lineless = sum(not tool.lines_added + tool.lines_removed for tool in edits)
        return missing(
            (dark, f"what the agent did in {dark} of {counted(len(self.turns), 'turn')}"),
            (blind, f"the commands of {counted(blind, 'shell call')}"),
            (pathless, f"the files of {counted(pathless, 'edit')}"),
            (lineless, f"the changed lines of {counted(lineless, 'edit')}"),
        )


def missing(*kinds: tuple[int, str], why: str = "not observed") -> list[str]:
    """What there is any of that could not be looked at."""
    return [f"{what}: {why}" for count, what in kinds if count]


def said(about: str, name: str, **figures: object) -> str:
    return SENTENCES[about][name].format(**figures)


def one_line(text: str | None) -> str | None:
    """So much of a text's beginning as is quoted, on one line; a word that is cut is left out."""
    if text is None:
        return None
    line = plain(" ".join(text.lstrip()[: 4 * QUOTE_CHARS_MAX].split()))
    if len(line) <= QUOTE_CHARS_MAX:
        return line
    head = line[:QUOTE_CHARS_MAX]
    return head if line[QUOTE_CHARS_MAX] == " " or " " not in head else head[: head.rfind(" ")]


def last_line(text: str | None) -> str | None:
    """So much of a text's end as is quoted, on one line: from the beginning of a sentence, else of a word."""
    if text is None:
        return None
    line = plain(" ".join(text[-4 * QUOTE_CHARS_MAX :].split()))
    if len(line) <= QUOTE_CHARS_MAX and len(text) <= 4 * QUOTE_CHARS_MAX:
        return line
    tail = line[-QUOTE_CHARS_MAX:]
    begun = _SENTENCE_START.search(tail, 0, 2 * QUOTE_CHARS_MAX // 3)
    return tail[begun.end() if begun is not None else tail.find(" ") + 1 :]


def saying(text: str | None, what: str) -> str | None:
    """Of an answer what tells of a failure, else all of it."""
    from aggregates.reading.statements import stated_failure  # late: its patterns take 30 ms to load

    failed = stated_failure(text or "") if what == STATED_FAILURE else None
    return text if failed is None or text is None else text[failed.said.start : failed.said.end].lstrip(" \t-•")


def unquoted(piece: EvidencePiece, turn: Turn) -> list[str]:
    """Why a piece that is a turn's prompt quotes nothing; empty where it does."""
    why = "not observed" if turn.prompt is None else FORGOTTEN
    return missing((piece.quote is None, f"the text of {piece.what}"), why=why)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def ascending(positions: Iterable[int | None]) -> list[int]:
    """Each once, without those that are none."""
    return sorted({position for position in positions if position is not None})
