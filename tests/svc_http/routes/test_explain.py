"""Explanations: each part says what was decided, by which words and facts, and what was not observed."""

from typing import Any

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from projections.explain.boundary import KEPT_MAX
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, prompt_name, request, shell
from tests.support.people import ANA_SCOPE
from tests.svc_http.house import Caller, House, prompt
from tests.svc_http.routes.test_reads import ASK, V3, a_days_work

ADD = "Add a --json flag to src/parser.py and a test for it"
PARTS = ("boundary", "floor", "rubric", "outcome", "rework")


async def explained(api: Caller, session: str) -> dict[str, Any]:
    rows = (await api.get(f"{V3}/realtime/sub-sessions?agent_session_id={session}")).json
    shown = (await api.get(f"{V3}/sub-sessions/{rows[0]['score_v3_sub_session_id']}/explain")).json
    assert isinstance(shown, dict)
    return shown


def whats(pieces: list[dict[str, Any]]) -> list[str]:
    return [piece["what"] for piece in pieces]


async def test_every_part_names_facts_of_the_log(house: House, api: Caller) -> None:
    """Those of the developer's own captures of this sub-session; the rule set and the judges are named."""
    a_days_work(house)
    shown = await explained(api, "a")
    assert (shown["rules_version"], shown["judges"], shown["overrides"]) == (2, ["embedded/2"], [])
    for part in PARTS:
        assert shown[part]["positions"], part
        assert set(shown[part]["positions"]) <= set(shown["positions"])
        assert all(isinstance(sentence, str) and len(sentence) > 10 for sentence in shown[part]["text"])
    for position in shown["positions"]:
        event = house.events[position - 1]
        assert isinstance(event, PromptCaptured | PromptAnswered | RecordsCaptured)
        assert (event.developer_id, event.agent_session_id) == (ANA_SCOPE.developer_id, "a")


async def test_the_words_that_earned_a_boolean(house: House, api: Caller) -> None:
    """They stand in the prompt, letter by letter; what was missed says what is missing."""
    a_days_work(house)
    rubric = (await explained(api, "a"))["rubric"]
    (own,) = rubric["prompts"]
    asked = {"asked_of": [own["position"]]}
    assert {name: each | asked for name, each in own["booleans"].items()} == rubric["booleans"]
    assert rubric["booleans"]["references_concrete"]["quote"] == "src/parser.py"
    for each in rubric["booleans"].values():
        assert (each["prompt_id"] is not None) == each["earned"]
        assert each["quote"] is None or each["quote"] in ASK
        assert (each["quote"] is None) == ("no words" in each["what"])
        assert each["what"]
    (item,) = (await api.get(f"{V3}/insight/sessions")).json
    assert (rubric["letter_grade"], rubric["intent_class"]) == (item["letter_grade"], item["intent_class"])
    assert {name: None if each["unsure"] else each["earned"] for name, each in rubric["booleans"].items()} == {
        name: item[name] for name in rubric["booleans"]
    }


WHY = (
    "Why does the login in src/auth.py time out after 30 s? Find the cause, fix only that file and run pytest "
    "tests/test_auth.py; leave the API alone."
)
COMMIT = "Great, commit that with a message that says why."
BLUE = "make the button blue"


def asks_why_then_commits(house: House) -> None:
    """An investigation that names a test, two small changes that name none, the last after two hours."""
    log = Log(ANA_SCOPE)
    log.prompt("a", WHY, MONDAY)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND, path="src/auth.py"))
    log.prompt("a", COMMIT, MONDAY + MINUTE)
    log.records("a", shell(MONDAY + MINUTE + SECOND, "git commit -am 'Time out'"))
    log.prompt("a", BLUE, MONDAY + 2 * HOUR)
    log.records("a", edit(MONDAY + 2 * HOUR + SECOND, path="web/button.css"))
    house.has_seen(log)
    house.passes(MONDAY + 4 * HOUR)


