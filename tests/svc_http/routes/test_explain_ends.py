"""Explanations of where a goal begins and ends, of what it takes up again, and of what people said about it."""

import pytest

from aggregates.capture.events import RecordsCaptured
from aggregates.records.record import STOP_FAILURE
from tests.support.basics import ANA_SCOPE
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, prompt_name, request, shell
from tests.svc_http.house import Caller, House
from tests.svc_http.routes.test_explain import ADD, explained, explanations, of, whats, worked
from tests.svc_http.routes.test_reads import ASK, a_days_work

SHIFT = (
    "New task: write a migration that adds a `due` column to the invoices table in db/schema.sql, "
    "with an index, and document it in docs/database.md."
)


@pytest.mark.parametrize("together", [False, True], ids=["one fact each", "both in one export"])
async def test_another_topic(house: House, api: Caller, together: bool) -> None:
    """The boundary judge's evidence, in the words of the prompt that opened it; prompts of one export share a place."""
    log = Log(ANA_SCOPE).claim("a")
    told = [
        {"kind": "prompt", "at_us": MONDAY, "text": ASK, "record_id": "one"},
        *(request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND, path="src/parser.py")),
        {"kind": "prompt", "at_us": MONDAY + HOUR, "text": SHIFT, "record_id": "two"},
        *(request(MONDAY + HOUR + SECOND), edit(MONDAY + HOUR + 2 * SECOND, path="db/schema.sql")),
    ]
    for batch in [told] if together else [told[:3], told[3:]]:
        log.records("a", *batch)
    boundary = (await of(house, api, log, after_us=3 * HOUR))["boundary"]
    assert (boundary["kind"], boundary["judge"], boundary["confidence"] > 0.5) == ("topic", "embedded/2", True)
    assert {piece["quote"] for piece in boundary["evidence"]} == {SHIFT}
    before = (await explanations(api))[1]
    assert before["boundary"]["closed_by"] == "topic"
    assert before["verdict"].endswith("Unsure: where it ends. One goal or two?")
    assert "One click at the next goal settles it." in before["boundary"]["text"][-1]
    assert SHIFT not in {piece["quote"] for piece in before["outcome"]["evidence_against"]}


@pytest.mark.parametrize(("kind", "quote"), [("clear", None), ("commit", "git commit -am 'Empty input'")])
async def test_boundaries_that_were_seen(house: House, api: Caller, kind: str, quote: str | None) -> None:
    """A clear, and a commit with its command, each at the fact in which it was reported."""
    clear = {"kind": "session_start", "source": "clear", "at_us": MONDAY + MINUTE}
    log = worked().records("a", clear if quote is None else shell(MONDAY + MINUTE, quote))
    log.prompt("a", "Write a page in docs/start.md about installing the tool on Windows.", MONDAY + HOUR)
    boundary = (await of(house, api, log))["boundary"]
    piece, *judged = boundary["evidence"]
    assert (boundary["kind"], piece["what"], piece["quote"]) == (kind, f"the {kind} before it", quote)
    assert isinstance(house.events[piece["position"] - 1], RecordsCaptured)
    assert {each["quote"][:12] for each in judged} == {"Write a page"}
    assert (boundary["judge"], bool(boundary["signals"])) == ((None, False) if quote is None else ("embedded/2", True))


MERGED: dict[str, tuple[int, int, str, int, str]] = {
    "by the rule": (3 * MINUTE, 7, "src/parser.py", 1, "with 1 file in common."),
    "by a person": (5 * HOUR, 8, "web/list.css", 0, "joined to it because you said so."),
}


@pytest.mark.parametrize("case", MERGED)
async def test_a_merge(house: House, api: Caller, case: str) -> None:
    """What was joined across a session's end, and why."""
    after_us, folder, path, shared, why = MERGED[case]
    log = worked(cwd_digest=7).records("a", {"kind": "session_end", "at_us": MONDAY + MINUTE})
    later = log.prompt("b", "Also handle a file of blanks.", MONDAY + after_us, cwd_digest=folder)
    log.records("b", edit(MONDAY + after_us + MINUTE, path=path))
    if not shared:
        log.corrects_gap("b", later, boundary=False)
    shown = await of(house, api, log)
    (merged,) = shown["boundary"]["merged"]
    gap_seconds = (after_us - MINUTE) / SECOND
    assert (merged["agent_session_id"], merged["gap_seconds"], merged["shared_files"]) == ("b", gap_seconds, shared)
    assert (shown["boundary"]["text"][1].endswith(why), shown["agent_session_ids"]) == (True, ["a", "b"])


async def test_a_person_split_it(house: House, api: Caller) -> None:
    log = worked()
    second = log.prompt("a", "Also handle a file of blanks.", MONDAY + MINUTE)
    shown = await of(house, api, log.corrects_gap("a", second, boundary=True))
    assert (shown["boundary"]["kind"], shown["boundary"]["text"][0]) == ("person", "It opens here because you said so.")
    assert [each["action"] for each in shown["overrides"]] == ["split_at_turn"]


async def test_rework(house: House, api: Caller) -> None:
    """Which earlier work it takes up again, and why."""
    log = Log(ANA_SCOPE)
    for session, at_us in (("a", MONDAY), ("b", MONDAY + DAY)):
        log.works(session, at_us, ADD, "src/parser.py")
    again, first = await of(house, api, log, "b"), await explained(api, "a")
    rework = again["rework"]
    assert (rework["rework"], rework["rework_of"]) == (True, first["score_v3_sub_session_id"])
    assert (rework["reason"], rework["shared_files"], rework["likeness"]) == ("repeats", 1, 1.0)
    assert rework["positions"] == [first["positions"][0], again["boundary"]["positions"][0]]
    house.has_seen(Log(ANA_SCOPE).corrects_rework("b", prompt_name("b", ADD, MONDAY + DAY), False))
    assert "you said that it is none" in (await explained(api, "b"))["rework"]["text"][0]


