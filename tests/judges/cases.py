"""Written sub-sessions for the outcome judge, one rule each (scoring.md, section 4), with the right verdict.

The labelled sessions hold few missed goals; these hold every way to miss one. A case is a script, one step a line: `>`
a prompt, `<` its answer, `edit` and `read` a file, `run` and `fail` a shell command by its result, `call` the same
tool once more, `error` a failed request, `stop` an interruption, `refuse` a refused tool call, `clear` and `end` of
the session. The first sub-session of a script is judged.
"""

from typing import NamedTuple


class Case(NamedTuple):
    """One script and what its first sub-session is."""

    rule: str
    complete: bool | None
    """None: it must be undecided."""
    script: str


FIX = "> Fix the crash in src/parser.py when the input is empty: return an empty list."
FEATURE = "> Implement a new --json option for the list command in src/cli.py that prints one object per line."
REFACTOR = "> Refactor src/mail.py: extract the retry loop into a helper of its own so that it can be reused."
CHANGE = "> Rename the label of the save button in src/form.tsx to Store."
QUESTION = "> How does the cache in src/cache.py decide which entry to drop?"
INVESTIGATE = "> Investigate why the nightly import takes three hours and tell me what you find."
REVIEW = "> Review the changes in this branch and list what you would not merge."
PLAN = "> Propose a plan for moving the sessions to Redis, with the steps in order. Don't change any code."
NEXT = "clear\n> Write a page in docs/export.md about the export format.\n< Here it is.\n"

