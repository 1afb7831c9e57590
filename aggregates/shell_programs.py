"""What the programs of the common ecosystems do, as tables."""


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
