"""Explanations: each part says what was decided, by which words and facts, and what was not observed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import given

from aggregates.capture.events import PromptCaptured, RecordsCaptured
from aggregates.event import Event, Words
from projections.explain.boundary import KEPT_MAX
from projections.explain.explain import Explanation, explanation
from projections.reader import Reader
from svc_http.app import build_api
from tests.fuzz.odd import examples
from tests.pages import demo_page, written
from tests.projections.derive.test_any_order import CORRECTED, told
from tests.support.basics import ANA, ANA_SCOPE
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, project, request, shell
from tests.svc_http.house import Caller, House, bearer, over, prompt
from tests.svc_http.routes.test_reads import ASK, V3, a_days_work

ADD = "Add a --json flag to src/parser.py and a test for it"
PARTS = ("boundary", "floor", "rubric", "outcome", "rework")
Shown = dict[str, Any]


async def explained(api: Caller, session: str) -> Shown:
    rows = (await api.get(f"{V3}/realtime/sub-sessions?agent_session_id={session}")).json
    shown = (await api.get(f"{V3}/sub-sessions/{rows[0]['score_v3_sub_session_id']}/explain")).json
    assert isinstance(shown, dict)
    return shown


async def explanations(api: Caller) -> list[Shown]:
    rows = (await api.get(f"{V3}/realtime/sub-sessions?limit=500")).json
    return [(await api.get(f"{V3}/sub-sessions/{row['sub_session_id']}/explain")).json for row in rows]


async def of(house: House, api: Caller, log: Log, session: str = "a", after_us: int = 2 * DAY) -> Shown:
    """The explanation of what a log tells, once some time has passed."""
    house.has_seen(log, MONDAY + after_us)
    return await explained(api, session)


def whats(pieces: list[Shown]) -> list[str]:
    return [piece["what"] for piece in pieces]


def worked(text: str = ASK, path: str = "src/parser.py", **fields: Any) -> Log:
    """A prompt of session `a`, a request and an edit."""
    log = Log(ANA_SCOPE)
    log.prompt("a", text, MONDAY, **fields)
    return log.records("a", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND, path=path))


# --- whatever is told can be checked: it stands in the fact that it names, and what is missing is said ------------


def words_of(event: Event) -> str:
    """All that a fact says, on one line."""
    held = [getattr(event, name, None) or Words(None) for name in ("prompt", "response", "words")]
    return " ".join("".join(words.text or "" for words in held).split())


def pieces_of(part: Shown) -> list[Shown]:
    """Every piece of evidence of a part, those of its prompts among them."""
    found = [*part.get("evidence", ()), *part.get("evidence_for", ()), *part.get("evidence_against", ())]
    found += [part["goal"]] if "goal" in part else []
    found += part.get("booleans", {}).values()
    for each in part.get("prompts", ()):
        found += [each, *each["booleans"].values()]
    return found


def is_of_a_prompt(fact: Event) -> bool:
    seen = isinstance(fact, RecordsCaptured) and any(record.kind == "prompt" for record in fact.records)
    return isinstance(fact, PromptCaptured) or seen


def check(events: list[Event], shown: Shown) -> None:
    for name in ("boundary", "rubric", "outcome"):
        part = shown[name]
        quoting = [piece for piece in pieces_of(part) if piece["quote"] is not None]
        assert part["positions"], f"{name} rests on no fact"
        for piece in quoting:
            assert piece["quote"] in words_of(events[piece["position"] - 1]), piece
            assert piece["position"] in part["positions"], piece
        unread = any(sentence.startswith("the text of") for sentence in part["not_observed"])
        quotes = any(is_of_a_prompt(events[piece["position"] - 1]) for piece in quoting)
        assert quotes or unread, f"{name} quotes no prompt, and does not say why"
        for position in part["positions"]:
            assert getattr(events[position - 1], "agent_session_id", None) in shown["agent_session_ids"], name
    for part in PARTS:
        assert set(shown[part]["positions"]) <= set(shown["positions"])
        assert not any("(+" in line or "(-" in line or len(line) <= 10 for line in shown[part]["text"])
    assert {getattr(events[position - 1], "developer_id", None) for position in shown["positions"]} == {ANA}
    later = len(shown["boundary"]["kept"]) + shown["boundary"]["kept_not_shown"] + len(shown["boundary"]["merged"])
    assert later + 1 == len(shown["rubric"]["prompts"]) + shown["rubric"]["prompts_not_shown"]
    assert all(_sum(each) <= 0 for each in shown["boundary"]["kept"])
    assert _sum(shown["boundary"]) > 0 or not shown["boundary"]["signals"]
    for each in shown["rubric"]["booleans"].values():
        assert each["quote"] is not None or not each["earned"] or "no words were found" in each["what"], each
    for piece in (*shown["outcome"]["evidence_for"], *shown["outcome"]["evidence_against"]):
        assert piece["who"] in ("you", "the agent", "the tools")


def _sum(weighed: Shown) -> float:
    """Of what the boundary judge weighed, in logits."""
    return float(sum(signal["weight"] for signal in weighed["signals"]))


async def test_each_of_the_demo_can_be_checked(house: House, api: Caller, tmp_path: Path) -> None:
    """A month of work of both its developers."""
    await house.has_demo()
    found = await explanations(api)
    assert len(found) > 20
    for shown in found:
        check(house.events, shown)


async def test_the_page_tells_what_the_demo_gives() -> None:
    """But for a quarter of its lines, as other weights may change some."""
    given, lines = (await demo_page()).splitlines(), written("explanations").splitlines()
    stale = [line for line in lines if line and line not in given]
    assert len(stale) <= len(lines) / 4, "it has aged; python -m tests.pages explanations writes it anew"
    best, worst = (line for line in given if line.startswith("## "))
    assert (best.endswith(", complete"), worst.endswith(", not complete")) == (True, True)


@examples(12)
@given(CORRECTED)
async def test_each_of_any_story_can_be_checked(story: Any) -> None:
    """Prompts seen by plugin and log, work named and unnamed, ends, errors, and what people said of it."""
    house = House()
    log = Log(ANA_SCOPE)
    log.facts = told(story, ANA_SCOPE)
    house.has_seen(log, MONDAY + 2 * HOUR)
    for shown in await explanations(Caller(over(house, build_api), bearer())):
        check(house.events, shown)


async def test_words_that_were_forgotten(house: House, api: Caller) -> None:
    """The verdict stands; nothing can be quoted."""
    house.has_seen(worked())
    for event in house.events:
        for field in ("prompt", "words"):
            if hasattr(event, field):
                msgspec.structs.force_setattr(event, field, Words(None))
    shown = await explained(api, "a")
    assert shown["rubric"]["booleans"]
    assert {each["quote"] for part in PARTS for each in pieces_of(shown[part])} == {None}
    said = [shown[part]["not_observed"][0] for part in ("boundary", "rubric", "outcome")]
    assert said == [
        "the text of its first prompt: observed, and forgotten since",
        "the text of 1 prompt: observed, and forgotten since",
        "the text of the prompt that says what is wanted: observed, and forgotten since",
    ]


# --- the whole, and its habits ------------------------------------------------------------------------------------


async def test_a_days_work(house: House, api: Caller) -> None:
    """The verdict first, in one sentence; numbers last; rules and judges are named."""
    a_days_work(house)
    shown, trivia = await explained(api, "a"), await explained(api, "b")
    check(house.events, shown)
    assert (shown["rules_version"], shown["judges"], shown["overrides"]) == (2, ["embedded/2"], [])
    assert shown["verdict"].startswith("A bug fix that likely reached its goal; its prompts stand at ")
    assert any("completion is" in line for line in shown["details"])
    assert trivia["verdict"].startswith("Too little to count as work.")
    outcome, rubric = shown["outcome"], shown["rubric"]
    passed = next(piece for piece in outcome["evidence_for"] if piece["quote"] == "pytest -q")
    assert (
        passed["what"]
        == "a test, build or other check was run after the last change, and its command ended without an error"
    )
    assert (passed["who"], passed["at"]) == ("the tools", "2026-01-05T09:01:00Z")
    assert (outcome["goal_complete"], outcome["evidence_against"]) == (True, [])
    assert (outcome["completion_floor"], outcome["not_observed"]) == (0.85, ["the text of 1 answer: not observed"])
    (item,) = (await api.get(f"{V3}/insight/sessions")).json
    assert (rubric["letter_grade"], rubric["intent_class"]) == (item["letter_grade"], item["intent_class"])
    for name, each in rubric["booleans"].items():
        assert item[name] in ((None, False) if each["unsure"] else (each["earned"],)), name


async def test_words_are_marked_and_the_way_to_a_habit_that_is_missed_is_told(house: House, api: Caller) -> None:
    """Spans point into the prompt's own text."""
    asked = "Add a --json flag to src/cli.py."
    habits = (await of(house, api, worked(asked, "src/cli.py")))["rubric"]["booleans"]
    named, missed = habits["references_concrete"], habits["verification_requested"]
    assert (named["earned"], named["unsure"], named["how_to_earn"]) == (True, False, None)
    assert asked[named["span"]["start"] : named["span"]["end"]] == named["quote"]
    assert (missed["earned"], missed["unsure"]) == (False, False)
    assert missed["how_to_earn"].startswith("Name a check: ")


