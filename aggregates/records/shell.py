"""Reading a shell command: does it change something, check something, commit, open a pull request, revert?

Nothing is run or expanded. In doubt a command is taken to change something.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import chain
from pkgutil import get_data

import msgspec

from aggregates.reading.checks import check_names
from aggregates.records.shell_words import SimpleCommand, simple_commands

_PROGRAMS = msgspec.toml.decode(get_data(__name__, "programs.toml") or b"")
_RUNNERS = frozenset(_PROGRAMS["runners"])
_NAMES = {key: frozenset(names.split()) for key, names in _PROGRAMS.items() if isinstance(names, str)}
_PROMISING = _NAMES["check_words"] | _NAMES["build_words"]
_SUBCOMMANDS = {
    effect: {program: frozenset(names.split()) for programs, names in lines.items() for program in programs.split()}
    for effect, lines in _PROGRAMS["subcommands"].items()
}
COMMAND_CHARACTERS_MAX = 8192
_NESTING_MAX = 4
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_DURATION = re.compile(r"[\d.]+[smhd]?")
_INTERPRETERS = frozenset({"bun", "deno", "node", "perl", "php", "pwsh", "ruby", "tsx"})
_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")  # of a script's name


class ShellReading(msgspec.Struct, frozen=True, array_like=True):
    mutating: bool = False
    check: bool = False  # a test, build, lint or type check
    commit: bool = False
    pull_request: bool = False
    revert: bool = False  # takes earlier work back: git revert, checkout, restore, reset --hard, stash
    reverted: tuple[str, ...] = ()  # what it takes back, as named; none where that is whatever there is


_READINGS = {
    "read": (READ := ShellReading()),
    "change": (CHANGE := ShellReading(mutating=True)),
    "check": (CHECK := ShellReading(check=True)),
    "build": (BUILD := ShellReading(mutating=True, check=True)),
    "commit": ShellReading(mutating=True, commit=True),
    "pull_request": ShellReading(mutating=True, pull_request=True),
    "revert": (REVERT := ShellReading(mutating=True, revert=True)),
}
Words = Sequence[str]
Reader = Callable[[Words], ShellReading]


def _rules(table: str) -> dict[str, Reader]:
    """Readers of programs by their arguments: the first case counts whose pattern these hold, one on each line."""
    readers: dict[str, Reader] = {}
    for names, cases in _PROGRAMS[table].items():
        tried = [(re.compile(pattern, re.MULTILINE), _READINGS[then]) for pattern, then in cases.items()]
        readers |= dict.fromkeys(names.split(), partial(_first_case, tried))
    return readers


def _first_case(tried: Sequence[tuple[re.Pattern[str], ShellReading]], rest: Words) -> ShellReading:
    lines = "\n".join(word.replace("\n", " ") for word in rest)
    return next(reading for pattern, reading in tried if pattern.search(lines))


def _git(rest: Words) -> ShellReading:
    sub, *args = _without_options(rest, "-C", "-c", "--git-dir", "--work-tree") or ("",)
    if sub in _NAMES["git_reads"] or not sub or "--help" in args:
        return READ
    special = _GIT.get(sub)
    return special(args) if special is not None else CHANGE


def _git_checkout(args: Words) -> ShellReading:
    """Files come back with `--`, with `.`, or where a revision and a path stand side by side."""
    if not _NAMES["git_branching"].isdisjoint(args):
        return CHANGE
    named = [word for word in args if not word.startswith("-")]
    paths = list(args[args.index("--") + 1 :]) if "--" in args else named if "." in named else named[1:]
    return _taking_back(paths) if "--" in args or paths else CHANGE


def _taking_back(paths: Words) -> ShellReading:
    """A pattern stands for the folder that it lies in, and the folder itself for all of it."""
    folders = [re.split(r"(?:^|/)[^/]*[*?\[]", path)[0] for path in paths]
    whole = not folders or any(path in ("", ".", "./", ":/") or path.startswith(":") for path in folders)
    return REVERT if whole else msgspec.structs.replace(REVERT, reverted=tuple(folders))


def _git_restore(args: Words) -> ShellReading:
    if not {"--staged", "-S"}.isdisjoint(args) and {"--worktree", "-W"}.isdisjoint(args):
        return CHANGE  # of the index alone
    values = [args[at + 1] for at, word in enumerate(args[:-1]) if word in ("-s", "--source")]
    return _taking_back([word for word in args if not word.startswith("-") and word not in values])


def _git_stash(args: Words) -> ShellReading:
    sub = args[0] if args else "push"
    if sub in ("list", "show"):
        return READ
    if sub not in ("push", "save") and not sub.startswith("-"):
        return CHANGE
    return _taking_back(args[args.index("--") + 1 :]) if "--" in args else REVERT


_GIT: dict[str, Reader] = {
    **_rules("git_arguments"),
    "checkout": _git_checkout,
    "restore": _git_restore,
    "stash": _git_stash,
}


_LINTER, _FORMATTER = map(_rules("kinds").__getitem__, ("linter", "formatter"))
_SPECIAL: dict[str, Reader] = {
    **dict.fromkeys(_NAMES["reads"], lambda _: READ),
    **dict.fromkeys(_NAMES["checks"], _LINTER),
    **_rules("arguments"),
    "git": _git,
    **dict.fromkeys(_NAMES["formatters"], _FORMATTER),
    "ruff": lambda rest: _FORMATTER(rest) if rest[:1] == ["format"] else _LINTER(rest),
}


def read_command(command: str) -> ShellReading:
    """What a shell command line does, all its parts together. Linear in its length; never raises."""
    return _read_text(command[:COMMAND_CHARACTERS_MAX], 0)


# Agents run the same checks again and again, and a reading takes 67 µs of the 100 that a record may take.
@lru_cache(maxsize=2_048)
def _read_text(text: str, depth: int) -> ShellReading:
    if depth > _NESTING_MAX:
        return CHANGE
    commands = simple_commands(text)
    reading = _together([_read_simple(each, depth) for each in commands])
    if not reading.revert:
        return reading
    # `git stash; …; git stash pop` takes nothing back.
    stashes = [each.words[2:3] for each in commands if each.words[:2] == ["git", "stash"]]
    others = [each for each in commands if each.words[:2] != ["git", "stash"]]
    pops = ["pop"] in stashes or ["apply"] in stashes
    back = _together([_read_simple(each, _NESTING_MAX) for each in others]) if pops else reading
    return msgspec.structs.replace(reading, revert=back.revert, reverted=back.reverted)


_SCRIPT = re.compile(r"[\w.-]+\.(?:sh|bash|bat|cmd|js|mjs|php|pl|ps1|py|rb|ts)")


@lru_cache(maxsize=2_048)
def checks_run(command: str, depth: int = 0) -> tuple[str, ...]:
    """The names of what the commands of a line check, or may be called: `sh fail.sh` → `fail.sh`."""
    found: list[str] = []
    for each in simple_commands(command[:COMMAND_CHARACTERS_MAX]):
        words = _without_prefixes(each.words)
        if len(words) > 2 and words[1] in ("-c", "-lc", "-ic"):
            found += checks_run(words[2], depth + 1) if depth < _NESTING_MAX else ()
        elif words and words[1:2] != ["-n"] and _program(words[0]) not in _NAMES["reads"] | {"git"}:
            found += check_names(words, run=True, check=_read_words(words, depth).check)
    return tuple(dict.fromkeys(found))


def _read_simple(command: SimpleCommand, depth: int) -> ShellReading:
    reading = _read_words(command.words, depth)
    return _together([reading, CHANGE]) if command.writes_file else reading


def _together(readings: Sequence[ShellReading]) -> ShellReading:
    taking = [each.reverted for each in readings if each.revert]
    return ShellReading(
        mutating=any(each.mutating for each in readings),
        check=any(each.check for each in readings),
        commit=any(each.commit for each in readings),
        pull_request=any(each.pull_request for each in readings),
        revert=bool(taking),
        reverted=tuple(chain.from_iterable(taking)) if all(taking) else (),
    )


def _read_words(words: Words, depth: int) -> ShellReading:
    words = _without_prefixes(words)
    if not words:
        return READ
    name, rest = _program(words[0]), words[1:]
    if len(rest) == 1 and rest[0] in _NAMES["help"]:
        return READ
    special = _SPECIAL.get(name)
    if special is not None:
        return special(rest)
    inner = _inner(name, rest, depth + 1) if depth < _NESTING_MAX else None
    return _by_tables(name, rest) if inner is None else inner


def _without_prefixes(words: Words) -> Words:
    """What really runs: without assignments, `sudo`, `timeout 5`, `if` and the like before it."""
    while words:
        first = words[0]
        if _ASSIGNMENT.match(first) or first in _NAMES["keywords"]:
            words = words[1:]
        elif first in ("for", "select"):
            return ()
        elif first in _NAMES["prefixes"]:
            words = _without_options(words[1:])
        elif first in ("timeout", "gtimeout"):
            words = _without_options(words[1:])
            words = words[1:] if words and _DURATION.fullmatch(words[0]) else words
        elif first in _NAMES["containers"] and (within := _within_a_container(words)):
            words = within
        else:
            break
    return words


def _within_a_container(words: Words) -> Words:
    """What `docker compose exec app` and the like run; none where that is not seen."""
    at = next((at for at, word in enumerate(words[:3]) if word in ("exec", "run")), None)
    return () if at is None else _without_options(words[at + 1 :], *_NAMES["container_values"])[1:]


def _without_options(words: Words, *with_value: str) -> Words:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in with_value else 1
    return words[at:]


def _program(word: str) -> str:
    return word.rsplit("/", 1)[-1].removesuffix(".exe")


def _inner(name: str, rest: Words, depth: int) -> ShellReading | None:
    """The reading of the command that this one runs; None where it runs none that can be seen."""
    if name in _NAMES["shells"]:
        if len(rest) > 1 and rest[0] in ("-c", "-lc", "-ic"):
            return _read_text(rest[1], depth)
        return CHECK if rest[:1] == ["-n"] else _script_file(_without_options(rest))  # -n: only its syntax
    if name == "eval":
        return _read_text(" ".join(rest), depth)
    if name == "xargs":
        return _read_words(_without_options(rest, "-I", "-n", "-P", "-L", "-d", "-s", "-E", "-J"), depth)
    if name == "find":
        return _find(rest, depth)
    if name in _NAMES["pythons"] | _INTERPRETERS and rest:
        return _interpreted(rest, depth)
    if (name, *rest[:1]) == ("docker", "compose"):
        return _read_words(("docker-compose", *rest[1:]), depth)
    for runner in (name, f"{name} {rest[0]}") if rest else ():
        if runner in _RUNNERS:
            return _read_words(_without_options(rest[runner.count(" ") :]), depth)
    return None


def _interpreted(rest: Words, depth: int) -> ShellReading | None:
    if rest[0] == "-m" or _program(rest[0]) in ("manage.py", "artisan"):
        return _read_words(rest[1:] if rest[0] == "-m" else rest, depth)
    return _script_file(rest) if _SCRIPT.fullmatch(_program(rest[0])) else None


def _script_file(words: Words) -> ShellReading:
    """A script is known by its name only: `./run-tests.sh` checks, and may do anything besides."""
    if not words:
        return CHANGE
    program, _, ending = _program(words[0]).rpartition(".")
    name = [part.lower() for part in _PARTS.findall(program or ending)]
    saying = name[-1:] if ending == "sh" else (*name[:1], *name[-1:])  # `test_parser.py` as well
    return BUILD if not _PROMISING.isdisjoint(saying) else CHANGE


def _find(rest: Words, depth: int) -> ShellReading:
    runs = [at for at, word in enumerate(rest) if word in ("-exec", "-execdir", "-ok", "-okdir")]
    if len(runs) > _NESTING_MAX or any(word in ("-delete", "-fprint", "-fprintf", "-fls") for word in rest):
        return CHANGE
    return _together([_read_words(rest[at + 1 :], depth) for at in runs])


def _by_tables(name: str, rest: Words) -> ShellReading:
    sub = next((word for word in rest if not word.startswith("-")), "")
    for effect, reading in (("reads", READ), ("builds", BUILD), ("checks", _LINTER(rest))):
        if sub in _SUBCOMMANDS[effect].get(name, ()):
            return reading
    if name in _NAMES["script_runners"]:
        return _script_runner(name, rest)
    if sub in ("fmt", "format"):
        return _FORMATTER(rest)
    return _script_file((name,)) if name.endswith(".sh") else CHANGE


def _script_runner(name: str, rest: Words) -> ShellReading:
    """`npm run build`, `make test`: known by the script's name; `make` alone builds."""
    scripts: list[str] = []
    at = 0
    while at < len(rest) and rest[at] != "--":
        word = rest[at]
        if not word.startswith("-") and "=" not in word and word not in ("run", "run-script"):
            scripts.append(word)
        at += 2 if word in _NAMES["take_value"] else 1
    if not scripts:
        return BUILD if name in _NAMES["target_runners"] else CHANGE
    if name in ("npm", "pnpm") and scripts[0] == "ci":
        return CHANGE  # a clean install, not a check
    seen = scripts if name in _NAMES["target_runners"] else scripts[:1]
    return _together([_script(script) for script in seen])


def _script(name: str) -> ShellReading:
    """What the name of a script promises: `test:unit`, `lint`, `build-all`; one that promises nothing changes."""
    words = {part.lower() for part in _PARTS.findall(name)}
    if words & _NAMES["build_words"] or (words & _NAMES["check_words"] and words & {"fix", "write"}):
        return BUILD
    return CHECK if words & _NAMES["check_words"] else CHANGE