UNDECIDED = frozenset(
    {
        "interrupted in the middle of a change",
        "the last check failed",
        "the last check failed after one that passed",
        "the build failed",
        "the linter failed",
        "the types failed",
        "the user says that it does not work",
        "the user corrects and nothing follows",
        "the user corrects after a clear",
        "the user asks for the same once more",
        "the user says that it still fails after the end",
        "the commit was reverted",
        "a change was asked for and none was made",
        "a feature was only talked about",
        "a change that nothing speaks for, in silence",
        "a review that was stopped",
    }
)
"""Those of `MISSED` of which nothing is said: labelled ones of these kinds ended either way."""
MISSED: tuple[tuple[str, str], ...] = (
    ("ends on an API error", f"{FIX}\nread src/parser.py\nerror\n"),
    ("ends on an API error after a change", f"{FIX}\nedit src/parser.py\nerror\n"),
    ("ends on an API error after a passed check", f"{FIX}\nedit src/parser.py\nrun pytest -q\nerror\n"),
    ("ends on an API error after a commit", f"{FIX}\nedit src/parser.py\nrun git commit -am fix\nerror\n"),
    ("ends on an API error though another goal follows", f"{FEATURE}\nedit src/cli.py\nerror\n{NEXT}"),
    ("ends on an API error in a question", f"{QUESTION}\nread src/cache.py\nerror\n"),
    (
        "ends on an API error in its second turn",
        f"{CHANGE}\nedit src/form.tsx\n< Done.\n> also in src/menu.tsx\nerror\n",
    ),
    ("cancelled while looping", f"{FIX}\nedit src/parser.py\ncall x\ncall x\ncall x\nstop\n"),
    (
        "cancelled while looping after a passed check",
        f"{FIX}\nedit src/parser.py\nrun pytest\ncall x\ncall x\ncall x\nstop\n",
    ),
    (
        "cancelled while looping though another goal follows",
        f"{FEATURE}\nedit src/cli.py\ncall x\ncall x\ncall x\nstop\n{NEXT}",
    ),
    ("interrupted before any answer", f"{FIX}\nstop\n"),
    ("interrupted in the middle of a change", f"{FIX}\nedit src/parser.py\nstop\n"),
    ("interrupted while it only looked", f"{REFACTOR}\nread src/mail.py\nread src/retry.py\nstop\n"),
    (
        "the last check failed",
        f"{FIX}\nedit src/parser.py\nfail pytest -q\n< Two tests still fail, I am looking into it.\n",
    ),
    (
        "the last check failed after one that passed",
        f"{FIX}\nedit src/parser.py\nrun pytest -q\nedit src/parser.py\nfail pytest -q\n"
        "< The empty case is not covered yet.\n",
    ),
    (
        "the build failed",
        f"{FEATURE}\nedit src/cli.ts\nfail npm run build\n< The build reports a type error.\n",
    ),
    (
        "the linter failed",
        f"{REFACTOR}\nedit src/mail.py\nfail ruff check src\n< There are four findings left.\n",
    ),
    (
        "the types failed",
        f"{REFACTOR}\nedit src/mail.py\nfail mypy src\n< mypy complains about the return type.\n",
    ),
    (
        "the user says that it still fails",
        f"{FIX}\nedit src/parser.py\n< Fixed.\n> It still fails\n< I cannot see why.\n",
    ),
    (
        "the user says that it does not work",
        f"{FEATURE}\nedit src/cli.py\n< The option is there now.\n> It does not work\n< That is strange.\n",
    ),
    (
        "the user corrects and nothing follows",
        f"{CHANGE}\nedit src/form.tsx\n< Done.\n> No, that's not what I meant\n< I see.\n",
    ),
    (
        "the user corrects after a clear",
        f"{CHANGE}\nedit src/form.tsx\n< Done.\nclear\n> That is wrong, I said the other button\n< Sorry.\n",
    ),
    (
        "the user asks for the same once more",
        f"{FIX}\nedit src/parser.py\n< Done.\n{FIX}\n< It was done already.\n",
    ),
    (
        "the user says that it still fails after the end",
        f"{FIX}\nedit src/parser.py\n< Fixed.\nend\n> still failing with the same error\n< Let me see.\n",
    ),
    (
        "the work was reverted by git checkout",
        f"{CHANGE}\nedit src/form.tsx\nrun git checkout -- src/form.tsx\n< I took the change back.\n",
    ),
    (
        "the work was reverted by git restore",
        f"{FEATURE}\nedit src/cli.py\nrun git restore src/cli.py\n< Restored.\n",
    ),
    (
        "the commit was reverted",
        f"{FIX}\nedit src/parser.py\nrun git commit -am fix\nrun git revert --no-edit HEAD\n< Reverted.\n",
    ),
    (
        "the work was reset",
        f"{REFACTOR}\nedit src/mail.py\nrun git reset --hard HEAD\n< Everything is as it was.\n",
    ),
    (
        "the user has it undone",
        f"{CHANGE}\nedit src/form.tsx\n< Done.\n> Undo that\nedit src/form.tsx\n< Undone.\n",
    ),
    ("a change was asked for and none was made", f"{FIX}\nread src/parser.py\n< I read the parser.\n"),
    (
        "a feature was only talked about",
        f"{FEATURE}\nread src/cli.py\n< There are several ways to do this. Which one do you want?\n",
    ),
    (
        "a change that nothing speaks for, in silence",
        f"{REFACTOR}\nread src/mail.py\n< The loop could be moved.\n",
    ),
    ("the proposal was refused", f"{FEATURE}\nread src/cli.py\nrefuse\n"),
    ("a plan that was refused", f"{PLAN}\nread src/session.py\nrefuse\n"),
    ("nothing was answered", f"{QUESTION}\n"),
    ("a review that was stopped", f"{REVIEW}\nread src/app.py\nstop\n"),
    ("an investigation that ran into an error", f"{INVESTIGATE}\nread src/import.py\nerror\n"),
)
"""Goals that were not reached, each by one rule."""

