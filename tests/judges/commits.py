"""Compare completion with commits for each developer.

This version's judges cut and judge the sub-sessions. A checkpoint is a commit of the agent's work: the data's best
sign that a goal was reached. A question has none.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table

from aggregates.judging.floor import substance
from aggregates.judging.prompt import judge_prompt
from aggregates.judging.rubric import standings, sub_session_intent
from aggregates.sub_sessions.arcs import cut_arcs
from aggregates.turns.turn import Turn
from tests.judges.judge import Item, judge_arc, read_lines, session_turns
from tests.judges.labels import as_labelled_turn
from tests.judges.measures import Share, correlation, number_text, share_text


class SubSessionSeen(msgspec.Struct, frozen=True):
    """One qualifying sub-session."""

    complete: bool
    checkpointed: bool  # A checkpoint was made between its start and the next one's
    scores: tuple[float, ...]  # standing scores of its prompts


class DeveloperRow(msgspec.Struct, frozen=True):
    """One developer's qualifying sub-sessions beside the commits that followed them."""

    developer: str
    complete: Share
    checkpointed: Share
    complete_of_checkpointed: Share
    apg: float | None
    prompts: int


class AgainstCommits(msgspec.Struct, frozen=True):
    """All developers, and how APG goes with completion over agent sessions."""

    developers: tuple[DeveloperRow, ...]
    sessions: int
    apg_with_completion: float | None  # pearson's r over agent sessions that have both
    apg_with_checkpoints: float | None
    interval: tuple[float, float] | None  # of the first, 95 %; None below four sessions


def against_commits(folder: Path) -> AgainstCommits:
    """Judge every session of FOLDER; nothing where the folder is not there."""
    by_developer: dict[str, list[SubSessionSeen]] = {}
    completion: list[tuple[float, float]] = []
    checkpoints: list[tuple[float, float]] = []
    for session, turns in _sessions(folder):
        seen = _seen(session, turns)
        by_developer.setdefault(str(session.get("developer")), []).extend(seen)
        scores = [score for each in seen for score in each.scores]
        if scores:
            apg = sum(scores) / len(scores)
            completion.append((apg, sum(each.complete for each in seen) / len(seen)))
            checkpoints.append((apg, sum(each.checkpointed for each in seen) / len(seen)))
    r = correlation(completion)
    return AgainstCommits(
        tuple(_row(name, seen) for name, seen in sorted(by_developer.items())),
        len(completion),
        r,
        correlation(checkpoints),
        None if r is None else fisher_interval(r, len(completion)),
    )


def _sessions(folder: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each session with its turns, those without turns left out."""
    if not (folder / "turns.jsonl").exists():
        return []
    by_session: dict[str, list[dict[str, Any]]] = {}
    for turn in read_lines(folder / "turns.jsonl"):
        by_session.setdefault(turn["session_id"], []).append(turn)
    sessions = read_lines(folder / "sessions.jsonl")
    return [(each, by_session[each["session_id"]]) for each in sessions if each["session_id"] in by_session]


def _row(name: str, seen: Sequence[SubSessionSeen]) -> DeveloperRow:
    committed = [each for each in seen if each.checkpointed]
    scores = [score for each in seen for score in each.scores]
    return DeveloperRow(
        name,
        Share(sum(each.complete for each in seen), len(seen)),
        Share(len(committed), len(seen)),
        Share(sum(each.complete for each in committed), len(committed)),
        sum(scores) / len(scores) if scores else None,
        len(scores),
    )


def _seen(session: Item, raw: Sequence[Item]) -> list[SubSessionSeen]:
    """The qualifying sub-sessions of one agent session."""
    turns = session_turns({"session": session["session_id"], "turns": [as_labelled_turn(turn) for turn in raw]})
    checkpoints = [{"prompt": "", "ts": each["created_at"]} for each in session["checkpoints"]]
    times = [turn.started_us for turn in session_turns({"turns": checkpoints})]
    found: list[SubSessionSeen] = []
    end = 0
    for arc in cut_arcs(turns, "start", None):
        start, end = end, end + len(arc.turn_ids)
        members = turns[start:end]
        verdict = judge_arc(turns, start, end)
        if verdict["intent"] is not None and substance(members, members).passed:
            end_us = turns[end].started_us if end < len(turns) else math.inf
            committed = any(members[0].started_us <= at <= end_us for at in times)
            found.append(SubSessionSeen(verdict["goal_complete"] is True, committed, _scores(members)))
    return found


def _scores(turns: Sequence[Turn]) -> tuple[float, ...]:
    rubrics = [judge_prompt(turn.prompt, turns[:place]) for place, turn in enumerate(turns)]
    intent = sub_session_intent(rubrics)
    return tuple(each.score for each in standings(rubrics, intent) if each.score is not None) if intent else ()


def fisher_interval(r: float, count: int) -> tuple[float, float] | None:
    """The 95 % interval of a correlation over `count` pairs; None below four, or of a perfect one."""
    if count < 4 or abs(r) >= 1:
        return None
    middle, half = math.atanh(r), 1.96 / math.sqrt(count - 3)
    return math.tanh(middle - half), math.tanh(middle + half)


def commits_table(measured: AgainstCommits) -> Table:
    """One line a developer; the correlations below."""
    table = Table(
        "developer",
        "completion rate",
        "share that ended in a checkpoint",
        "complete, of those with one",
        "APG (prompts)",
        title="Commits as ground truth, over qualifying sub-sessions",
    )
    for row in measured.developers:
        shares = [share_text(share) for share in (row.complete, row.checkpointed, row.complete_of_checkpointed)]
        table.add_row(row.developer, *shares, "" if row.apg is None else f"{row.apg:.1f} ({row.prompts})")
    low, high = measured.interval or (-1.0, 1.0)
    table.caption = (
        f"Over {measured.sessions} agent sessions: APG with completion r = {number_text(measured.apg_with_completion)} "
        f"({low:.2f} to {high:.2f}), APG with checkpoints r = {number_text(measured.apg_with_checkpoints)}"
    )
    return table