async def test_a_missed_habit_points_at_a_prompt_of_which_it_was_asked(house: House, api: Caller) -> None:
    """The first prompt names a test, and is an investigation by itself: of it no check was asked."""
    asks_why_then_commits(house)
    rubric = (await explained(api, "a"))["rubric"]
    why, commit, blue = rubric["prompts"]
    assert (rubric["intent_class"], why["intent_class"]) == ("small_change", "investigation")
    assert rubric["text"][0].endswith(", the first that asks for a change.")
    missed = rubric["booleans"]["verification_requested"]
    assert (missed["earned"], missed["position"]) == (False, commit["position"])
    assert missed["asked_of"] == [commit["position"], blue["position"]]
    assert missed["what"] == (
        "no words of its own were found for a test, expected output or check; asked of 2 prompts, and none of them "
        "earned it; not asked of 1 prompt: it does not apply to an investigation"
    )
    assert why["not_asked"] == ["scope_bounded", "verification_requested"]
    assert "Not asked of it, since it does not apply to an investigation: scope_bounded, ver" in why["text"]
    assert (commit["not_asked"], "Not asked" in commit["text"]) == ([], False)
    assert rubric["booleans"]["references_concrete"]["asked_of"] == [each["position"] for each in rubric["prompts"]]


async def test_a_habit_that_was_asked_of_no_prompt(house: House, api: Caller) -> None:
    """A person named another kind of work than every prompt was judged as: nothing is said to be absent."""
    log = Log(ANA_SCOPE)
    first = log.prompt("a", BLUE, MONDAY)
    log.corrects_intent("a", first, "bug_fix")
    house.has_seen(log)
    rubric = (await explained(api, "a"))["rubric"]
    assert rubric["prompts"][0]["intent_class"] != "bug_fix"
    cause = rubric["booleans"]["root_cause_oriented"]
    assert (cause["earned"], cause["position"], cause["asked_of"]) == (False, None, [])
    assert cause["what"] == "asked of none of its prompts: it does not apply to what each was judged as"


async def test_the_work_that_speaks_for_completion(house: House, api: Caller) -> None:
    """A check with its command, a change with its path, each at the fact in which it was reported."""
    a_days_work(house)
    outcome = (await explained(api, "a"))["outcome"]
    pieces = {piece["what"]: piece for piece in outcome["evidence_for"]}
    assert pieces["a check succeeded after the last change"]["quote"] == "pytest -q"
    assert pieces["a change was made and answered for"]["quote"] == "src/parser.py"
    assert isinstance(house.events[pieces["a check succeeded after the last change"]["position"] - 1], RecordsCaptured)
    assert (outcome["goal_complete"], outcome["evidence_against"]) == (True, [])
    assert (outcome["completion_floor"], outcome["not_observed"]) == (0.85, ["the text of 1 answer: not observed"])