WHY = (
    "Why does the login in src/auth.py time out after 30 s? Find the cause, fix only that file and run pytest "
    "tests/test_auth.py; leave the API alone."
)
BLUE = "make the button blue"


async def test_a_prompt_whose_answer_asks_back_does_not_surely_give_enough_to_start(house: House, api: Caller) -> None:
    shown = []
    for session, answer in (("a", "It is small."), ("b", "Which of the two, the first or the last?")):
        log = Log(ANA_SCOPE)
        asked = log.prompt(session, "Rename total_of to sum_of in src/cart.py.", MONDAY)
        log.answer(session, asked, answer, MONDAY + SECOND)
        shown.append((await of(house, api, log, session, 4 * HOUR))["rubric"])
    told = [each["booleans"]["context_sufficient"] for each in shown]
    assert [(each["likely"], each["unsure"]) for each in told] == [("likely", False), ("as likely as not", True)]


async def test_habits_are_asked_and_boundaries_weighed_of_each_prompt(house: House, api: Caller) -> None:
    """The first is an investigation by itself: of it no check was asked, so nobody can tell whether one is missed.
    Of those that stayed, the nearest to a boundary is told, with what was weighed whatever came before."""
    log = worked(WHY, "src/auth.py")
    log.prompt("a", "Great, commit that with a message that says why.", MONDAY + MINUTE)
    log.records("a", shell(MONDAY + MINUTE + SECOND, "git commit -am 'Time out'"))
    log.prompt("a", BLUE, MONDAY + 2 * HOUR)
    log.records("a", edit(MONDAY + 2 * HOUR + SECOND, path="web/button.css"))
    shown = await of(house, api, log, after_us=4 * HOUR)
    rubric, boundary = shown["rubric"], shown["boundary"]
    why, commit, blue = rubric["prompts"]
    assert (rubric["intent_class"], why["intent_class"]) == ("small_change", "investigation")
    checked = rubric["booleans"]["verification_requested"]
    assert (checked["earned"], checked["unsure"], checked["how_to_earn"]) == (False, True, None)
    assert checked["asked_of"] == [commit["position"], blue["position"]]
    assert why["not_asked"] == ["scope_bounded", "verification_requested"]
    assert commit["not_asked"] == []
    assert [each["prompt_id"] for each in boundary["kept"]] == [commit["prompt_id"], blue["prompt_id"]]
    weighed = {each["what"]: each["weight"] for each in boundary["kept"][-1]["signals"]}
    assert next(iter(weighed)) == "prompts mostly go on with the same goal"
    assert weighed["its changes were committed just before"] > 0
    nearest = next(sentence for sentence in boundary["text"] if sentence.startswith("Nearest to a boundary was"))
    assert "That 119 minutes had passed is not weighed: time counts only where a prompt stands apart" in nearest


