"""Projects: which folder belongs to which, and what they are called."""

from typing import Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from aggregates.capture.events import PromptCaptured
from aggregates.event import Words
from aggregates.times import Window
from projections.cost import CostQuery, cost
from projections.sub_sessions.goals import Wanted, goals
from projections.sub_sessions.projects import NAME_CHARACTERS_MAX, Projects, key_of, path_of, root_of
from tests.support.facts import ANA, BEN, DAY, DIGESTER, HOUR, MONDAY, Log, Placed, project, reader
from tests.support.tables import beside, each_of

ALWAYS = Window(0, 2**62)


@beside()
def test_a_worktree_belongs_to_its_repository(folder: str, root: str) -> None:
    assert root_of(path_of(folder)) == path_of(root)


@each_of(
    [
        (["/a/shop", "/a/site"], ["shop", "site"]),
        (["/a/shop", "/b/shop"], ["a/shop", "b/shop"]),
        (["/a/x/shop", "/b/x/shop", "/c/y/shop"], ["a/x/shop", "b/x/shop", "y/shop"]),
        (["/a/Shop", "/b/shop"], ["a/Shop", "b/shop"]),
        (["/a/shop", "/a/shop/.claude/worktrees/x"], ["shop", "shop"]),
        (["/h/.codex/worktrees/1a/shop", "/h/code/shop"], ["shop", "shop"]),
        (["/h/.codex/worktrees/1a/shop", "/h/a/shop", "/h/b/shop"], ["worktrees/shop", "a/shop", "b/shop"]),
        (["/a/<b>x</b>"], ["b>"]),
        (["/a/\u202eshop\x1b[31m\nx"], ["shop[31m x"]),
        (["/a/" + "x" * 100_000], ["x" * (NAME_CHARACTERS_MAX - 1) + "…"]),
        (["/" + "a/" * 16_000 + "shop", "/" + "b/" * 16_000 + "shop"], ["a/shop", "b/shop"]),
    ]
)
def test_two_of_one_name_are_told_apart_by_what_is_above_them(folders: list[str], names: list[str]) -> None:
    found = Projects({number: path_of(folder) for number, folder in enumerate(folders, 1)})
    assert [found.of[number].name for number in range(1, len(folders) + 1)] == names


def test_a_project_is_asked_for_by_its_name_or_by_the_key_of_any_folder_of_it() -> None:
    found = Projects(
        {1 << 60: path_of("/a/shop"), 3 << 60: path_of("/a/shop/.worktrees/x"), 5 << 60: path_of("/a/site")}
    )
    assert found.of[1 << 60] == found.of[3 << 60]
    for asked in ("shop", "SHOP", key_of(1 << 60), key_of(3 << 60)):
        assert found.folders(asked) == [1 << 60, 3 << 60]
    assert [found.folders(asked) for asked in ("sho", "", ".*", "a/shop")] == [[], [], [], []]


def told() -> list[Placed]:
    """Two goals of one project, one of another, one of which nothing was told."""
    log = Log()
    for number, folder in enumerate(("/a/shop", "/a/shop/.claude/worktrees/x", "/a/site", None)):
        known: dict[str, Any] = {} if folder is None else {"cwd": Words(folder), "cwd_digest": DIGESTER.number(folder)}
        log.prompt(f"s{number}", "Where is the parser called?", MONDAY + number * HOUR, **known)
    return log.facts


def test_goals_bear_their_project_and_what_nothing_told_is_unknown() -> None:
    facts = told()
    views = reader(project(facts), facts)
    every = goals(views, ANA, Wanted(window=ALWAYS, ascending=True), 50)
    assert [each.project and each.project.name for each in every.goals] == ["shop", "shop", "site", None]
    assert [each.name for each in every.projects] == ["shop", "site", "unknown"]
    assert goals(views, ANA, Wanted(window=Window(0, MONDAY + 3 * HOUR)), 50).projects == every.projects[:2]
    for asked, count in (("shop", 2), (every.projects[1].key, 1), ("unknown", 1), ("<script>", 0), ("sho", 0)):
        found = goals(views, ANA, Wanted(window=ALWAYS, project=asked), 50)
        assert (found.begun, len(found.goals)) == (count, count)
    assert goals(views, BEN, Wanted(window=ALWAYS, project="shop"), 50).begun == 0


def test_telemetry_tells_the_folder_of_a_prompt_as_captures_do() -> None:
    log = Log()
    log.records("t", {"kind": "prompt", "at_us": MONDAY, "text": "Where is it?", "path": "/a/shop"})
    facts = log.claim("t").facts
    (goal,) = goals(reader(project(facts), facts), ANA, Wanted(window=ALWAYS), 50).goals
    assert goal.project is not None
    assert goal.project.name == "shop"


def test_a_path_that_was_forgotten_names_nothing() -> None:
    facts = told()
    kept = project(facts)
    gone = [
        Placed(
            each.position,
            replace(each.event, cwd=Words(None)) if isinstance(each.event, PromptCaptured) else each.event,
        )
        for each in facts
    ]
    every = goals(reader(kept, gone), ANA, Wanted(window=ALWAYS), 50)
    assert ({each.project for each in every.goals}, [each.key for each in every.projects]) == ({None}, ["unknown"])
    assert goals(reader(kept, gone), ANA, Wanted(window=ALWAYS, project="unknown"), 50).begun == 4


def test_cost_by_project_has_a_group_for_what_nothing_told() -> None:
    facts = told()
    found = cost(reader(project(facts), facts), ANA, CostQuery(Window(0, MONDAY + DAY), "project", ZoneInfo("UTC")))
    assert {each.name: each.goals for each in found.groups} == {"shop": 2, "site": 1, None: 1}
    assert sum(each.goals or 0 for each in found.groups) == found.total.goals
