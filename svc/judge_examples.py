"""Prompts written for training, from many kinds of projects, so that the judges do not know one team's talk only.

One line each: intent, the booleans that are true by their letters, the prompt. Letters: g goal_explicit,
s scope_bounded, r references_concrete, c context_sufficient, v verification_requested, k root_cause_oriented,
p plan_first.
"""

from aggregates.verdicts import BOOLEANS, INTENTS, BooleanName, Intent, applicable

_LETTERS: dict[str, BooleanName] = dict(zip("gsrcvkp", BOOLEANS, strict=True))

_LINES = """
question gc How does the cache invalidation work?
question gc What is the difference between a mutex and a semaphore here?
question gc Where is the retry limit configured?
question gc Does the scheduler run jobs in parallel or one after the other?
question gc Is it safe to call this from several threads?
question gc Which of these two libraries would you use for parsing dates?
question gc What happens if the queue is full?
question gc Can you explain what this regex does?
question gc Explain how the middleware chain is built
question gc Do we have a rate limiter already?
question gc so the token is refreshed on every request, right?
question gc What does the --dry-run flag do?
question gc Tell me what the nightly job does
question gc Should we use a set here instead of a list?
question gc How many requests per second can this handle?
question  why
question  and the other one?
investigation grck Why does the upload to /api/files time out for files above 10 MB?
investigation grc Can you check if any other service still calls the v1 endpoint?
investigation grck Find out why the Docker image is 2 GB and what takes the space
investigation grck Look into the memory growth of worker.py, 200 MB to 3 GB within an hour. What causes it?
investigation grc Search the code for all places where we build SQL by hand and list them
investigation grc Check whether UserService is used anywhere outside the billing module
investigation grck The nightly build takes 40 minutes since Monday. Figure out which commit made it slow.
investigation grc Compare how we handle time zones in the frontend and the backend and tell me where they differ
investigation grck why is the test_checkout test flaky on CI but not locally?
investigation k why is it so slow?
investigation g can you check again?
investigation grc Take a look at the logs in var/log/app.log and tell me what happened at 03:12
investigation gc see if there is anything that already solves this before we write our own
review gsrc Review the changes in this branch
review gsrc Can you review PR 142, mainly the migration?
review gsrc Do a code review of src/payments/refund.ts. Look for race conditions and missing error handling.
review gsr double check the last commit please
review gsrc Please go over my diff and tell me what you would change
review gsrc Audit the Dockerfile for security problems
review gsrc Look over the README and point out what is unclear
review gs proofread this text
plan gsrcp Propose how to split the monolith's billing code into its own service. No code yet.
plan gsrcp Write a plan for moving from REST to gRPC in services/catalog, step by step
plan gscp What would be the best approach to add offline support? Give me two or three options with trade-offs.
plan gsrcp Think about how we could make the importer resumable. Don't implement anything, just outline a design.
plan gcp Let's brainstorm ideas for the onboarding
plan gsrcp Before we touch auth/session.py, draft a design doc for the new session store
small_change gsrc Rename getUsr to getUser in src/user.ts
small_change gsrc Change the button label on the settings page from "Save" to "Apply"
small_change gsrc Bump lodash to 4.17.21 in package.json
small_change gsrc Remove the console.log calls in checkout.js
small_change gsrcv Add a unit test for parse_duration in tests/test_time.py that covers negative values
small_change gsrcv can you add tests for the new validator? make sure npm test passes
small_change gsrc Update the README with the new install command
small_change gsrc Set the default timeout to 30 seconds in config.yaml
small_change gsrc Add a docstring to class OrderBook
small_change gsc commit this
small_change gsrc push the branch and open a PR
small_change gsrc Delete the unused import in models.py
small_change gsrc use snake_case for the columns in that table
small_change gsrc Add a comment that explains why we sleep here
small_change gsrc make the heading smaller and move the logo to the left
small_change gsrc Fix the typo in the error message of validate_email
small_change gsrc fix the lint warnings in app/views.py
small_change gs clean this up
small_change gsc do option 2
small_change gs run the tests
small_change gsrc Rebase onto main and resolve the conflicts
small_change gsrc Replace the deprecated datetime.utcnow calls
small_change s tests?
bug_fix gsrck The login fails with a 500 when the e-mail holds a plus sign. Fix auth.py, find the cause.
bug_fix gsrcvk Fix the crash in parse_row when a line is empty: it should return None. Find out why; add a test.
bug_fix gsrc Fix the off-by-one error in pagination: page 2 should start with item 21, not 20.
bug_fix rc TypeError: Cannot read properties of undefined (reading 'map') at UserList (UserList.tsx:24)
bug_fix c It still doesn't work
bug_fix c I get an error when I click save
bug_fix src The date on the invoice page is wrong
bug_fix rc npm run build fails now
bug_fix  fix the bug
bug_fix  it's broken
bug_fix  It crashes.
bug_fix rc the tests are failing again
bug_fix gsrc The total in cart.ts ignores the discount. It must be subtracted before tax.
bug_fix gsrck Users are logged out after 5 minutes although it should be an hour. Find the root cause in session.py.
bug_fix gsrcv The export drops the last row. Fix export.rb so that all are written; spec/export_spec.rb must pass.
bug_fix src When I resize the window the sidebar overlaps the table in dashboard.css
bug_fix rc Same error as before: connection refused on port 5432
bug_fix gsrc Don't swallow the exception in load_config, raise it with the file name so we see what is wrong
bug_fix src The retry loop in client.go never sleeps, which can hammer the server when it is down.
bug_fix gsrc This function leaks the file handle when reading fails. Close it in a finally block.
feature gsrcp Add a dark mode toggle to the settings page. Plan the steps first.
feature gsc Add a dark mode toggle to the settings page
feature gsrcv Implement a /health endpoint that returns 200 and the version as JSON, with an integration test
feature gsrc Create a CLI command `export` that writes all users as CSV to stdout
feature gsrc Add support for OAuth login with GitHub next to the password login in auth/
feature gsrcvp Implement the following plan: 1. add a table for webhooks 2. a worker to deliver them 3. tests
feature gc I want users to be able to reset their password by e-mail
feature gsc Build a search box above the list that filters while typing
feature g build me a chat app
feature gsrc Let the importer resume where it stopped: keep the last offset in state.json
feature gsrcp Now implement phase 2 of docs/plan.md
feature gscp let's implement this as discussed
feature gsrc Extend the report with a chart of the weekly totals, below the table
feature gsrc We need notifications when a build fails: send a Slack message with the link to the log
refactor gsrc Extract the validation logic from OrderController into its own class
refactor gsrc Move the helpers from utils.py into a package, one module per topic
refactor gsrc The three parse functions are nearly the same. Merge them into one with a parameter.
refactor gsrcv Simplify process_batch in jobs.py without changing behaviour; all tests must still pass
refactor gsrcp Migrate the components in src/widgets from classes to hooks, one at a time, starting with the smallest
refactor gsrc Convert the callbacks in api.js to async/await
refactor gs clean up the duplication
refactor gsrc Split main.go, it's 2,000 lines. Commands should go to cmd/.
refactor gsrc Use the shared date helper instead of the copies in invoice.py and report.py
plan gsrcp Make a plan for adding multi-tenancy to the orders service, no changes yet
plan gscp Write a proposal for how we version the public API
plan gscp How would you structure the permissions? Suggest two designs and say which you prefer.
plan gcp come up with a rollout plan for the new billing
plan gscp Draft an implementation plan first, we will go through it before you start
plan gsrcp Plan mode: think through the steps to replace the ORM in db/, list the risks
plan gscp what would be the best way to cache this? think hard and propose something
plan gc let's plan the next phase
question gc What does this error mean?
question gc is there a reason not to use an enum for this?
question gc Did you change anything else?
question gc and how would that work with two users?
question gc what if the file does not exist?
question gc Could we use a generator instead?
question gc So it is only called once per request?
question gc how did you test this?
question gc where do these values come from
question gc isn't that the same as before?
investigation grc Look at the PR comments on #88 and tell me which ones are still open
investigation gc can you check whether the other providers have the same problem?
investigation grck I see 3 entries in the table `jobs` although only one was queued. What is going on?
investigation grc Read docs/spec.md and summarize what is not implemented yet
investigation gck why did this pass on my machine?
investigation rc I just ran it again, the log is in /tmp/run.log
investigation grc find unused exports in src/lib
investigation grc Verify that the backup job really ran last night, the log is in var/backup.log
review gsrc Are all the error paths in this module covered? Go through it critically.
review gsrc Give me feedback on the structure of the new package
review gsr is there anything left to improve in this PR?
review gsrc can you have a second look at the changes and check that nothing is missing?
small_change gsrc also log the user id in that message
small_change gsrc can you also show the date in the list?
small_change gsrc let's use a constant for the 500 there
small_change gsrcv please add a test for this case
small_change gsrc move that sentence to the end of the section
small_change gsc no, keep the old name
small_change gsc address the second comment
small_change gsrc The comment above parse() is outdated, it still mentions XML. Update it.
small_change gsrcv There is no test for the empty list in test_stats.py. Consider adding one.
small_change gsrc put the new class into its own file
small_change gsrc Instead of printing, use the logger in worker.py
small_change gsrc we don't need the flag anymore, drop it
small_change gsc write a commit message and commit
small_change gsrc create a file notes.md with the summary
bug_fix rc now I get: permission denied while writing to /var/lib/data
bug_fix c did not work
bug_fix rc that's not right, the list is still empty after a refresh
bug_fix src The lock is released before the write is done, so two writers can corrupt the index.
bug_fix gsrc parse_date accepts the 31st of February. It should raise a ValueError.
bug_fix gsrck Messages arrive twice after a reconnect because the subscription is never removed. Remove it on close.
bug_fix src When the response has no body, client.ts throws. This breaks the login for new users.
bug_fix rc CI is red on main, take a look
bug_fix gsrcv Fix the failing test test_merge_empty, the code should handle None
bug_fix gsrc There's a race between start() and stop() in pool.rs that leaves a thread behind. Guard it.
feature gsrc Now add the same for the mobile app
feature gsc When the user is offline, show a banner and queue the changes until the connection is back
feature gsrc I want a `--watch` option that reruns the build whenever a file changes
feature gc Could we send a weekly summary to all admins automatically?
feature gsrc Let users pick a color per project; store it in the projects table and show it in the sidebar
feature gsrcp Start with step 1 of the plan: the data model
feature gscp 1. yes 2. only admins 3. the second option. Go ahead and build it.
feature gsrc It would be nice to be able to undo a delete for ten seconds
refactor gsrc The retry logic is duplicated in three clients. Extract it.
refactor gsrc Turn the god class App into smaller services, start with AppMailer
refactor gsrc replace the hand-written parser with the standard library's
refactor gsrc Unify the naming across the modules: always `fetch_`, never `get_`
refactor gsrc Can we make this generic so both providers share the code?
refactor gsrc Reorganize the tests by feature, one folder each
refactor gsrcp First list what would break, then move the types out of index.ts into a types package
"""


def examples() -> list[tuple[str, Intent, dict[BooleanName, bool]]]:
    """The prompts with their intents and the booleans that apply to them."""
    return [_example(line) for line in _LINES.strip().splitlines()]


def _example(line: str) -> tuple[str, Intent, dict[BooleanName, bool]]:
    name, letters, text = line.split(" ", 2)
    intent = next(each for each in INTENTS if each == name)
    true = {_LETTERS[letter] for letter in letters}
    return text, intent, {boolean: boolean in true for boolean in applicable(intent)}
