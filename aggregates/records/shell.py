"""Reading a shell command: does it change something, check something, commit, open a pull request, revert?

Nothing is run or expanded. In doubt a command is taken to change something.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from aggregates.records.programs import (
    BUILD,
    BUILD_WORDS,
    CHANGE,
    CHECK,
    CHECK_WORDS,
    CHECKS,
    READ,
    READS,
    RUNNERS,
    SCRIPT_RUNNERS,
    SPECIAL,
    SUBCOMMAND_BUILDS,
    SUBCOMMAND_CHECKS,
    SUBCOMMAND_READS,
    ShellReading,
    Words,
    formatter,
    linter,
    names,
)
from aggregates.records.shell_words import SimpleCommand, simple_commands

COMMAND_CHARACTERS_MAX = 8192
_NESTING_MAX = 4

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_KEYWORDS = names("if then else elif fi do done while until ! { } time case esac in function")
_PREFIXES = names("sudo doas env nohup command builtin exec nice ionice stdbuf caffeinate setsid")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
_PYTHONS = frozenset({"python", "python3", "py"})
_TARGET_RUNNERS = frozenset({"make", "gmake", "mvn", "mvnw", "gradle", "gradlew", "just", "rake", "ninja"})
_TAKE_VALUE = names("--filter -F --workspace --prefix -C --cwd --dir -f -j --directory -p")
_HELP = frozenset({"--version", "--help", "-h", "-V", "version", "help"})
_DURATION = re.compile(r"[\d.]+[smhd]?")


def read_command(command: str) -> ShellReading:
    """What a shell command line does, all its parts together. Linear in its length; never raises."""
    return _read_command(command[:COMMAND_CHARACTERS_MAX])


# Agents run the same checks again and again, and a reading takes 67 µs of the 100 that a record may take.
@lru_cache(maxsize=2_048)
def _read_command(command: str) -> ShellReading:
    return _read_text(command, 0)


def _read_text(text: str, depth: int) -> ShellReading:
    if depth > _NESTING_MAX:
        return CHANGE
    commands = simple_commands(text)
    reading = _together([_read_simple(each, depth) for each in commands])
    if reading.revert and _only_stashes_for_a_while(commands):
        return msgspec.structs.replace(reading, revert=False)
    return reading


def _only_stashes_for_a_while(commands: Sequence[SimpleCommand]) -> bool:
    """`git stash; …; git stash pop` takes nothing back."""
    stashes = [each.words[2:3] for each in commands if each.words[:2] == ["git", "stash"]]
    others = [each for each in commands if each.words[:2] != ["git", "stash"]]
    pops = ["pop"] in stashes or ["apply"] in stashes
    return pops and not _together([_read_simple(each, _NESTING_MAX) for each in others]).revert


def _read_simple(command: SimpleCommand, depth: int) -> ShellReading:
    reading = _read_words(command.words, depth)
    return _together([reading, CHANGE]) if command.writes_file else reading


def _together(readings: Sequence[ShellReading]) -> ShellReading:
    return ShellReading(
        mutating=any(each.mutating for each in readings),
        check=any(each.check for each in readings),
        commit=any(each.commit for each in readings),
        pull_request=any(each.pull_request for each in readings),
        revert=any(each.revert for each in readings),
    )


def _read_words(words: Words, depth: int) -> ShellReading:
    words = _without_prefixes(words)
    if not words:
        return READ
    name, rest = _program(words[0]), words[1:]
    if len(rest) == 1 and rest[0] in _HELP:
        return READ
    special = SPECIAL.get(name)
    if special is not None:
        return special(rest)
    inner = _inner(name, rest, depth + 1) if depth < _NESTING_MAX else None
    return _by_tables(name, rest) if inner is None else inner


def _without_prefixes(words: Words) -> Words:
    """What really runs: without assignments, `sudo`, `timeout 5`, `if` and the like before it."""
    while words:
        first = words[0]
        if _ASSIGNMENT.match(first) or first in _KEYWORDS:
            words = words[1:]
        elif first in ("for", "select"):
            return ()
        elif first in _PREFIXES:
            words = _without_options(words[1:])
        elif first in ("timeout", "gtimeout"):
            words = _without_options(words[1:])
            words = words[1:] if words and _DURATION.fullmatch(words[0]) else words
        else:
            break
    return words


def _without_options(words: Words) -> Words:
    count = 0
    while count < len(words) and words[count].startswith("-"):
        count += 1
    return words[count:]


def _program(word: str) -> str:
    return word.rsplit("/", 1)[-1].removesuffix(".exe")


def _inner(name: str, rest: Words, depth: int) -> ShellReading | None:
    """The reading of the command that this one runs; None where it runs none that can be seen."""
    if name in _SHELLS and rest[:1] == ["-n"]:
        return CHECK  # only its syntax
    if name in _SHELLS:
        runs_text = len(rest) > 1 and rest[0] in ("-c", "-lc", "-ic")
        return _read_text(rest[1], depth) if runs_text else _script_file(_without_options(rest))
    if name == "eval":
        return _read_text(" ".join(rest), depth)
    if name == "xargs":
        return _xargs(rest, depth)
    if name == "find":
        return _find(rest, depth)
    if name in _PYTHONS and rest and (rest[0] == "-m" or _program(rest[0]) == "manage.py"):
        return _read_words(rest[1:] if rest[0] == "-m" else rest, depth)
    if (name, *rest[:1]) == ("docker", "compose"):
        return _read_words(("docker-compose", *rest[1:]), depth)
    for runner in (name, f"{name} {rest[0]}") if rest else ():
        if runner in RUNNERS:
            return _read_words(_without_options(rest[runner.count(" ") :]), depth)
    return None


def _script_file(words: Words) -> ShellReading:
    """A script is known by its name only: `./run-tests.sh` checks, and may do anything besides."""
    if not words:
        return CHANGE
    name = re.findall(r"[a-z0-9]+", _program(words[0]).lower().removesuffix(".sh"))
    checks = bool(name) and name[-1] in CHECK_WORDS | BUILD_WORDS
    return BUILD if checks else CHANGE


def _xargs(rest: Words, depth: int) -> ShellReading:
    takes_value = ("-I", "-n", "-P", "-L", "-d", "-s", "-E", "-J")
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in takes_value else 1
    return _read_words(rest[at:], depth)


def _find(rest: Words, depth: int) -> ShellReading:
    runs = [at for at, word in enumerate(rest) if word in ("-exec", "-execdir", "-ok", "-okdir")]
    if len(runs) > _NESTING_MAX or any(word in ("-delete", "-fprint", "-fprintf", "-fls") for word in rest):
        return CHANGE
    return _together([_read_words(rest[at + 1 :], depth) for at in runs])


def _by_tables(name: str, rest: Words) -> ShellReading:
    if name in READS:
        return READ
    if name in CHECKS:
        return linter(rest)
    sub = next((word for word in rest if not word.startswith("-")), "")
    if sub in SUBCOMMAND_READS.get(name, ()):
        return READ
    if sub in SUBCOMMAND_BUILDS.get(name, ()):
        return BUILD
    if sub in SUBCOMMAND_CHECKS.get(name, ()):
        return linter(rest)
    if name in SCRIPT_RUNNERS:
        return _script_runner(name, rest)
    if sub in ("fmt", "format"):
        return formatter(rest)
    return _script_file((name,)) if name.endswith(".sh") else CHANGE


def _script_runner(name: str, rest: Words) -> ShellReading:
    """`npm run build`, `make test`: known by the script's name; `make` alone builds."""
    scripts = _scripts(rest)
    if not scripts:
        return BUILD if name in _TARGET_RUNNERS else CHANGE
    if name in ("npm", "pnpm") and scripts[0] == "ci":
        return CHANGE  # a clean install, not a check
    seen = scripts if name in _TARGET_RUNNERS else scripts[:1]
    return _together([_script(script) or CHANGE for script in seen])


def _scripts(rest: Words) -> list[str]:
    scripts: list[str] = []
    at = 0
    while at < len(rest) and rest[at] != "--":
        word = rest[at]
        if not word.startswith("-") and "=" not in word and word not in ("run", "run-script"):
            scripts.append(word)
        at += 2 if word in _TAKE_VALUE else 1
    return scripts


def _script(name: str) -> ShellReading | None:
    """`test:unit`, `lint`, `build-all` → what the name promises; None where it promises nothing."""
    words = set(re.findall(r"[a-z0-9]+", name.lower()))
    if words & BUILD_WORDS:
        return BUILD
    if not words & CHECK_WORDS:
        return None
    return BUILD if words & {"fix", "write"} else CHECK