async def test_an_end_that_is_never_complete(house: House, api: Caller) -> None:
    """The error stands at the fact in which it was reported; likely or not, it does not count."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND))
    log.records("a", {"kind": "error", "at_us": MONDAY + MINUTE, "status_code": 500})
    house.has_seen(log)
    house.passes(MONDAY + HOUR)
    outcome = (await explained(api, "a"))["outcome"]
    against = {piece["what"]: piece["position"] for piece in outcome["evidence_against"]}
    assert against["ends on an API error that was not recovered"] == len(house.events) - 1
    assert outcome["goal_complete"] is False
    assert "never complete" in outcome["text"][-1]


async def test_what_was_not_observed_is_said(house: House, intake: Caller, api: Caller) -> None:
    """A plugin without telemetry sees no tool: no rule over tools fired."""
    await intake.post("/v1/prompts", prompt(ASK, tool_session_id="s1"))
    house.passes(house.clock_us + HOUR)
    shown = await explained(api, "s1")
    unseen = "what the agent did in 1 of 1 turn: not observed"
    assert shown["floor"]["not_observed"] == shown["outcome"]["not_observed"] == [unseen]
    assert shown["rework"]["not_observed"] == ["which files it touched: not observed"]
    assert shown["boundary"]["not_observed"] == [
        "the working directory: not observed, so nothing could be merged across a clear or an end"
    ]
    assert "a change was asked for and none was seen" not in whats(shown["outcome"]["evidence_against"])
    assert (shown["floor"]["reason"], shown["floor"]["passed"]) == ("too_few_turns", False)


async def test_what_was_not_observed_is_not_said_to_have_been_none(house: House, api: Caller) -> None:
    """The floor is not passed; whether there was work nobody can tell."""
    log = Log(ANA_SCOPE)
    first = log.prompt("a", ASK, MONDAY)
    log.answer("a", first, "The notes were created.", MONDAY + SECOND)
    house.has_seen(log)
    house.passes(MONDAY + DAY)
    shown = await explained(api, "a")
    assert shown["verdict"].startswith("Nobody can tell whether it counts as work. What the agent did was not observed")
    told = " ".join(shown["floor"]["text"])
    assert "no tool ran" not in told
    assert "what else the agent did was not observed" in told


async def test_nothing_for_it_is_no_balance(house: House, api: Caller) -> None:
    """What speaks against it stands alone, with the agent's own last words."""
    log = Log(ANA_SCOPE)
    for place, asked in enumerate((ADD, "Then add the same flag to src/printer.py", "And one to src/reader.py too")):
        said = log.prompt("a", asked, MONDAY + place * MINUTE)
        log.answer("a", said, f"{'It reads well. ' * 40}Now I will write the parser:", MONDAY + place * MINUTE + SECOND)
    house.has_seen(log)
    house.passes(MONDAY + DAY)
    shown = await explained(api, "a")
    assert "nothing shows that it was reached" in shown["verdict"]
    (broke_off,) = shown["outcome"]["evidence_against"]
    assert broke_off["who"] == "the agent"
    assert broke_off["quote"].startswith("It reads well.")
    assert broke_off["quote"].endswith("Now I will write the parser:")


async def test_the_text_of_a_command_says_that_it_is_one(house: House, api: Caller) -> None:
    """An agent put it behind the command at once: it is not judged, and no boundary parts the two."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ADD, MONDAY)
    log.prompt("a", "/fix-ci", MONDAY + HOUR)
    log.prompt("a", f"CI fails. Use an agent to find out why, and mend it. {ADD}.", MONDAY + HOUR + 2 * SECOND)
    log.records("a", request(MONDAY + HOUR + MINUTE), edit(MONDAY + HOUR + MINUTE, path="src/cli.py"))
    house.has_seen(log)
    house.passes(MONDAY + 2 * DAY)
    last = (await explained(api, "a"))["rubric"]["prompts"][-1]
    assert last["judge_status"] == "skipped"
    assert last["text"] == "Not judged: it is the text of the command before it, put there by the agent."


async def test_tools_without_their_details(house: House, api: Caller) -> None:
    """Which file, which lines, which command: not observed; the shell call counts as changing something."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY)
    log.records(
        "a",
        {"kind": "tool", "tool": "Edit", "at_us": MONDAY + SECOND, "ok": True},
        {"kind": "tool", "tool": "Bash", "at_us": MONDAY + 2 * SECOND, "ok": True},
    )
    house.has_seen(log)
    floor = (await explained(api, "a"))["floor"]
    assert floor["not_observed"] == [
        "the commands of 1 shell call: not observed",
        "the files of 1 edit: not observed",
        "the changed lines of 1 edit: not observed",
    ]
    assert (floor["passed"], floor["mutating_calls"]) == (True, 2)