async def test_what_people_said_stands_beside_what_was_judged(house: House, api: Caller) -> None:
    """Their word counts; what was judged without it is told, too."""
    a_days_work(house)
    first = prompt_name("a", ASK, MONDAY)
    log = Log(ANA_SCOPE).corrects_intent("a", first, "review")
    house.has_seen(log.corrects_goal("a", first, False).corrects_rework("a", first, True))
    shown = await explained(api, "a")
    assert "You said that it is a review; without that it was judged as a bug fix." in shown["rubric"]["text"]
    assert (shown["rubric"]["intent_class"], shown["rubric"]["intent_prompt_id"]) == ("review", None)
    assert "You said that it was not reached; that counts." in shown["outcome"]["text"]
    assert shown["rework"]["text"] == ["It is rework because you said so; no rule finds of what."]
    said = {(each["field"], each["action"], each["intent_class"]) for each in shown["overrides"]}
    assert said == {
        ("label", "set_intent", "review"),
        ("completion", "mark_incomplete", None),
        ("rollback", "mark_rework", None),
    }
    assert {each["prompt_id"] for each in shown["overrides"]} == {str(first)}
    house.has_seen(Log(ANA_SCOPE).corrects_goal("a", first, True).renames(first, "Mine"))
    now = {each["action"] for each in (await explained(api, "a"))["overrides"]}
    assert now == {"set_intent", "mark_rework", "mark_complete", "rename"}


async def test_words_of_the_next_goal_are_told_as_such(house: House, api: Caller) -> None:
    log = worked()
    log.prompt("a", "test_logo still fails", MONDAY + HOUR)
    log.records("a", *(shell(MONDAY + HOUR + at, "pytest", ok=at == 1) for at in (1, 2)), request(MONDAY + HOUR + 3))
    later = log.prompt("a", "no thats not it, the logo", MONDAY + 2 * HOUR)
    await of(house, api, log.corrects_gap("a", later, boundary=True))
    (told,) = (each["outcome"]["evidence_against"] for each in (await explanations(api))[1:])
    assert "the last prompt speaks of a failure" in whats(told)
    (said,) = [(each["what"], each["quote"]) for each in told if each["next_goal"]]
    assert said == ("the next prompt's words read like a correction or a repetition", "no thats not it, the logo")


FAIL = "Make the export in src/export.ts work again. The check is `sh fail.sh`."
STATED = "The test still fails; I could not find the reason."


async def test_an_evident_failure_is_told_with_the_check_and_the_words(house: House, api: Caller) -> None:
    log, at = Log(ANA_SCOPE), [MONDAY + number * SECOND for number in range(9)]
    asked = log.prompt("a", FAIL, at[0])
    failed = (shell(second, "bash -lc 'sh fail.sh'", ok=False, tool="exec_command") for second in (at[2], at[5]))
    log.records("a", request(at[1]), next(failed), edit(at[3]), request(at[4]), next(failed), request(at[6]))
    log.answer("a", asked, f"I changed the export twice, see `src/export.ts`. {STATED}\n\n- one\n- two", at[7])
    shown = (await of(house, api, log))["outcome"]
    told = {each["what"]: (each["who"], each["quote"]) for each in shown["evidence_against"]}
    assert told["the last check failed"] == ("the tools", "bash -lc 'sh fail.sh'")
    assert told["the last answer tells of a failure"] == ("the agent", STATED)
    assert (shown["goal_complete"], shown["confidence"], shown["undecided_reason"]) == (False, 0.98, None)


async def test_a_check_that_passed_is_quoted_though_another_turn_names_its_own(house: House, api: Caller) -> None:
    log = worked("Rename the helper in src/parser.py to load")
    log.records("a", shell(MONDAY + MINUTE, "go build ./..."))
    asked = log.prompt("a", "and does it have tests so far?", MONDAY + 2 * MINUTE)
    shown = (await of(house, api, log.answer("a", asked, "No.", MONDAY + 3 * MINUTE)))["outcome"]["evidence_for"]
    assert [each["quote"] for each in shown if "check was run" in each["what"]] == ["go build ./..."]


@pytest.mark.parametrize("told_twice", [False, True], ids=["by a hook alone", "by the agent's own log as well"])
async def test_a_failure_that_a_hook_tells_speaks_against_the_goal_and_is_no_request(
    house: House, api: Caller, told_twice: bool
) -> None:
    """The agent's own log tells of the request; however much was changed and committed before, the goal ends on it."""
    failed = {"kind": "error", "at_us": MONDAY + 5 * SECOND, "status_code": 529}
    log = worked().records("a", shell(MONDAY + 3 * SECOND, "pytest -q"), shell(MONDAY + 4 * SECOND, "git commit -am x"))
    log.records("a", failed | {"name": STOP_FAILURE, "source": "hook"}, *([failed] if told_twice else []))
    shown = (await of(house, api, log))["outcome"]
    assert shown["goal_complete"] is False
    assert "ends on an API error that was not recovered" in whats(shown["evidence_against"])
    errors = (await api.get("/v1/telemetry/analytics?from=2026-01-05&to=2026-01-06")).json["errors"]
    assert sum(each["count"] for each in errors) == int(told_twice)