REACHED: tuple[tuple[str, str], ...] = (
    (
        "a check passed after the change",
        f"{FIX}\nedit src/parser.py\nrun pytest -q\n< Fixed, all tests pass.\n",
    ),
    (
        "a build passed after the change",
        f"{FEATURE}\nedit src/cli.ts\nrun npm run build\n< The option is there.\n",
    ),
    (
        "a linter passed after the change",
        f"{REFACTOR}\nedit src/mail.py\nrun ruff check src\n< The helper is in place.\n",
    ),
    ("a commit followed the change", f"{FIX}\nedit src/parser.py\nrun git commit -am fix\n< Committed.\n"),
    (
        "a pull request followed the change",
        f"{FEATURE}\nedit src/cli.py\nrun gh pr create --fill\n< Opened.\n",
    ),
    ("thanks", f"{CHANGE}\nedit src/form.tsx\n< Renamed.\n> Thanks, that works now!\n< Good.\n"),
    ("a bare yes to the result", f"{FEATURE}\nedit src/cli.py\nrun pytest\n< Done.\n> perfect\n< Good.\n"),
    ("another goal follows without a complaint", f"{FIX}\nedit src/parser.py\n< Fixed.\n{NEXT}"),
    ("another goal follows a refactoring", f"{REFACTOR}\nedit src/mail.py\n< Extracted.\n{NEXT}"),
    (
        "a question that was answered",
        f"{QUESTION}\nread src/cache.py\n< It drops the one that was used longest ago.\n",
    ),
    ("a question answered without a look", f"{QUESTION}\n< By the time of the last use.\n"),
    (
        "an investigation with a finding",
        f"{INVESTIGATE}\nread src/import.py\n< It waits for a lock on every row.\n",
    ),
    (
        "a review that was given",
        f"{REVIEW}\nread src/app.py\n< Two things: a race in the cache, and a missing test.\n",
    ),
    (
        "a plan that was given",
        f"{PLAN}\nread src/session.py\n< First the store, then the readers, then the switch.\n",
    ),
    (
        "an API error that was recovered",
        f"{FIX}\nread src/parser.py\nerror\nedit src/parser.py\nrun pytest -q\n< Fixed, tests pass.\n",
    ),
    (
        "an interruption after which work went on",
        f"{FIX}\nread src/parser.py\nstop\n> use the other file\nedit src/parse.py\nrun pytest -q\n"
        "< Fixed, tests pass.\n",
    ),
    (
        "a failed check that passed in the end",
        f"{FIX}\nedit src/parser.py\nfail pytest -q\nedit src/parser.py\nrun pytest -q\n< All tests pass now.\n",
    ),
    (
        "a complaint that was dealt with",
        f"{FIX}\nedit src/parser.py\n< Fixed.\n> It still fails\nedit src/parser.py\nrun pytest -q\n"
        "< Now all tests pass.\n",
    ),
    (
        "a correction that was followed",
        f"{CHANGE}\nedit src/form.tsx\n< Done.\n> No, I meant the other button\nedit src/form.tsx\n"
        "run npm test\n< Done.\n",
    ),
    (
        "a revert after which the work was done anew",
        f"{FIX}\nedit src/parser.py\nrun git checkout -- src/parser.py\nedit src/parser.py\nrun pytest -q\n< Done.\n",
    ),
    (
        "the same call three times, nobody stopped it",
        f"{FIX}\nedit src/parser.py\ncall x\ncall x\ncall x\nrun pytest -q\n< Fixed.\n",
    ),
    (
        "stopped after the commit, without a loop",
        f"{FIX}\nedit src/parser.py\nrun pytest -q\nrun git commit -am fix\n< Committed.\n> thanks\n< Good.\n",
    ),
    (
        "asked for a revert and got it",
        "> Revert the last commit, please, the release is frozen.\nrun git revert --no-edit HEAD\n"
        "run pytest -q\n< Reverted, tests pass.\n> thanks\n< Good.\n",
    ),
    (
        "a change in silence, told to be done and checked",
        f"{CHANGE}\nedit src/form.tsx\nrun npm test\n< Done, tests pass.\n",
    ),
)
"""Goals that were reached, each by one rule."""

CASES: tuple[Case, ...] = (
    *(Case(rule, None if rule in UNDECIDED else False, script) for rule, script in MISSED),
    *(Case(rule, True, script) for rule, script in REACHED),
)
