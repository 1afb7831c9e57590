"""The words that a question to a text model is about, and what was observed in phrases of our own."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from aggregates.pasted import look
from aggregates.turn import (
    API_ERROR,
    CHANGE,
    CHECK_FAILED,
    CHECK_OK,
    COMMIT,
    INTERRUPTED,
    PULL_REQUEST,
    REJECTED,
    REVERT,
    Turn,
)
from projections.bodies import unpack
from projections.reader import Reader, TextRef
from projections.sub_session_rows import PromptBody
from projections.turn_texts import response_ref

CONTEXT_CHARACTERS_MAX = 600
EARLIER_MAX = 3
"""Of the prompts before the one that is judged."""

OBSERVED = {
    CHANGE: "a file was changed",
    CHECK_OK: "a check passed",
    CHECK_FAILED: "a check failed",
    COMMIT: "it was committed",
    PULL_REQUEST: "a pull request was opened",
    REVERT: "work was taken back",
    API_ERROR: "the agent ended on an API error",
    INTERRUPTED: "the developer interrupted the agent",
    REJECTED: "the developer refused a tool call",
}


class Spoken(msgspec.Struct, frozen=True):
    """A turn with its own words."""

    turn: Turn
    status: str
    """Of its rubric."""
    prompt: str | None
    """Without what was pasted, which never earns a grade."""
    response: str | None

    @property
    def asked(self) -> str | None:
        """So much of the prompt as is told where another one is judged."""
        return None if self.prompt is None else self.prompt[:CONTEXT_CHARACTERS_MAX]

    def told(self) -> Mapping[str, Any]:
        """The course of the turn. The end of an answer says more than its beginning."""
        return {
            "asked": self.asked,
            "answer_ended": None if self.response is None else self.response[-CONTEXT_CHARACTERS_MAX:],
            "observed": [OBSERVED[mark] for mark in self.turn.work.marks if mark in OBSERVED][-EARLIER_MAX * 4 :],
        }


def spoken(reader: Reader, turns: Sequence[Turn]) -> list[Spoken]:
    """These turns with their words, one read of the log for all."""
    bodies = [_body(reader.db, turn) for turn in turns]
    prompts = [None if body is None else body.prompt for body in bodies]
    answers = [response_ref(reader.db, turn) for turn in turns]
    texts = reader.texts([*prompts, *answers])
    return [
        Spoken(
            turn=turn,
            status="skipped" if body is None else body.rubric.status,
            prompt=_own(texts, prompt),
            response=_text(texts, answer),
        )
        for turn, body, prompt, answer in zip(turns, bodies, prompts, answers, strict=True)
    ]


def _body(db: sqlite3.Connection, turn: Turn) -> PromptBody | None:
    row = db.execute("SELECT body FROM prompts WHERE turn_id = ?", (str(turn.turn_id),)).fetchone()
    return None if row is None else unpack(row[0], PromptBody)


def _text(texts: Mapping[TextRef, str | None], ref: TextRef | None) -> str | None:
    return None if ref is None else texts[ref]


def _own(texts: Mapping[TextRef, str | None], ref: TextRef | None) -> str | None:
    text = _text(texts, ref)
    return None if text is None else look(text).own.strip()