async def test_prompts_without_text(house: House, api: Caller) -> None:
    """An agent that sends no prompt text: the prompt is counted, and nothing is judged."""
    log = Log(ANA_SCOPE)
    log.claim("a")
    log.records("a", {"kind": "prompt", "at_us": MONDAY}, request(MONDAY + SECOND))
    house.has_seen(log)
    house.passes(MONDAY + HOUR)
    rubric = (await explained(api, "a"))["rubric"]
    assert rubric["not_observed"] == ["the text of 1 prompt: not observed"]
    (own,) = rubric["prompts"]
    assert (own["judge_status"], own["text"]) == ("skipped", "Not judged: its text was not observed.")
    assert (rubric["booleans"], rubric["letter_grade"], rubric["intent_class"]) == ({}, None, "unclassified")


async def test_an_open_one(intake: Caller, api: Caller) -> None:
    """What is judged at settling is null, and says so."""
    await intake.post("/v1/prompts", prompt(ASK, tool_session_id="s1"))
    shown = await explained(api, "s1")
    assert shown["is_preview"]
    assert (shown["outcome"]["goal_complete"], shown["rework"]["rework"]) == (None, None)
    assert "still open" in shown["outcome"]["text"][0]
    assert "settles after 30 minutes" in shown["boundary"]["text"][-1]


