"""Programs whose effect depends on their arguments: git, hosting tools, curl, editors, formatters."""

import re
from collections.abc import Callable, Sequence

import msgspec

# What the programs of the common ecosystems do, as tables.


def names(text: str) -> frozenset[str]:
    """The names in a text, parted by white space."""
    return frozenset(text.split())


def _table(text: str) -> dict[str, frozenset[str]]:
    """Lines `program …: subcommand …`; several programs may share a line."""
    table: dict[str, frozenset[str]] = {}
    for line in text.strip().splitlines():
        programs, _, subcommands = line.partition(":")
        for program in programs.split():
            table[program] = table.get(program, frozenset()) | names(subcommands)
    return table


READS = names("""
    ls ll la dir cat bat grep egrep fgrep zgrep rg ag ack head tail wc uniq cut tr jq json.tool
    journalctl xq which whereis type echo printf pwd printenv ps top htop df du date whoami id hostname
    uname file stat tree less more most diff colordiff cmp comm basename dirname realpath readlink true
    false test [ [[ : sleep cd pushd popd dirs export set unset alias unalias history man info ping dig
    nslookup host lsof netstat ss free uptime pgrep md5 md5sum sha1sum sha256sum sha512sum shasum cksum
    base64 xxd od hexdump strings nl tac rev column fold paste join seq expr bc tput clear wait jobs
    exit return shift read local declare typeset let trap break continue nproc locale getent groups tty
    stty ulimit umask lscpu lsblk vm_stat sw_vers tldr tokei cloc scc delta zcat gzcat xmllint shopt env
    sum look apropos arch getconf
""")
"""Programs that only read, search, list or print, whatever their arguments."""


CHECKS = names("""
    pytest py.test unittest tox nox mypy pyright basedpyright pyre pytype flake8 pylint pyflakes
    pycodestyle pydocstyle bandit vulture doctest compileall py_compile eslint eslint_d jest vitest
    mocha ava tap jasmine karma stylelint oxlint jshint standard xo htmlhint phpunit pest phpstan psalm
    phpcs rspec minitest brakeman golangci-lint staticcheck gotestsum revive gosec shellcheck hadolint
    yamllint markdownlint markdownlint-cli2 actionlint tflint ctest bats hlint swiftlint ktlint detekt
    clang-tidy cppcheck cpplint credo busted luacheck codespell svelte-check attw publint knip depcheck
    madge tsd sqlfluff vale semgrep trivy elm-test
""")
"""Tests, linters and type checks, whatever their arguments."""


RUNNERS = frozenset(
    {
        *(
            "npx",
            "bunx",
            "pipx",
            "uvx",
            "uv run",
            "poetry run",
            "pipenv run",
            "pdm run",
            "rye run",
            "hatch run",
        ),
        *("pnpm exec", "pnpm dlx", "yarn dlx", "yarn exec", "npm exec", "bundle exec", "mise exec", "mise x"),
        *("npm x", "bun x", "dotenv", "cross-env"),
    }
)
"""Programs that run the command which follows."""


SCRIPT_RUNNERS = names("""
    npm pnpm yarn bun make gmake just task rake invoke inv nx turbo lerna composer mise mvn mvnw gradle
    gradlew ninja bazel bazelisk buck2 ant sbt lein x.py pre-commit
""")
"""Programs that run a script or target known by its name."""


CHECK_WORDS = names("""
    test tests testing t spec specs unit integration e2e smoke lint linting check checks typecheck types
    tsc vet verify validate ci coverage cov mypy pytest jest vitest eslint qa audit clippy phpstan rspec
""")


BUILD_WORDS = names("build builds compile package assemble bundle dist testcompile")


SUBCOMMAND_READS = _table("""
    npm pnpm yarn bun: ls list view info outdated why audit config get root bin prefix whoami search
    pip pip3: list show freeze check index
    uv: tree version
    poetry: show
    cargo: tree metadata search version
    rustup: show which
    go: list doc version env help
    brew: list info search deps config doctor
    apt apt-get dpkg apt-cache: list show search policy
    docker podman: ps images logs inspect info top stats events history port diff search
    docker-compose: ps logs config top images
    kubectl oc: get describe logs explain top api-resources cluster-info
    helm: list status get show history search
    terraform tofu: plan show output graph providers
    systemctl: status list-units is-active is-enabled show cat
    conda mamba: list info search
    gem: list search info
    composer: show outdated why
    make: help
    mise: ls list current which tasks doctor where env settings
    launchctl: list print
    defaults: read
    flutter: doctor devices
    tmux: ls list-sessions capture-pane
    nvm: ls list current which
""")
"""Subcommands that only read."""


SUBCOMMAND_CHECKS = _table("""
    go: vet test
    cargo: test check clippy nextest
    dotnet: test
    swift: test
    mix: test credo dialyzer
    stack cabal: test
    zig: test
    flutter dart: test analyze
    xcodebuild: test
    meson: test
    deno: test lint check
    rebar3: eunit ct dialyzer
    playwright cypress: test run
    nx turbo: test lint
    terraform tofu: validate
    biome: check lint ci
    buf: lint
    hardhat forge truffle anchor: test
    elixir: test
    rails: test
    artisan: test
    dbt: test
    ng: test lint e2e
    next react-scripts: lint test
    hatch: test
    pio: test check
    manage.py: test check
""")
"""Subcommands that test, lint or check types."""


