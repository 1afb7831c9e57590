"""Measure the titles of sub-sessions: `python -m tests.judges.titles DATA_DIR`. A title is right where its prompt lies
in the experts' arc that has most of the turns, and where it says what was worked on (g in `title_marks.txt`; b not)."""

from hashlib import blake2b, sha256
from pathlib import Path

import click
import msgspec

from aggregates.ids import plain
from aggregates.judging.boundary import as_typed
from aggregates.reading.prompt_text import TITLE_CHARS_MAX
from aggregates.sub_sessions.arcs import cut_arcs
from aggregates.sub_sessions.sub_session import conclude
from tests.judges.judge import Item, session_turns
from tests.judges.labels import ArcLabel, labelled_items
from tests.judges.measures import Share, share_text

SESSIONS = 100  # so many are read: those with the smallest SHA-256 of "title " and their name
MARKS = {
    name: mark
    for name, mark in map(str.split, (Path(__file__).parent / "title_marks.txt").read_text("utf-8").splitlines())
}


class Title(msgspec.Struct, frozen=True):
    """The title of one sub-session as the judges cut it."""

    session: str
    start: int
    end: int  # its turns, from 1, both included
    goal: int  # the turn whose prompt it comes from
    text: str
    in_right_arc: bool

    @property
    def name(self) -> str:
        """How `MARKS` knows it."""
        return blake2b(f"{self.session}:{self.start}:{self.text}".encode(), digest_size=5).hexdigest()


def titles(data_dir: Path) -> list[Title]:
    """Of every sub-session of the sessions that are read, in their order."""
    items = [item for item in labelled_items(data_dir, "sessions") if item.get("arcs")]
    chosen = sorted(items, key=lambda item: sha256(f"title {item['session']}".encode()).digest())[:SESSIONS]
    return [title for item in chosen for title in titles_of(item)]


def titles_of(item: Item) -> list[Title]:
    turns, found, start = session_turns(item), [], 0
    experts = msgspec.convert(item["arcs"], tuple[ArcLabel, ...])
    for arc in cut_arcs(turns, "start", None):
        end = start + len(arc.turn_ids)
        members = turns[start:end]
        typed = [turn.prompt for turn in as_typed(members)]
        speaking = [place for place, each in enumerate(typed) if each is not None and each.navigational is None]
        found_goal = conclude([arc], members, turns[end] if end < len(turns) else None).goal
        goal = start + (next(iter(speaking), 0) if found_goal is None else members.index(found_goal))
        prompt, said = turns[goal].prompt, str(item["turns"][goal]["prompt"])
        words = "" if prompt is None else plain(" ".join(said[prompt.title.start : prompt.title.end].split()))
        right = max(experts, key=lambda each: min(each.end, end) - max(each.start, start + 1))
        within = right.start <= goal + 1 <= right.end
        found.append(Title(str(item["session"]), start + 1, end, goal + 1, words[:TITLE_CHARS_MAX], within))
        start = end
    return found


@click.command()
@click.argument("data_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(data_dir: Path) -> None:
    """Measure the titles on the labelled sessions of DATA_DIR."""
    found = titles(data_dir)
    unread = [title for title in found if title.name not in MARKS]
    prompts = {str(item["session"]): item["turns"] for item in labelled_items(data_dir, "sessions")}
    for title in unread:
        click.echo(f"{title.name} {title.text}{'' if title.in_right_arc else '  IN ANOTHER ARC'}")
        for place in range(title.start, title.end + 1):
            said = " ".join(str(prompts[title.session][place - 1]["prompt"])[:400].split())[:150]
            click.echo(f"    {'>' if place == title.goal else ' '}{place} {said}")
    told = [title for title in found if MARKS.get(title.name) != "n"]
    placed = Share(sum(title.in_right_arc for title in told), len(told))
    good = [title for title in told if title.in_right_arc and MARKS.get(title.name) == "g"]
    click.echo(f"the title's prompt lies in the right arc: {share_text(placed)}")
    click.echo(f"and it says what was worked on: {share_text(Share(len(good), len(told)))}; {len(unread)} not read yet")


if __name__ == "__main__":
    main()
