"""Programs whose effect depends on their arguments: git, hosting tools, curl, editors, formatters."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pkgutil import get_data

import msgspec


class ShellReading(msgspec.Struct, frozen=True, array_like=True):
    """What a shell command is for; the flags of all its parts together."""

    mutating: bool = False
    check: bool = False
    """A test, build, lint or type check."""
    commit: bool = False
    pull_request: bool = False
    revert: bool = False
    """Takes earlier work back: git revert, checkout, restore, reset --hard, stash."""


READ = ShellReading()
CHANGE = ShellReading(mutating=True)
CHECK = ShellReading(check=True)
BUILD = ShellReading(mutating=True, check=True)
COMMIT = ShellReading(mutating=True, commit=True)
PULL_REQUEST = ShellReading(mutating=True, pull_request=True)
REVERT = ShellReading(mutating=True, revert=True)
Words = Sequence[str]
Reader = Callable[[Words], ShellReading]


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _table(lines: Mapping[str, str]) -> dict[str, frozenset[str]]:
    return {program: names(text) for programs, text in lines.items() for program in programs.split()}


def _with(options: str, *, then: ShellReading, otherwise: ShellReading) -> Reader:
    """Reads a program by whether any of these options is given."""
    return lambda rest: otherwise if names(options).isdisjoint(rest) else then


def _git(rest: Words) -> ShellReading:
    sub, args = _git_subcommand(rest)
    if sub in GIT_READS or not sub or "--help" in args:
        return READ
    special = _GIT.get(sub)
    return special(args) if special is not None else CHANGE


def _git_subcommand(rest: Words) -> tuple[str, Words]:
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    return (rest[at], rest[at + 1 :]) if at < len(rest) else ("", ())


def _git_checkout(args: Words) -> ShellReading:
    """Files come back with `--`, with `.`, or where a revision and a path stand side by side."""
    if any(word in ("-b", "-B", "--orphan", "-t", "--track", "--detach") for word in args):
        return CHANGE
    names = [word for word in args if not word.startswith("-")]
    return REVERT if "--" in args or "." in names or len(names) > 1 else CHANGE


def _git_restore(args: Words) -> ShellReading:
    only_index = any(word in ("--staged", "-S") for word in args)
    in_tree = any(word in ("--worktree", "-W") for word in args)
    return CHANGE if only_index and not in_tree else REVERT


def _git_stash(args: Words) -> ShellReading:
    sub = args[0] if args else "push"
    if sub in ("list", "show"):
        return READ
    return REVERT if sub in ("push", "save") or sub.startswith("-") else CHANGE


def _git_listing(args: Words) -> ShellReading:
    if not args or args[0] in GIT_LIST_ARGUMENTS or args[0].startswith(("--sort", "--format")):
        return READ
    return CHANGE


_GIT: dict[str, Reader] = {
    "commit": _with("--dry-run", then=READ, otherwise=COMMIT),
    "revert": lambda args: REVERT,
    "checkout": _git_checkout,
    "restore": _git_restore,
    "reset": _with("--hard --keep --merge", then=REVERT, otherwise=CHANGE),
    "stash": _git_stash,
    **dict.fromkeys(("branch", "tag", "remote", "worktree", "submodule", "config", "notes"), _git_listing),
}


def _hosting(rest: Words) -> ShellReading:
    """`gh`, `glab`, `hub`: pull and merge requests; otherwise by verb."""
    words = [word for word in rest if not word.startswith("-")]
    if words[:2] in (["pr", "create"], ["pr", "new"], ["mr", "create"]) or words[:1] == ["pull-request"]:
        return PULL_REQUEST
    if words[:1] == ["api"]:
        changes = {"-X", "--method", "-f", "-F", "--field", "--raw-field", "--input"}
        return CHANGE if changes.intersection(rest) else READ
    reads = {"view", "list", "status", "diff", "checks", "watch", "search", "browse", "ls"}
    return READ if reads.intersection(words[:2]) else CHANGE


_CURL_SENDS = ("--data", "--form", "--upload", "--json", "--remote-name")


def _curl(rest: Words) -> ShellReading:
    return CHANGE if any(_curl_changes(rest, at) for at in range(len(rest))) else READ


def _curl_changes(rest: Words, at: int) -> bool:
    """Whether this argument sends or writes a file; short options may be clustered, as in `-sSLo`."""
    word = rest[at]
    if not word.startswith("-"):
        return False
    value = rest[at + 1] if at + 1 < len(rest) else ""
    short = "" if word.startswith("--") else word[1:]
    if word == "--request" or short.endswith("X"):
        return value.upper() not in ("GET", "HEAD", "OPTIONS")
    if word == "--output" or short.endswith("o"):
        return value not in ("-", "/dev/null")
    return word.startswith(_CURL_SENDS) or short[:1] in ("d", "F", "T") or short.endswith("O")


def _in_place(rest: Words) -> ShellReading:
    short = any(re.fullmatch(r"-[nElrpws0]*i.*", word, re.DOTALL) for word in rest)
    return CHANGE if short or any(word.startswith(("--in-place", "--inplace")) for word in rest) else READ


def _perl(rest: Words) -> ShellReading:
    prints = any(re.fullmatch(r"-[la0]*[np]\w*", word) for word in rest)
    return _in_place(rest) if prints else CHANGE


def _awk(rest: Words) -> ShellReading:
    writes = any(re.search(r'>\s*"|system\s*\(|\|\s*"', word) for word in rest)
    return CHANGE if writes else READ


def _sort(rest: Words) -> ShellReading:
    return CHANGE if any(word.startswith(("-o", "--output")) for word in rest) else READ


def _tee(rest: Words) -> ShellReading:
    return READ if all(word.startswith(("-", "/dev/")) for word in rest) else CHANGE


def _source(rest: Words) -> ShellReading:
    """Entering an environment changes only the shell itself."""
    script = rest[0].rsplit("/", 1)[-1] if rest else ""
    return READ if script.startswith(("activate", "nvm.sh", ".bashrc", ".zshrc", ".profile")) else CHANGE


def _ruff(rest: Words) -> ShellReading:
    return formatter(rest) if rest[:1] == ["format"] else linter(rest)


def _rubocop(rest: Words) -> ShellReading:
    return BUILD if "-a" in rest or "-A" in rest else linter(rest)


def linter(rest: Words) -> ShellReading:
    """A test, linter or type check; one that is told to repair changes files too."""
    return BUILD if not REPAIRS.isdisjoint(rest) else CHECK


def formatter(rest: Words) -> ShellReading:
    """`black`, `prettier`, `gofmt`, `cargo fmt`: a check where told only to look, otherwise a change."""
    writes = "-w" in rest or "--write" in rest
    return CHECK if not writes and ONLY_LOOKS.intersection(rest) else CHANGE


SPECIAL: dict[str, Reader] = {
    "git": _git,
    **dict.fromkeys(("gh", "glab", "hub"), _hosting),
    "curl": _curl,
    "wget": _with("-O- -qO- --spider -", then=READ, otherwise=CHANGE),
    **dict.fromkeys(("sed", "gsed", "yq"), _in_place),
    "perl": _perl,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "sort": _sort,
    "tee": _tee,
    **dict.fromkeys(("black", "prettier", "gofmt", "goimports", "isort", "rustfmt", "shfmt"), formatter),
    **dict.fromkeys((".", "source"), _source),
    **dict.fromkeys(("fd", "fdfind"), _with("-x -X --exec --exec-batch", then=CHANGE, otherwise=READ)),
    **dict.fromkeys(("tsc", "vue-tsc"), _with("--noEmit", then=CHECK, otherwise=BUILD)),
    "ruff": _ruff,
    "rubocop": _rubocop,
    "cmake": _with("--build", then=BUILD, otherwise=CHANGE),
}

_PROGRAMS = tomllib.loads((get_data(__name__, "programs.toml") or b"").decode())
READS = names(_PROGRAMS["reads"])
CHECKS = names(_PROGRAMS["checks"])
RUNNERS = frozenset(_PROGRAMS["runners"])
SCRIPT_RUNNERS = names(_PROGRAMS["script_runners"])
CHECK_WORDS = names(_PROGRAMS["check_words"])
BUILD_WORDS = names(_PROGRAMS["build_words"])
ONLY_LOOKS = names(_PROGRAMS["only_looks"])
REPAIRS = names(_PROGRAMS["repairs"])
GIT_READS = names(_PROGRAMS["git_reads"])
GIT_LIST_ARGUMENTS = names(_PROGRAMS["git_list_arguments"])
SUBCOMMAND_READS = _table(_PROGRAMS["subcommand_reads"])
SUBCOMMAND_CHECKS = _table(_PROGRAMS["subcommand_checks"])
SUBCOMMAND_BUILDS = _table(_PROGRAMS["subcommand_builds"])
