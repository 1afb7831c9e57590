"""What an explanation is made from: the sub-session's rows, and the facts that its work was seen in."""

import re
import tomllib
from collections.abc import Callable, Iterable
from functools import cached_property
from pkgutil import get_data

import msgspec

from aggregates.ids import plain
from aggregates.judging.boundary import as_typed
from aggregates.judging.outcome import UNSURE_END, Floor
from aggregates.reading.verdicts import OutcomeVerdict, kind_of
from aggregates.turns.turn import Observation, Turn
from aggregates.turns.turns import PlacedObservation
from projections.derive.sessions import arcs_of, neighbour, response_ref
from projections.derive.sub_session_rows import PromptDetail
from projections.reader import Reader, TextRef, bodies, unpack
from projections.sub_sessions.rows import SubSessionRow, judged_turns

QUOTE_CHARS_MAX = 240
FORGOTTEN = "observed, and forgotten since"
SENTENCES = msgspec.convert(
    tomllib.loads((get_data(__name__, "sentences.toml") or b"").decode()), dict[str, dict[str, str]]
)


class EvidencePiece(msgspec.Struct, frozen=True, kw_only=True):
    what: str
    position: int | None  # the fact in which it stands; None where it is something that is not there
    quote: str | None
    """Its words: a prompt's, an answer's, a command's, a path. None where there are none, or none are left."""


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

    @cached_property
    def seen(self) -> list[PlacedObservation]:
        # Less what names another turn.
        query = (
            "SELECT o.at_us, o.record_id, o.position, o.body FROM observations o LEFT JOIN turns t "
            "ON t.agent_session_id = o.agent_session_id AND t.host_prompt_id = o.prompt_id "
            "WHERE o.agent_session_id = ? AND o.at_us BETWEEN ? AND ? AND o.superseded = 0 "
            "AND (t.turn_id IS NULL OR t.turn_id = ?) ORDER BY o.at_us, o.record_id"
        )
        spans = ((t.agent_session_id, t.started_us, t.last_activity_us, str(t.turn_id)) for t in self.turns)
        return [
            PlacedObservation(at_us, name, at, unpack(body, Observation))
            for span in spans
            for at_us, name, at, body in self.reader.db.execute(query, span)
        ]

    def work_piece(self, what: str, shows: Callable[[Observation], bool], position: int | None) -> EvidencePiece:
        """The last report within the turns that shows something, with its command or path; else `position`."""
        seen = next((each for each in reversed(self.seen) if shows(each.observation)), None)
        if seen is None:
            return EvidencePiece(what=what, position=position, quote=None)
        tool = seen.observation.tool
        if tool is not None and tool.path is not None:
            words = self.text(TextRef(seen.position, "words", tool.path))
        else:
            words = self.reader.command(seen.position, seen.record_id)
        return EvidencePiece(what=what, position=seen.position, quote=one_line(words))

    def prompt_piece(self, what: str, turn: Turn) -> EvidencePiece:
        """Evidence that is a prompt, of any turn of the developer's."""
        found = bodies(self.reader.db, PromptDetail, "SELECT body FROM prompts WHERE turn_id = ?", (str(turn.turn_id),))
        text = self.text(found[0].prompt if found else None)
        # What a run came to stands at its end.
        pasted = turn.prompt is not None and turn.prompt.shows("pastes a failure") and turn.prompt.shows("no own words")
        quote = last_line(text) if pasted and text is not None else one_line(text)
        return EvidencePiece(what=what, position=turn.position, quote=quote)

    def answer_piece(self, what: str, turn: Turn) -> EvidencePiece:
        text = self.text(response_ref(self.reader.db, turn))
        quote = None if text is None else last_line(text)
        return EvidencePiece(what=what, position=turn.response_position or turn.position, quote=quote)

    def text(self, ref: TextRef | None) -> str | None:
        """One text; None where it was not captured, or has been forgotten."""
        return None if ref is None else self.reader.texts((ref,))[ref]

    def not_observed(self) -> list[str]:
        """What the agent did that nobody reported, as far as it can be known."""
        turns = counted(len(self.turns), "turn")
        dark = sum(not turn.work.observed for turn in self.turns)
        tools = [each.observation.tool for each in self.seen if each.observation.tool is not None]
        edits = [tool for tool in tools if tool.effect == "edit"]
        # Of a blind call neither the command nor even its digest was told.
        shell = [tool for tool in tools if tool.effect == "shell" and tool.mutating and not tool.check]
        blind = sum(tool.input_digest is None for tool in shell)
        pathless = sum(tool.path is None for tool in edits)
        lineless = sum(not tool.lines_added + tool.lines_removed for tool in edits)
        return [
            f"{sentence}: not observed"
            for count, sentence in (
                (dark, f"what the agent did in {dark} of {turns}"),
                (blind, f"the commands of {counted(blind, 'shell call')}"),
                (pathless, f"the files of {counted(pathless, 'edit')}"),
                (lineless, f"the changed lines of {counted(lineless, 'edit')}"),
            )
            if count
        ]


