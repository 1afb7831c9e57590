"""What an explanation is made from: the sub-session's rows, and the facts that its work was seen in."""

import sqlite3
from collections.abc import Callable, Iterable
from functools import cached_property

import msgspec

from aggregates.reading.verdicts import Intent
from aggregates.turns.turn import Observation, ToolUse, Turn
from aggregates.turns.turns import Seen
from projections.derive.sessions import arcs_of, response_ref
from projections.derive.sub_session_rows import PromptBody
from projections.explain.shapes import Piece
from projections.reader import Reader, TextRef, unpack
from projections.sub_sessions.shown import Row

QUOTE_CHARS_MAX = 240
FORGOTTEN = "observed, and forgotten since"


class Judged(msgspec.Struct, frozen=True):
    """What the rules and judges alone concluded, whatever people said."""

    intent: Intent | None
    rework_of: str | None


class Told:
    """One sub-session with everything that was told about it."""

    def __init__(self, reader: Reader, row: Row) -> None:
        self.reader = reader
        self.row = row
        self.prompts = _prompts(reader.db, row.sub_session_id)
        self.turns = [turn for turn, _, _ in self.prompts]
        self.arcs = arcs_of(reader.db, row.sub_session_id)

    @cached_property
    def judged(self) -> Judged:
        """Without anybody's corrections."""
        query = "SELECT judged_intent, judged_rework_of FROM sub_sessions WHERE sub_session_id = ?"
        return Judged(*self.reader.db.execute(query, (self.row.sub_session_id,)).fetchone())

    @cached_property
    def seen(self) -> list[Seen]:
        """What the agent reported within the turns, in time order."""
        return [each for turn in self.turns for each in _observed(self.reader.db, turn)]

    @cached_property
    def goal(self) -> Turn:
        """The turn whose prompt says what is wanted; where none does, the first with a prompt, else the first."""
        asking = [(turn, body.rubric.intent) for turn, body, _ in self.prompts if body.rubric.status == "ok"]
        named = [turn for turn, intent in asking if intent == self.row.intent]
        read = [turn for turn in self.turns if turn.prompt is not None]
        return [*named, *(turn for turn, _ in asking), *read, self.turns[0]][0]

    @cached_property
    def before(self) -> Turn | None:
        """The turn before the first one, in the same agent session."""
        return _neighbour(self.reader.db, self.turns[0], "<", "DESC")

    @cached_property
    def following(self) -> Turn | None:
        """The turn after the last one, in the same agent session."""
        return _neighbour(self.reader.db, self.turns[-1], ">", "ASC")

    def last_seen(self, shows: Callable[[Observation], bool]) -> Seen | None:
        """The last report within the turns that shows something."""
        return next((each for each in reversed(self.seen) if shows(each.observation)), None)

    def work_piece(self, what: str, shows: Callable[[Observation], bool], position: int | None) -> Piece:
        """Evidence from the agent's work: where it was reported, with the command or path; else at `position`."""
        seen = self.last_seen(shows)
        if seen is None:
            return Piece(what=what, position=position, quote=None)
        return Piece(what=what, position=seen.position, quote=self._work_words(seen))

    def _work_words(self, seen: Seen) -> str | None:
        tool = seen.observation.tool
        if tool is not None and tool.path is not None:
            return one_line(self.text(TextRef(seen.position, "words", tool.path)))
        return one_line(self.reader.command(seen.position, seen.record_id))

    def text(self, ref: TextRef | None) -> str | None:
        """One text; None where it was not captured, or has been forgotten."""
        return None if ref is None else self.reader.texts((ref,))[ref]

    def prompt_of(self, turn: Turn) -> str | None:
        """The whole prompt of any turn of the developer's."""
        query = "SELECT body FROM prompts WHERE turn_id = ?"
        row = self.reader.db.execute(query, (str(turn.turn_id),)).fetchone()
        return None if row is None else self.text(unpack(row[0], PromptBody).prompt)

    def prompt_piece(self, what: str, turn: Turn) -> Piece:
        """Evidence that is a prompt."""
        return Piece(what=what, position=turn.position, quote=one_line(self.prompt_of(turn)))

    def answer_piece(self, what: str, turn: Turn) -> Piece:
        """Evidence that is the end of an answer."""
        text = self.text(response_ref(self.reader.db, turn))
        quote = None if text is None else one_line(text[-QUOTE_CHARS_MAX:])
        return Piece(what=what, position=turn.response_position or turn.position, quote=quote)