async def test_another_topic(house: House, api: Caller) -> None:
    """The boundary judge's evidence, in the words of the prompt that opened it."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY, cwd_digest=7)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND, path="src/parser.py"))
    shift = (
        "New task: write a migration that adds a `due` column to the invoices table in db/schema.sql, "
        "with an index, and document it in docs/database.md."
    )
    log.prompt("a", shift, MONDAY + HOUR)
    log.records("a", request(MONDAY + HOUR + SECOND), edit(MONDAY + HOUR + 2 * SECOND, path="db/schema.sql"))
    house.has_seen(log)
    house.passes(MONDAY + 3 * HOUR)
    boundary = (await explained(api, "a"))["boundary"]
    assert (boundary["kind"], boundary["judge"]) == ("topic", "embedded/2")
    assert boundary["confidence"] > 0.5
    assert boundary["evidence"]
    assert {piece["quote"] for piece in boundary["evidence"]} == {shift}
    rows = (await api.get(f"{V3}/realtime/sub-sessions")).json
    before = (await api.get(f"{V3}/sub-sessions/{rows[1]['score_v3_sub_session_id']}/explain")).json
    assert before["boundary"]["closed_by"] == "topic"
    assert before["verdict"].endswith("Unsure: where it ends. One goal or two?")
    assert "One click at the next goal settles it." in before["boundary"]["text"][-1]
    assert shift not in {piece["quote"] for piece in before["outcome"]["evidence_against"]}


async def test_the_next_turn_is_quoted_where_one_export_told_of_both(house: House, api: Caller) -> None:
    """Prompts of one export share a position."""
    shift = "New task: write a migration that adds a `due` column to the invoices table in db/schema.sql."
    log = Log(ANA_SCOPE).claim("a")
    log.records(
        "a",
        {"kind": "prompt", "at_us": MONDAY, "text": ASK, "record_id": "one"},
        request(MONDAY + SECOND),
        edit(MONDAY + 2 * SECOND, path="src/parser.py"),
        {"kind": "prompt", "at_us": MONDAY + HOUR, "text": shift, "record_id": "two"},
        request(MONDAY + HOUR + SECOND),
        edit(MONDAY + HOUR + 2 * SECOND, path="db/schema.sql"),
    )
    house.has_seen(log)
    house.passes(MONDAY + 3 * HOUR)
    rows = (await api.get(f"{V3}/realtime/sub-sessions")).json
    assert len(rows) == 2
    later = (await api.get(f"{V3}/sub-sessions/{rows[0]['score_v3_sub_session_id']}/explain")).json
    assert {piece["quote"] for piece in later["boundary"]["evidence"]} == {shift}


async def test_boundaries_that_were_seen(house: House, api: Caller) -> None:
    """A clear, and a commit with its command, each at the fact in which it was reported."""
    log = Log(ANA_SCOPE)
    for session, done in (("a", "clear"), ("b", "commit")):
        log.prompt(session, ASK, MONDAY)
        log.records(session, request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND, path="src/parser.py"))
        if done == "clear":
            log.records(session, {"kind": "session_start", "source": "clear", "at_us": MONDAY + MINUTE})
        else:
            log.records(session, shell(MONDAY + MINUTE, "git commit -am 'Empty input'"))
        log.prompt(session, "Write a page in docs/start.md about installing the tool on Windows.", MONDAY + HOUR)
    house.has_seen(log)
    cleared, committed = await explained(api, "a"), await explained(api, "b")
    for shown, kind, quote in ((cleared, "clear", None), (committed, "commit", "git commit -am 'Empty input'")):
        piece, *judged = shown["boundary"]["evidence"]
        assert (shown["boundary"]["kind"], piece["what"], piece["quote"]) == (kind, f"the {kind} before it", quote)
        assert isinstance(house.events[piece["position"] - 1], RecordsCaptured)
        assert {each["quote"][:12] for each in judged} == {"Write a page"}
    assert [each["what"] for each in cleared["boundary"]["evidence"][1:]] == ["its first prompt"]
    assert (cleared["boundary"]["judge"], cleared["boundary"]["signals"]) == (None, [])
    weighed = {each["what"]: each["weight"] for each in committed["boundary"]["signals"]}
    assert (committed["boundary"]["judge"], weighed["its changes were committed just before"]) == ("embedded/2", 0.7)
    assert sum(weighed.values()) > 0


async def test_prompts_that_stayed(house: House, api: Caller) -> None:
    """Each with the judge and what it weighed, whatever came before; the nearest to a boundary is told in words."""
    asks_why_then_commits(house)
    shown = await explained(api, "a")
    boundary, (_, commit, blue) = shown["boundary"], shown["rubric"]["prompts"]
    assert [each["prompt_id"] for each in boundary["kept"]] == [commit["prompt_id"], blue["prompt_id"]]
    assert {each["judge"] for each in boundary["kept"]} == {"embedded/2"}
    last = boundary["kept"][-1]
    weighed = {each["what"]: each["weight"] for each in last["signals"]}
    assert next(iter(weighed)) == "as prompts mostly go on, before any signal"
    assert weighed["its changes were committed just before"] > 0
    assert (sum(weighed.values()) < 0, last["confidence"] > 0.5) == (True, True)
    assert (boundary["kept_not_shown"], blue["position"] in boundary["positions"]) == (0, True)
    assert "2 later prompts stayed in it." in boundary["text"]
    nearest = next(sentence for sentence in boundary["text"] if sentence.startswith("Nearest to a boundary was"))
    assert "That 119 minutes had passed is not weighed: time counts only where a prompt stands apart" in nearest


async def test_prompts_that_could_not_open_another_topic(house: House, api: Caller) -> None:
    """Nothing was weighed of them; and only so many are told of."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY)
    for place in range(1, KEPT_MAX + 3):
        log.prompt("a", f"/compact {place}", MONDAY + place * SECOND)
    house.has_seen(log)
    boundary = (await explained(api, "a"))["boundary"]
    assert (len(boundary["kept"]), boundary["kept_not_shown"]) == (KEPT_MAX, 2)
    assert {each["text"] for each in boundary["kept"]} == {"It opens no other topic, whatever it says: only navigates."}
    assert boundary["kept"][0]["signals"] == []
    assert f"{KEPT_MAX + 2} later prompts stayed in it." in boundary["text"]