async def test_prompts_that_could_not_open_another_topic(house: House, api: Caller) -> None:
    """Nothing was weighed of them; and only so many are told of."""
    log = worked()
    for place in range(1, KEPT_MAX + 3):
        log.prompt("a", f"/compact {place}", MONDAY + place * SECOND)
    boundary = (await of(house, api, log))["boundary"]
    assert (len(boundary["kept"]), boundary["kept_not_shown"], boundary["kept"][0]["signals"]) == (KEPT_MAX, 2, [])
    assert {each["text"] for each in boundary["kept"]} == {"It opens no other topic, whatever it says: only navigates."}
    assert f"{KEPT_MAX + 2} later prompts stayed in it." in boundary["text"]


async def test_a_correction_that_was_worked_on_is_told_though_it_weighs_nothing(house: House, api: Caller) -> None:
    log = worked()
    log.prompt("a", "no thats not it, the logo", MONDAY + HOUR)
    log.records("a", request(MONDAY + HOUR), edit(MONDAY + HOUR + SECOND, "src/logo.py"))
    outcome = (await of(house, api, log))["outcome"]
    assert "the user's words read like a correction or a repetition" not in whats(outcome["evidence_against"])
    (told,) = [each for each in outcome["text"] if each.startswith("Turn 2 reads like a correction; ")]
    assert told.endswith("taken as the answer to it, so it stands on neither side.")