def one_line(text: str | None) -> str | None:
    """So much of a text as is quoted, on one line."""
    return None if text is None else " ".join(text.lstrip()[: 4 * QUOTE_CHARS_MAX].split())[:QUOTE_CHARS_MAX]


def unquoted(piece: Piece, turn: Turn) -> list[str]:
    """Why a piece that is a turn's prompt quotes nothing; empty where it does."""
    if piece.quote is not None:
        return []
    return [f"the text of {piece.what}: {'not observed' if turn.prompt is None else FORGOTTEN}"]


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many}"


def ascending(positions: Iterable[int | None]) -> list[int]:
    """Each once, without those that are none."""
    return sorted({position for position in positions if position is not None})


def not_observed(told: Told) -> list[str]:
    """What the agent did that nobody reported, as far as it can be known."""
    turns = told.turns
    dark = sum(not turn.work.observed for turn in turns)
    tools = [each.observation.tool for each in told.seen if each.observation.tool is not None]
    blind = sum(_is_blind_shell(tool) for tool in tools)
    pathless = sum(tool.effect == "edit" and tool.path is None for tool in tools)
    lineless = sum(tool.effect == "edit" and not tool.lines_added + tool.lines_removed for tool in tools)
    return [
        sentence
        for count, sentence in (
            (dark, f"what the agent did in {dark} of {counted(len(turns), 'turn', 'turns')}: not observed"),
            (blind, f"the commands of {counted(blind, 'shell call', 'shell calls')}: not observed"),
            (pathless, f"the files of {counted(pathless, 'edit', 'edits')}: not observed"),
            (lineless, f"the changed lines of {counted(lineless, 'edit', 'edits')}: not observed"),
        )
        if count
    ]


def _is_blind_shell(tool: ToolUse) -> bool:
    """Neither the command nor even its digest was told."""
    return tool.effect == "shell" and tool.mutating and tool.input_digest is None and not tool.check


def _prompts(db: sqlite3.Connection, sub_session_id: str) -> list[tuple[Turn, PromptBody, float | None]]:
    query = (
        "SELECT t.body, p.body, p.standing_score FROM prompts p JOIN turns t ON t.turn_id = p.turn_id "
        "WHERE p.sub_session_id = ? ORDER BY p.at_us, p.turn_id"
    )
    rows = db.execute(query, (sub_session_id,))
    return [(unpack(turn, Turn), unpack(body, PromptBody), score) for turn, body, score in rows]


def _observed(db: sqlite3.Connection, turn: Turn) -> list[Seen]:
    """What was reported while a turn lasted, less what names another turn."""
    query = (
        "SELECT o.at_us, o.record_id, o.position, o.body FROM observations o LEFT JOIN turns t "
        "ON t.agent_session_id = o.agent_session_id AND t.host_prompt_id = o.prompt_id "
        "WHERE o.agent_session_id = ? AND o.at_us BETWEEN ? AND ? AND o.superseded = 0 "
        "AND (t.turn_id IS NULL OR t.turn_id = ?) ORDER BY o.at_us, o.record_id"
    )
    bound = (turn.agent_session_id, turn.started_us, turn.last_activity_us, str(turn.turn_id))
    return [Seen(at_us, name, at, unpack(body, Observation)) for at_us, name, at, body in db.execute(query, bound)]


def _neighbour(db: sqlite3.Connection, turn: Turn, side: str, order: str) -> Turn | None:
    query = (
        f"SELECT body FROM turns WHERE agent_session_id = ? AND (started_us, turn_id) {side} (?, ?) "
        f"ORDER BY started_us {order}, turn_id {order} LIMIT 1"
    )
    row = db.execute(query, (turn.agent_session_id, turn.started_us, str(turn.turn_id))).fetchone()
    return None if row is None else unpack(row[0], Turn)
