"""The projects of a developer: the folders that prompts were typed in, worktrees with the repository they belong to.

The path of a folder is a sealed word of the log, so it is read anew each time: what was forgotten has no name here.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

import msgspec

from aggregates.event import Scope, Span
from aggregates.ids import plain
from projections.reader import Reader, TextRef, bound, sql

FOLDERS_MAX = 1_000  # the ones heard of last: a name takes a look into the log
NAME_CHARACTERS_MAX = 80
NAMES_MAX = 64  # of a path, its last
NAMES_SHOWN_MAX = 4  # of a path, to tell two projects apart; after these their keys do
KEY_CHARACTERS = 12  # of a digest in hex
UNKNOWN = "unknown"  # asks for goals whose project nothing told
Path = tuple[str, ...]  # the names in it


class Project(msgspec.Struct, frozen=True):
    key: str  # names it in queries; any folder's of it is taken
    name: str  # the last name of its path, with those above it where two are alike


class Projects:
    """A developer's, by the digests of their folders."""

    def __init__(self, paths: Mapping[int, Path]) -> None:
        roots = rolled_up(paths)
        names = _names(set(roots.values()))
        members: defaultdict[Path, list[int]] = defaultdict(list)
        for folder, root in roots.items():
            members[root].append(folder)
        self._folders: dict[Project, list[int]] = {}
        for root, folders in members.items():
            own = [folder for folder in folders if paths[folder] == root]
            self._folders[Project(key_of(min(own or folders)), names[root])] = folders
        self.of = {folder: project for project, folders in self._folders.items() for folder in folders}

    def folders(self, asked: str) -> list[int]:
        """Of a project by its name or a key; none where there is no such project."""
        found: list[int] = []
        for project, folders in self._folders.items():
            if asked.casefold() in (project.name.casefold(), *map(key_of, folders)):
                found += folders
        return found

    def among(self, folders: Iterable[int | None]) -> list[Project]:
        """Each once, by name; `unknown` where nothing told it."""
        found = {self.of.get(folder or 0, Project(UNKNOWN, UNKNOWN)) for folder in folders}
        return sorted(found, key=lambda each: (each.name.casefold(), each.key))


def projects_of(reader: Reader, scope: Scope) -> Projects:
    places = {
        folder: TextRef(at, "cwd") if end is None else TextRef(at, "words", Span(start, end))
        for folder, at, start, end in reader.db.execute(sql("folders"), bound(scope, limit=FOLDERS_MAX))
    }
    texts = reader.texts(places.values())
    return Projects({folder: path for folder, ref in places.items() if (path := path_of(texts[ref]))})


def key_of(folder: int) -> str:
    return f"{folder:016x}"[:KEY_CHARACTERS]


def path_of(text: str | None) -> Path:
    """Its names, those of Windows too; none where it is not known."""
    names = (" ".join(name.split()) for name in re.split(r"[/\\]", plain(text or "")))
    return tuple(name for name in names if name not in ("", "."))[-NAMES_MAX:]


_AGENTS = (".claude", ".gemini", ".copilot", ".opencode", ".git", ".bare")
"""Folders in a repository that may hold its worktrees."""


def rolled_up(paths: Mapping[int, Path]) -> dict[int, Path]:
    """Each folder's project. A worktree that lies in a person's home belongs to the one project of its name."""
    found = {folder: root_of(path) for folder, path in paths.items()}
    roots = {root for root in found.values() if not _is_homeless(root)}
    named = Counter(root[-1] for root in roots)
    homes = {root[-1]: root for root in roots if named[root[-1]] == 1}
    return {folder: homes.get(root[-1], root) if _is_homeless(root) else root for folder, root in found.items()}


def root_of(path: Path) -> Path:
    """The repository of a worktree, as agents and people lay them down; any other folder is itself."""
    for at, name in enumerate(path[:-1]):
        before, after = path[:at], path[at + 1 :]
        if name == "worktrees" and before[-1:] == (".codex",):  # ~/.codex/worktrees/ID/REPOSITORY
            return (*before, name, after[1]) if len(after) > 1 else path
        if name == "worktrees" and before[-1:] == (".cursor",):  # ~/.cursor/worktrees/REPOSITORY/ID
            return (*before, name, after[0])
        if name == "worktrees" and before[-1:] and before[-1] in _AGENTS:
            before = before[:-1]
        if name in ("worktrees", ".worktrees", ".conductor") and before:
            return before
        stem = re.sub(r"[.-]worktrees\Z", "", name)  # REPOSITORY.worktrees/BRANCH
        if stem not in ("", name):
            return (*before, stem)
    return path


def _is_homeless(root: Path) -> bool:
    return len(root) > 2 and root[-2] == "worktrees" and root[-3] in (".codex", ".cursor")


def _names(roots: Collection[Path]) -> dict[Path, str]:
    """The last name of each, with as many above it as tell it from the others."""
    names: dict[Path, str] = {}
    left, length = set(roots), 1
    while left:
        told = Counter(tuple(name.casefold() for name in root[-length:]) for root in left)
        for root in sorted(left):
            own = tuple(name.casefold() for name in root[-length:])
            if told[own] == 1 or length >= min(len(root), NAMES_SHOWN_MAX):
                names[root] = _cut("/".join(root[-length:]))
        left, length = left - names.keys(), length + 1
    return names


def _cut(name: str) -> str:
    return name if len(name) <= NAME_CHARACTERS_MAX else f"{name[: NAME_CHARACTERS_MAX - 1]}…"