def test_some_of_its_turns_are_explained_as_all_are() -> None:
    """Of the other turns hardly a text is opened."""
    log, opened = Log(ANA_SCOPE), set[int]()
    for place in range(30):
        at_us = MONDAY + place * MINUTE
        log.answer("a", log.prompt("a", f"{WHY} Step {place}.", at_us), "It is in line 7.", at_us + SECOND)
    views, events = project(log.facts), {each.position: each.event for each in log.facts}

    def fetch(positions: Iterable[int]) -> dict[int, Event]:
        opened.update(positions)
        return {position: events[position] for position in positions}

    def explain(turns: range) -> Explanation:
        opened.clear()
        (name,) = views.execute("SELECT sub_session_id FROM sub_sessions").fetchone()
        found = explanation(Reader(views, fetch), ANA_SCOPE, UUID(name), 2, turns)
        assert found is not None
        return found

    def told(shown: Explanation) -> list[Any]:
        habits = {name: (each.earned, each.unsure, each.likely) for name, each in shown.rubric.booleans.items()}
        return [habits, shown.verdict, shown.outcome, shown.boundary, shown.floor, shown.judges, shown.positions]

    whole, some = explain(range(200)), explain(range(20, 25))
    assert len(opened) <= 5 + 3, "those shown, the first, the last, and the one that says what is wanted"
    assert some.rubric.prompts == whole.rubric.prompts[20:25]
    assert told(some) == told(whole)


async def test_a_habit_that_was_asked_of_no_prompt(house: House, api: Caller) -> None:
    """A person named another kind of work than every prompt was judged as: nothing is said to be absent."""
    log = Log(ANA_SCOPE)
    shown = await of(house, api, log.corrects_intent("a", log.prompt("a", BLUE, MONDAY), "bug_fix"))
    cause = shown["rubric"]["booleans"]["root_cause_oriented"]
    assert (cause["earned"], cause["position"], cause["asked_of"]) == (False, None, [])
    assert cause["what"] == "asked of none of its prompts: it does not apply to what each was judged as"


# --- the outcome, and what nobody saw -----------------------------------------------------------------------------


async def test_a_question_in_between_is_no_goal_of_a_fix(house: House, api: Caller) -> None:
    log = Log(ANA_SCOPE)
    first = log.prompt("a", "The parser crashes on an empty file", MONDAY)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + MINUTE))
    later = log.prompt("a", "is the old parser used anywhere now?", MONDAY + 2 * MINUTE)
    log.answers_prompt("a", first, "bug_fix", earned=("context_sufficient",))
    log.answers_prompt("a", later, "question", earned=("goal_explicit",))
    rubric = (await of(house, api, log))["rubric"]
    goal = rubric["booleans"]["goal_explicit"]
    assert (goal["earned"], goal["likely"], goal["quote"], rubric["kind_told"]) == (True, "likely", None, "bug_fix")


async def test_of_a_plan_that_was_carried_out_no_kind_is_told(house: House, api: Caller) -> None:
    log = Log(ANA_SCOPE)
    plan = log.prompt("a", "Which design of a cache fits the parser best?", MONDAY)
    log.answers_prompt("a", plan, "plan", earned=("goal_explicit",))
    log.answers_prompt(
        "a", log.prompt("a", "Then build the cache", MONDAY + HOUR), "feature", earned=("goal_explicit",)
    )
    log.records("a", request(MONDAY + HOUR), edit(MONDAY + HOUR + MINUTE))
    assert (await of(house, api, log))["rubric"]["kind_told"] is None