async def test_a_person_split_it(house: House, api: Caller) -> None:
    """Then that is the reason."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY)
    second = log.prompt("a", "Also handle a file of blanks.", MONDAY + MINUTE)
    log.corrects_gap("a", second, boundary=True)
    house.has_seen(log)
    boundary = (await explained(api, "a"))["boundary"]
    assert (boundary["kind"], boundary["text"][0]) == ("person", "It opens here because you said so.")
    (override,) = (await explained(api, "a"))["overrides"]
    assert (override["action"], override["prompt_id"]) == ("split_at_turn", str(second))


async def test_a_merge(house: House, api: Caller) -> None:
    """What was joined across a session's end, and why."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY, cwd_digest=7)
    log.records("a", edit(MONDAY + SECOND, path="src/parser.py"), {"kind": "session_end", "at_us": MONDAY + MINUTE})
    log.prompt("b", "Also handle a file of blanks.", MONDAY + 3 * MINUTE, cwd_digest=7)
    log.records("b", edit(MONDAY + 4 * MINUTE, path="src/parser.py"))
    house.has_seen(log)
    house.passes(MONDAY + 2 * HOUR)
    shown = await explained(api, "a")
    (merged,) = shown["boundary"]["merged"]
    assert (merged["agent_session_id"], merged["gap_seconds"], merged["shared_files"]) == ("b", 120.0, 1)
    assert any("1 file in common" in sentence for sentence in shown["boundary"]["text"])
    assert shown["agent_session_ids"] == ["a", "b"]