SUBCOMMAND_BUILDS = _table("""
    go: build install
    mvn mvnw: install deploy
    cargo: build
    dotnet: build publish
    swift: build
    mix: compile
    stack cabal: build
    zig: build
    flutter: build
    xcodebuild: build archive
    meson: compile
    docker podman: build buildx
    next vite webpack rollup astro nuxt ng gatsby: build
    uv poetry hatch pdm: build
    forge: build
    buf: build
    elm: make
    wails tauri electron-builder: build
""")
"""Subcommands that build: a check that leaves files behind."""


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


# --- git ---------------------------------------------------------------------------------------------------

_GIT_READS = names("""
    status log diff show fetch blame annotate rev-parse rev-list ls-files ls-tree ls-remote cat-file
    describe shortlog reflog grep name-rev merge-base for-each-ref check-ignore check-attr count-objects
    var version whatchanged cherry range-diff diff-tree diff-index diff-files show-ref show-branch fsck
    verify-commit verify-tag help
""")


_GIT_LIST_ARGUMENTS = names("""
    list show get-url status get -v -vv -a -r -l -av -avv --list --show-current --get --get-all
    --contains --merged --no-merged --all --points-at
""")


def _git(rest: Words) -> ShellReading:
    sub, args = _git_subcommand(rest)
    if sub in _GIT_READS or not sub or "--help" in args:
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


def _git_reset(args: Words) -> ShellReading:
    return REVERT if any(word in ("--hard", "--keep", "--merge") for word in args) else CHANGE


def _git_commit(args: Words) -> ShellReading:
    return READ if "--dry-run" in args else COMMIT


def _git_revert(args: Words) -> ShellReading:
    return REVERT


def _git_listing(args: Words) -> ShellReading:
    """`git branch`, `tag`, `remote`, `worktree`, `submodule`, `config`: reading unless told to change."""
    if not args or args[0] in _GIT_LIST_ARGUMENTS or args[0].startswith(("--sort", "--format")):
        return READ
    return CHANGE


_GIT: dict[str, Reader] = {
    "commit": _git_commit,
    "revert": _git_revert,
    "checkout": _git_checkout,
    "restore": _git_restore,
    "reset": _git_reset,
    "stash": _git_stash,
    **dict.fromkeys(("branch", "tag", "remote", "worktree", "submodule", "config", "notes"), _git_listing),
}


# --- others ------------------------------------------------------------------------------------------------


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


def _wget(rest: Words) -> ShellReading:
    return READ if any(word in ("-O-", "-qO-", "--spider", "-") for word in rest) else CHANGE


def _in_place(rest: Words) -> ShellReading:
    """`sed`, `yq`: editing in place, or only printing."""
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


def _fd(rest: Words) -> ShellReading:
    return CHANGE if any(word in ("-x", "-X", "--exec", "--exec-batch") for word in rest) else READ


def _tsc(rest: Words) -> ShellReading:
    return CHECK if "--noEmit" in rest else BUILD


def _ruff(rest: Words) -> ShellReading:
    return formatter(rest) if rest[:1] == ["format"] else linter(rest)


def _rubocop(rest: Words) -> ShellReading:
    return BUILD if "-a" in rest or "-A" in rest else linter(rest)


def _cmake(rest: Words) -> ShellReading:
    return BUILD if "--build" in rest else CHANGE


_REPAIRS = names("--fix --write --autocorrect --autocorrect-all --unsafe-fixes --update-snapshot")


def linter(rest: Words) -> ShellReading:
    """A test, linter or type check; one that is told to repair changes files too."""
    repairs = (
        "--fix",
        "--write",
        "--autocorrect",
        "--autocorrect-all",
        "--unsafe-fixes",
        "--update-snapshot",
    )
    return BUILD if any(word in repairs for word in rest) else CHECK


_ONLY_LOOKS = names("""
    --check -c --list-different -l -d --diff --dry-run -check --check-formatted --set-exit-if-changed
    --verify-no-changes --check-only
""")


def formatter(rest: Words) -> ShellReading:
    """`black`, `prettier`, `gofmt`, `cargo fmt`: a check where told only to look, otherwise a change."""
    writes = "-w" in rest or "--write" in rest
    return CHECK if not writes and _ONLY_LOOKS.intersection(rest) else CHANGE


SPECIAL: dict[str, Reader] = {
    "git": _git,
    **dict.fromkeys(("gh", "glab", "hub"), _hosting),
    "curl": _curl,
    "wget": _wget,
    **dict.fromkeys(("sed", "gsed", "yq"), _in_place),
    "perl": _perl,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "sort": _sort,
    "tee": _tee,
    **dict.fromkeys(("black", "prettier", "gofmt", "goimports", "isort", "rustfmt", "shfmt"), formatter),
    **dict.fromkeys((".", "source"), _source),
    **dict.fromkeys(("fd", "fdfind"), _fd),
    **dict.fromkeys(("tsc", "vue-tsc"), _tsc),
    "ruff": _ruff,
    "rubocop": _rubocop,
    "cmake": _cmake,
}
"""Program → how to read its arguments."""