async def test_what_speaks_against_it_stands_alone_with_the_agents_own_last_words(house: House, api: Caller) -> None:
    log = Log(ANA_SCOPE)
    for place, asked in enumerate((ADD, "Then add the same flag to src/printer.py", "And one to src/reader.py too")):
        said = log.prompt("a", asked, MONDAY + place * MINUTE)
        log.answer("a", said, f"{'It reads well. ' * 40}Now I will write the parser:", MONDAY + place * MINUTE + SECOND)
    shown = await of(house, api, log)
    assert "svc cannot tell whether its goal was reached" in shown["verdict"]
    (broke_off,) = shown["outcome"]["evidence_against"]
    assert broke_off["who"] == "the agent"
    assert broke_off["quote"].startswith("It reads well.")
    assert broke_off["quote"].endswith("Now I will write the parser:")


async def test_what_was_not_observed_is_said(house: House, intake: Caller, api: Caller) -> None:
    """A plugin without telemetry sees no tool: no rule over tools fired. What is judged at settling is null before."""
    await intake.post("/v1/prompts", prompt(ASK, tool_session_id="s1"))
    live = await explained(api, "s1")
    assert (live["is_preview"], live["outcome"]["goal_complete"], live["rework"]["rework"]) == (True, None, None)
    assert "settles after 30 minutes" in live["boundary"]["text"][-1]
    house.passes(house.clock_us + HOUR)
    shown = await explained(api, "s1")
    unseen = "what the agent did in 1 of 1 turn: not observed"
    assert shown["floor"]["not_observed"] == shown["outcome"]["not_observed"] == [unseen]
    assert shown["rework"]["not_observed"] == ["which files it touched: not observed"]
    assert shown["boundary"]["not_observed"][0].startswith("the working directory: not observed")
    assert "no change was seen" not in whats(shown["outcome"]["evidence_against"])
    log = Log(ANA_SCOPE)
    log.answer("a", log.prompt("a", ASK, MONDAY), "The notes were created.", MONDAY + SECOND)
    answered = await of(house, api, log)
    assert answered["verdict"].startswith("Nobody can tell whether it counts as work.")
    assert "no tool ran" not in " ".join(answered["floor"]["text"])


async def test_what_a_machine_wrote_is_no_prompt_and_is_told(house: House, api: Caller) -> None:
    log = worked()
    log.prompt("a", "<task-notification>\nThe build is done.\n</task-notification>", MONDAY + MINUTE)
    shown = await of(house, api, log)
    assert "Machine-made, so no prompt and no turn: the report of a background task (1 time). " in " ".join(
        shown["floor"]["text"]
    )
    assert len(shown["rubric"]["prompts"]) == 1


async def test_tools_and_prompts_without_their_details(house: House, api: Caller) -> None:
    """Which file, which lines, which command: not observed; a shell call counts as changing something."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY)
    calls: list[dict[str, Any]] = [{"kind": "tool", "tool": tool, "ok": True} for tool in ("Edit", "Bash")]
    log.records("a", *(call | {"at_us": MONDAY + place * SECOND} for place, call in enumerate(calls, 1)))
    log.claim("b").records("b", {"kind": "prompt", "at_us": MONDAY}, request(MONDAY + SECOND))
    floor, rubric = (await of(house, api, log))["floor"], (await explained(api, "b"))["rubric"]
    details = ("the commands of 1 shell call", "the files of 1 edit", "the changed lines of 1 edit")
    assert floor["not_observed"] == [f"{each}: not observed" for each in details]
    assert (floor["passed"], floor["mutating_calls"]) == (True, 2)
    assert rubric["not_observed"] == ["the text of 1 prompt: not observed"]
    assert [each["text"] for each in rubric["prompts"]] == ["Not judged: its text was not observed."]
    assert (rubric["booleans"], rubric["letter_grade"], rubric["intent_class"]) == ({}, None, "unclassified")
