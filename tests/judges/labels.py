"""Data to train and measure the judges. Experts labelled `labels/*.jsonl` of the data folder; readers marked more of
it, by digests: `prompt_marks.txt`, `session_marks.txt`. `prompts/` and `sessions/` were written for training. Only
labels measure, and only on developers whom a judge has not seen: `FOLDS`, and the `LOCK_BOX`, unseen by any choice."""

from collections.abc import Mapping
from hashlib import blake2b, sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from aggregates.reading.verdicts import BOOLEANS, INTENTS, BooleanName, Intent, applicable
from aggregates.turns.turn import Turn
from tests.judges.judge import Item, read_lines, session_turns

UNNAMED = "unnamed"  # the developer of a session of whom the data do not tell
LOCK_BOX = frozenset({"c014", "xc049", "c029", "c033", "c037"})
"""Developers of whom nothing is learned, judged once, at the end. Named before anything was measured: those with the
smallest SHA-256 of "lock box " and their id, until they had 300 prompts, 50 sessions and 40 boundaries."""
FOLDS = 10
_DEALT_BY_HAND = {"c045": 5, "xc013": 3, UNNAMED: 1}
"""The fifth part would be empty. The second is of the same project as c013, the third most likely dev11."""
WRITTEN = "written:"  # how the names of written sessions begin
INTENT_LETTERS: dict[str, Intent] = dict(zip("qirpsbfx", INTENTS, strict=True))
_BOOLEAN_LETTERS: dict[str, BooleanName] = dict(zip("gsrcvkp", BOOLEANS, strict=True))
_FOLDER = Path(__file__).parent


_MARKS = (_FOLDER / "prompt_marks.txt").read_text(encoding="utf-8").split()
PROMPT_MARKS: dict[str, str] = dict(zip(_MARKS[::2], _MARKS[1::2], strict=True))
"""A digest of "session:turn" → a letter of `INTENT_LETTERS`, then those of the booleans that hold; by three readers."""


class ArcLabel(msgspec.Struct, frozen=True):
    """What the experts said of one goal arc; turns are numbered from 1, both ends included."""

    start: int
    end: int
    intent: Intent | None
    goal_complete: bool | None
    confidence: float | None = None


class SessionItem(msgspec.Struct, frozen=True):
    """One agent session."""

    session: str
    turns: tuple[Turn, ...]
    arcs: tuple[ArcLabel, ...] | None  # none without a label
    developer: str = UNNAMED


# Labelled


def fold_of(developer: str) -> int:
    """The part, from 0, in which a developer is judged by judges that have seen none of that part."""
    dealt = int.from_bytes(sha256(f"fold {developer}".encode()).digest(), "big") % FOLDS
    return _DEALT_BY_HAND.get(developer, dealt)


def developers_of(data_dir: Path) -> dict[str, str]:
    """Agent session → its developer, as far as `*/turns.jsonl` tells."""
    turns = (turn for path in sorted(data_dir.glob("*/turns.jsonl")) for turn in read_lines(path))
    return {str(turn.get("session_id")): str(turn.get("developer") or UNNAMED) for turn in turns}


def developer_of(name: str, developers: Mapping[str, str]) -> str:
    """Whose an item or a session is: the beginning of its name, or, after a source's letter, by its session."""
    source, _, rest = name.partition(":")
    return developers.get(rest.partition(":")[0], UNNAMED) if source in ("s", "e") else source


def labelled_items(data_dir: Path, kind: str, *, locked: bool = False) -> list[Item]:
    """The labelled items of a kind, `prompts` or `sessions`, each with its `developer`: those outside the lock box, or
    only those in it."""
    developers = developers_of(data_dir)
    items: list[Item] = []
    for path in sorted((data_dir / "labels").glob(f"{kind}*.jsonl")):
        for item in read_lines(path):
            developer = developer_of(str(item.get("id") or item.get("session")), developers)
            items += [{**item, "developer": developer}] if (developer in LOCK_BOX) is locked else []
    return items


def labelled_sessions(data_dir: Path, *, locked: bool = False) -> list[SessionItem]:
    """The items of the labelled sessions that have arcs."""
    items = [session_item(item) for item in labelled_items(data_dir, "sessions", locked=locked)]
    return [item for item in items if item.arcs is not None]


def session_item(item: Item) -> SessionItem:
    arcs = msgspec.convert(item.get("arcs"), tuple[ArcLabel, ...] | None)
    name, developer = str(item.get("session", "")), str(item.get("developer", UNNAMED))
    return SessionItem(name, tuple(session_turns(item)), arcs, developer)


# Marked by readers


def marked_prompts(data_dir: Path) -> list[tuple[str, str, Item]]:
    """Session, mark and item of the prompts that `PROMPT_MARKS` knows, each with the turn before it."""
    found: list[tuple[str, str, Item]] = []
    for path in sorted(data_dir.glob("*/turns.jsonl")):
        before: dict[str, Item] = {}
        for turn in read_lines(path):
            session = str(turn.get("session_id"))
            mark = PROMPT_MARKS.get(mark_of(session, int(turn["turn"])))
            if mark is not None:
                earlier = [as_labelled_turn(before[session])] if session in before else []
                found.append((session, mark, {**as_labelled_turn(turn), "earlier_turns": earlier}))
            before[session] = turn
    return found


def mark_of(session: str, turn: int) -> str:
    """How `PROMPT_MARKS` names a prompt."""
    return blake2b(f"{session}:{turn}".encode(), digest_size=5).hexdigest()


def as_labelled_turn(turn: Item) -> Item:
    """A turn of `turns.jsonl` in the shape of a labelled session's turn."""
    shared = {name: turn.get(name) for name in ("ts", "kind", "prompt", "interrupted", "api_error")}
    tools = []
    for tool in turn.get("tools") or []:
        failed = "[FAILED]" if tool.get("ok") is False else ""
        tools.append(" ".join(filter(None, (tool["name"], tool.get("command") or tool.get("path"), failed))))
    return {**shared, "tools": tools, "response_end": (turn.get("response_text") or "")[-500:]}


# Written for training


class Example(NamedTuple):
    """A prompt that was written for training."""

    text: str
    intent: Intent
    booleans: dict[BooleanName, bool]  # those that apply to the intent
    follows: bool  # whether it follows an answer; else it is the first of its session


def examples() -> list[Example]:
    """All of them, a file of `prompts/` for each intent. A line is the letters of the booleans that are true, `|`, and
    the prompt, with `\\n` for a new line: g goal_explicit, s scope_bounded, r references_concrete, c
    context_sufficient, v verification_requested, k root_cause_oriented, p plan_first. `+`: it follows an answer."""
    found = []
    for intent in INTENTS:
        for line in (_FOLDER / "prompts" / f"{intent}.txt").read_text(encoding="utf-8").splitlines():
            letters, text = line.split("|", 1)
            booleans = lettered(letters.removeprefix("+"), intent)
            found.append(Example(text.replace("\\n", "\n"), intent, booleans, letters.startswith("+")))
    return found


def lettered(letters: str, intent: Intent) -> dict[BooleanName, bool]:
    """The booleans that apply to the intent: true are those whose letters are there."""
    true = {_BOOLEAN_LETTERS[letter] for letter in letters}
    return {name: name in true for name in applicable(intent)}