def one_line(text: str | None) -> str | None:
    """So much of a text's beginning as is quoted, on one line; a word that is cut is left out."""
    if text is None:
        return None
    line = plain(" ".join(text.lstrip()[: 4 * QUOTE_CHARS_MAX].split()))
    if len(line) <= QUOTE_CHARS_MAX:
        return line
    head = line[:QUOTE_CHARS_MAX]
    return head if line[QUOTE_CHARS_MAX] == " " or " " not in head else head[: head.rfind(" ")]


_SENTENCE_START = re.compile(r"(?<=[.!?:]) (?=\S)")


def last_line(text: str) -> str:
    """So much of a text's end as is quoted, on one line: from the beginning of a sentence, else of a word."""
    line = plain(" ".join(text[-4 * QUOTE_CHARS_MAX :].split()))
    if len(line) <= QUOTE_CHARS_MAX and len(text) <= 4 * QUOTE_CHARS_MAX:
        return line
    tail = line[-QUOTE_CHARS_MAX:]
    begun = _SENTENCE_START.search(tail, 0, 2 * QUOTE_CHARS_MAX // 3)
    return tail[begun.end() if begun is not None else tail.find(" ") + 1 :]


def unquoted(piece: EvidencePiece, turn: Turn) -> list[str]:
    """Why a piece that is a turn's prompt quotes nothing; empty where it does."""
    if piece.quote is not None:
        return []
    return [f"the text of {piece.what}: {'not observed' if turn.prompt is None else FORGOTTEN}"]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def ascending(positions: Iterable[int | None]) -> list[int]:
    """Each once, without those that are none."""
    return sorted({position for position in positions if position is not None})


def verdict_of(row: SubSessionRow, letter_grade: str | None) -> str:
    """One sentence: what it was, whether its goal was reached and how sure that is, and its grade."""
    floor, verdict = row.detail.floor, row.detail.outcome
    if row.settled and not row.floor_passed:
        little = "Nobody can tell whether it counts as work" if floor.unseen else "Too little to count as work"
        return f"{little}. {why_trivia(floor)}"
    if row.intent is None:
        language = "it is written in a language that is not judged"
        why = language if row.detail.judge_reason else "nobody can tell what for"
        return f"Work that is not classified, since {why}; it counts nowhere."
    graded = f"; its prompts stand at {letter_grade}" if letter_grade is not None else ""
    silent = f", {counted(row.unsure_count, 'habit')} untold" if row.unsure_count else ""
    done = "reached its goal" if row.goal_complete else "did not reach its goal"
    rework = ", but only repairs earlier work" if row.goal_complete and row.rework else ""
    if not row.settled:
        reached = ", still open"
    elif row.goal_complete is None:
        why = undecided_because(verdict, row.turns)
        reached = f" of which nobody can tell whether its goal was reached: {why}"
    elif row.goal_complete != verdict.goal_complete:
        reached = f" that {done}, as you said"
    else:
        reached = f" that {done}, {verdict.confidence:.0%} sure{rework}"
    return f"{kind_of(row.intent).capitalize()}{reached}{graded}{silent}."


def why_trivia(floor: Floor) -> str:
    """What was missing; where the agent's work was not observed, nothing is said of it."""
    reason = ("told" if floor.told else "unseen") if floor.unseen else floor.reason or "too_few_turns"
    return SENTENCES["trivia"][reason]


def undecided_because(verdict: OutcomeVerdict, turns: int) -> str:
    """Why nobody can tell whether a sub-session of so many turns reached its goal."""
    told, against = SENTENCES["undecided"], [piece.what for piece in verdict.evidence_against]
    if against == [UNSURE_END]:
        return told["unsure_end"]
    if verdict.undecided == "unseen":
        return told["unseen"]
    if not verdict.evidence_for:
        return told["against" if against else "nothing"]
    later = "unchecked_later" if turns > 1 else "unchecked"
    return told[later if verdict.undecided == "unchecked" else "balanced"]
