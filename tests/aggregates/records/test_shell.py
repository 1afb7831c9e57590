"""What a shell command line is read as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.records.shell import COMMAND_CHARACTERS_MAX, ShellReading, read_command
from aggregates.records.tools import ToolEffect, tool_effect

READS = [
    "",
    "ls -la src | head -20",
    "cat a.txt && grep -rn 'foo > bar' src; rg needle",
    "cd /srv/app && git status --short",
    "git log --oneline -5 -- a.py",
    "git -C ../other --no-pager diff HEAD~1",
    "git branch --show-current",
    "git branch",
    "git remote -v",
    "git stash list",
    "git commit --dry-run -m x",
    "find . -name '*.py' -not -path './node_modules/*'",
    "find . -name '*.go' -exec grep -l main {} \\;",
    "find . -type f | xargs -I {} wc -l {}",
    "sed -n '1,20p' main.go",
    "awk '$3 > 10 {print $1}' log.txt",
    "echo done 2>&1",
    "make 2>/dev/null --version >/dev/null",
    "python3 --version",
    "FOO=1 env | sort | uniq -c",
    "curl -s https://example.test/health | jq .status",
    "curl -sSo /dev/null -w '%{http_code}' localhost:8000",
    "curl -X GET localhost",
    "gh pr view 12 --json title",
    "gh run list --limit 3",
    "gh api repos/o/r/pulls",
    "docker ps -a",
    "docker compose logs api",
    "kubectl get pods -n web",
    "pip list",
    "npm ls --depth 0",
    "source .venv/bin/activate",
    "for f in a b; do echo $f; done",
    "if [ -f x ]; then cat x; fi",
    "bash -c 'ls | wc -l'",
    "sort names.txt",
    "perl -ne 'print if /x/' f",
    "cat <<'EOF'\nrm -rf /\nEOF",
    "# only a comment",
    "echo $((3 > 2))",
    'echo "a > b; rm x"',
    "diff <(sort a) <(sort b)",
]

CHANGES = [
    "rm -rf build",
    "echo hi > out.txt",
    "echo hi >> out.txt",
    "cmd &> all.log",
    "cat > a.py <<'EOF'\nprint(1)\nEOF",
    "sed -i 's/a/b/' x.py",
    "sed -i.bak -e 's/a/b/' x.py",
    "perl -pi -e 's/a/b/' x",
    "ls | tee list.txt",
    "sudo apt-get install -y jq",
    "npm install left-pad",
    "npm ci",
    "yarn",
    "git add -A",
    "git push origin main",
    "git merge feature",
    "git checkout -b fix/login",
    "git checkout main",
    "git stash pop",
    "git restore --staged a.py",
    "git branch -D old",
    "find . -name '*.pyc' -delete",
    "find . -name '*.o' -exec rm {} +",
    "ls *.tmp | xargs rm",
    "curl -X POST localhost/api",
    "curl -d '{}' localhost/api",
    "curl -sSLo tool.tgz https://example.test/t.tgz",
    "wget https://example.test/x",
    "gh pr merge 3",
    "gh api -X DELETE repos/o/r",
    "gh issue create -t x",
    "some-unknown-tool --do",
    "python script.py",
    "echo $(rm x)",
    'echo "$(touch y)"',
    "echo `touch y`",
    "prettier --write .",
    "gofmt -w .",
    "cargo fmt",
    "mise run fmt",
    "npm run dev",
    "docker run --rm x",
    "bash setup.sh",
    "./test-harness.sh start",
    "bash -c 'rm x'",
    "awk '{print > \"out\"}' f",
]

CHECKS = [
    "pytest -q tests/test_a.py::test_b",
    "cd api && FOO=1 python -m pytest 2>&1 | tail -20",
    "timeout 60 uv run pytest",
    "poetry run mypy src",
    "npx jest --ci",
    "npm test",
    "npm run test:unit -- --watch=false",
    "pnpm --filter web lint",
    "yarn typecheck",
    "go test ./...",
    "go vet ./... && golangci-lint run",
    "cargo test --all && cargo clippy",
    "cargo fmt --check",
    "make test",
    "make -C api lint",
    "mvn -q verify",
    "./gradlew test",
    "npx tsc --noEmit",
    "eslint src",
    "ruff check .",
    "ruff format --check .",
    "black --check .",
    "bundle exec rspec",
    "vendor/bin/phpunit",
    "dotnet test",
    "swift test",
    "mise run test:ci",
    "python manage.py test",
    "deno test",
    "bash -n install.sh",
    "playwright test",
]

BUILDS = [
    "go build ./...",
    "cargo build --release",
    "npm run build",
    "make",
    "make build",
    "mvn install",
    "gradle assemble",
    "tsc -p .",
    "docker build -t x .",
    "eslint --fix src",
    "npm run lint:fix",
    "ruff check --fix .",
    "./run-tests.sh",
    "cmake --build out",
]

REVERTS: list[tuple[str, tuple[str, ...]]] = [
    ("git revert --no-edit HEAD", ()),
    ("git checkout -- src/a.py", ("src/a.py",)),
    ("git checkout .", ()),
    ("git checkout -- .", ()),
    ("git checkout HEAD~1 src/a.py", ("src/a.py",)),
    ("git checkout HEAD -- src/a.py b.lock", ("src/a.py", "b.lock")),
    ("git checkout -- 'src/*.py'", ("src",)),
    ("git checkout -- '*.py'", ()),
    ("git checkout -- :/", ()),
    ("git restore src/a.py", ("src/a.py",)),
    ("git restore --source HEAD~2 src/", ("src/",)),
    ("git restore -s HEAD~2 --staged --worktree src/a.py", ("src/a.py",)),
    ("git restore .", ()),
    ("git reset --hard origin/main", ()),
    ("git reset --keep HEAD~1", ()),
    ("git reset --merge", ()),
    ("git stash", ()),
    ("git stash push -m wip", ()),
    ("git stash push -- src/a.py", ("src/a.py",)),
    ("git checkout -- a.py && git restore b.py", ("a.py", "b.py")),
    ("git checkout -- a.py && git reset --hard", ()),
]


@pytest.mark.parametrize("command", READS)
def test_reads_searches_and_listings_change_nothing(command: str) -> None:
    assert read_command(command) == ShellReading()


@pytest.mark.parametrize("command", CHANGES)
def test_changes_and_unknown_commands_are_mutating(command: str) -> None:
    """A command with side effects, or one that nobody knows, changes something and checks nothing."""
    assert read_command(command) == ShellReading(mutating=True)


@pytest.mark.parametrize("command", CHECKS)
def test_tests_linters_and_type_checks_are_checks(command: str) -> None:
    assert read_command(command) == ShellReading(check=True)


@pytest.mark.parametrize("command", BUILDS)
def test_builds_and_repairing_linters_check_and_change(command: str) -> None:
    assert read_command(command) == ShellReading(check=True, mutating=True)


@pytest.mark.parametrize(("command", "paths"), REVERTS)
def test_taking_work_back_is_a_revert(command: str, paths: tuple[str, ...]) -> None:
    """The git commands that discard or undo work say so, and of which files; none where it is all there is."""
    assert read_command(command) == ShellReading(mutating=True, revert=True, reverted=paths)


@pytest.mark.parametrize(
    ("command", "reading"),
    [
        ("git add -A && git commit -m 'x > y'", ShellReading(mutating=True, commit=True)),
        (
            "git commit -m \"$(cat <<'EOF'\nFix; rm -rf /tmp\n\nCo-Authored-By: A <a@example.test>\nEOF\n)\"",
            ShellReading(mutating=True, commit=True),
        ),
        ("gh pr create --title x --body y", ShellReading(mutating=True, pull_request=True)),
        ("glab mr create --fill", ShellReading(mutating=True, pull_request=True)),
        (
            "npm test && git commit -am ok && git push && gh pr create --fill",
            ShellReading(mutating=True, check=True, commit=True, pull_request=True),
        ),
        ("git stash && make test; git stash pop", ShellReading(mutating=True, check=True)),
        (
            "git stash && git checkout -- a.py && git stash pop",
            ShellReading(mutating=True, revert=True, reverted=("a.py",)),
        ),
        ("pytest > report.txt", ShellReading(mutating=True, check=True)),
    ],
)
def test_the_parts_of_a_line_add_up(command: str, reading: ShellReading) -> None:
    """One line may check, commit and open a pull request."""
    assert read_command(command) == reading


@given(st.text(alphabet=st.sampled_from("ab 'x\"\\$()`<>&|;\n{}#-=EOF0123/"), max_size=200))
def test_nothing_makes_it_raise(command: str) -> None:
    assert isinstance(read_command(command), ShellReading)


def test_a_huge_command_is_read_up_to_its_bound() -> None:
    assert read_command("ls " + "x" * COMMAND_CHARACTERS_MAX + "; rm y") == ShellReading()


def test_deep_nesting_is_taken_to_change_something() -> None:
    assert read_command("eval " * 20 + "ls").mutating


@pytest.mark.parametrize(
    ("tool", "effect"),
    [
        ("Edit", "edit"),
        ("MultiEdit", "edit"),
        ("NotebookEdit", "edit"),
        ("apply_patch", "edit"),
        ("replace", "edit"),
        ("Write", "write"),
        ("write_file", "write"),
        ("Bash", "shell"),
        ("exec_command", "shell"),
        ("run_shell_command", "shell"),
        ("Read", "read"),
        ("Grep", "read"),
        ("Glob", "read"),
        ("WebFetch", "read"),
        ("Task", "other"),
        ("TodoWrite", "read"),
        ("mcp__serena__replace_symbol_body", "edit"),
        ("mcp__filesystem__write_file", "write"),
        ("mcp__linear__create_issue", "other"),
        ("mcp__github__get_file_contents", "read"),
        ("mcp__db__searchRows", "read"),
        ("mcp__x__", "other"),
        ("", "other"),
    ],
)
def test_a_tool_is_told_from_its_name(tool: str, effect: ToolEffect) -> None:
    """The names of the agents' own tools are known; MCP tools go by their verb."""
    assert tool_effect(tool) == effect