async def test_a_merge_by_a_person(house: House, api: Caller) -> None:
    """That is the reason, though an end lies between: hours apart, and over other files."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY, cwd_digest=7)
    log.records("a", edit(MONDAY + SECOND, path="src/parser.py"), {"kind": "session_end", "at_us": MONDAY + MINUTE})
    later = log.prompt("b", "Also handle a file of blanks.", MONDAY + 5 * HOUR, cwd_digest=8)
    log.records("b", edit(MONDAY + 5 * HOUR + MINUTE, path="web/list.css"))
    log.corrects_gap("b", later, boundary=False)
    house.has_seen(log)
    house.passes(MONDAY + 7 * HOUR)
    boundary = (await explained(api, "a"))["boundary"]
    assert boundary["merged"][0]["shared_files"] == 0
    assert "What began at 2026-01-05T14:00:00Z was joined to it because you said so." in boundary["text"]
    assert "minutes of the close" not in " ".join(boundary["text"])


async def test_rework(house: House, api: Caller) -> None:
    """Which earlier work it takes up again, and why."""
    log = Log(ANA_SCOPE)
    for session, at_us in (("a", MONDAY), ("b", MONDAY + DAY)):
        log.prompt(session, ADD, at_us, cwd_digest=7)
        log.records(
            session,
            request(at_us + SECOND),
            edit(at_us + 2 * SECOND, path="src/parser.py"),
            shell(at_us + MINUTE, "pytest -q"),
            {"kind": "session_end", "source": "exit", "at_us": at_us + 61 * SECOND},
        )
    house.has_seen(log)
    house.passes(MONDAY + 2 * DAY)
    first, again = await explained(api, "a"), await explained(api, "b")
    rework = again["rework"]
    assert (rework["rework"], rework["rework_of"]) == (True, first["score_v3_sub_session_id"])
    assert (rework["reason"], rework["shared_files"], rework["likeness"]) == ("repeats", 1, 1.0)
    assert rework["positions"] == [first["positions"][0], again["boundary"]["positions"][0]]
    assert (first["rework"]["rework"], first["rework"]["reason"]) == (False, None)
    house.has_seen(Log(ANA_SCOPE).corrects_rework("b", prompt_name("b", ADD, MONDAY + DAY), False))
    denied = (await explained(api, "b"))["rework"]
    assert (denied["rework"], denied["rework_of"], denied["reason"]) == (False, None, None)
    assert "you said that it is none" in denied["text"][0]


async def test_what_people_said_stands_beside_what_was_judged(house: House, api: Caller) -> None:
    """Their word counts; what was judged without it is told, too."""
    a_days_work(house)
    log = Log(ANA_SCOPE)
    first = prompt_name("a", ASK, MONDAY)
    log.corrects_intent("a", first, "review").corrects_goal("a", first, False).corrects_rework("a", first, True)
    house.has_seen(log)
    shown = await explained(api, "a")
    assert "You said that it is a review; without that it was judged as a bug fix." in shown["rubric"]["text"]
    assert (shown["rubric"]["intent_class"], shown["rubric"]["intent_prompt_id"]) == ("review", None)
    assert "You said that it was not reached; that counts." in shown["outcome"]["text"]
    assert (shown["outcome"]["goal_complete"], shown["rework"]["rework"]) == (False, True)
    assert (shown["rework"]["rework_of"], shown["rework"]["reason"]) == (None, None)
    assert shown["rework"]["text"] == ["It is rework because you said so; no rule finds of what."]
    said = [(each["field"], each["action"], each["intent_class"]) for each in shown["overrides"]]
    assert said == [
        ("label", "set_intent", "review"),
        ("completion", "mark_incomplete", None),
        ("rollback", "mark_rework", None),
    ]
    assert {each["prompt_id"] for each in shown["overrides"]} == {str(first)}
    assert {each["position"] for each in shown["overrides"]} <= set(shown["positions"])
    house.has_seen(Log(ANA_SCOPE).corrects_goal("a", first, True).renames(first, "Mine"))
    now = [(each["field"], each["action"]) for each in (await explained(api, "a"))["overrides"]]
    assert now == [
        ("label", "set_intent"),
        ("rollback", "mark_rework"),
        ("completion", "mark_complete"),
        ("label", "rename"),
    ]


async def test_the_verdict_comes_first_and_numbers_last(house: House, api: Caller) -> None:
    """In one sentence with how sure it is; no logit stands before a word."""
    a_days_work(house)
    shown = await explained(api, "a")
    assert shown["verdict"].startswith("A bug fix that reached its goal, ")
    assert "% sure; its prompts stand at " in shown["verdict"]
    assert list(shown).index("verdict") < list(shown).index("rubric") < list(shown).index("outcome")
    assert list(shown).index("outcome") < list(shown).index("boundary") < list(shown).index("details")
    sentences = [line for part in PARTS for line in shown[part]["text"]]
    assert not any("(+" in line or "(-" in line for line in sentences)
    assert any("completion is" in line for line in shown["details"])
    trivia = await explained(api, "b")
    assert trivia["verdict"].startswith("Too little to count as work.")


async def test_what_earned_a_habit_is_marked_and_what_was_missed_is_written_for_this_prompt(
    house: House, api: Caller
) -> None:
    """Spans point into the prompt's own text; the way to earn a habit begins with its own sentence."""
    log = Log(ANA_SCOPE)
    log.prompt("a", "Add a --json flag to src/cli.py.", MONDAY)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + MINUTE, path="src/cli.py"))
    house.has_seen(log)
    house.passes(MONDAY + DAY)
    habits = (await explained(api, "a"))["rubric"]["booleans"]
    named = habits["references_concrete"]
    assert (named["earned"], named["unsure"], named["how_to_earn"]) == (True, False, None)
    assert "Add a --json flag to src/cli.py."[named["span"]["start"] : named["span"]["end"]] == named["quote"]
    missed = habits["verification_requested"]
    assert (missed["earned"], missed["unsure"]) == (False, False)
    assert missed["how_to_earn"].startswith("“Add a --json flag to src/cli.py. Verify that …”")


async def test_what_speaks_for_and_against_says_who_and_when(house: House, api: Caller) -> None:
    """The developer, the agent or the tools; at the time of the turn."""
    a_days_work(house)
    outcome = (await explained(api, "a"))["outcome"]
    pieces = [*outcome["evidence_for"], *outcome["evidence_against"]]
    assert pieces
    assert {piece["who"] for piece in pieces} <= {"you", "the agent", "the tools"}
    assert any(piece["at"] is not None for piece in pieces)
