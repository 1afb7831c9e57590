"""What came, of which agent, and what was refused; and that no table holds a secret."""

import re

from aggregates.event import Scope
from projections.facts.facts import ARRIVALS_MAX
from svc_http.ports import REFUSALS_MAX, Arrivals
from tests.support import otlp
from tests.support.basics import ACME, ANA, ANA_SCOPE, BEN, BEN_KEY
from tests.support.facts import Log, edit
from tests.support.otlp import claude, logs, span, traces
from tests.svc_http.browsing import signs_in
from tests.svc_http.house import Caller, House, bearer, prompt


async def test_no_table_holds_a_secret(house: House, intake: Caller) -> None:
    """Whatever name or id it stands in; and a session that holds one is still one session."""
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    body = prompt(tool_session_id=f"s {secret}", source=secret, host_prompt_id=secret, cwd=f"/{secret}")
    assert (await intake.post("/v1/prompts", body)).status == 201
    named = dict.fromkeys(("tool_name", "model", "prompt.id", "tool_use_id", secret), secret)
    sent = otlp.logs(otlp.claude("tool_result", named | {"session.id": f"s {secret}"}), resource={"mcp": secret})
    assert (await intake.post("/v1/logs", sent)).status == 200
    assert (await intake.post("/v1/metrics", otlp.metrics(otlp.counter(secret, {"asInt": 1}, named)))).status == 200
    tables = "\n".join(house._views.iterdump())
    assert secret not in tables
    assert len({*re.findall("redacted-[0-9a-f]{32}", tables)}) == 2  # the session, and what is nothing but the secret


CONFIG = "/v1/plugin/config"


async def test_what_came_is_told_by_agent_and_signal(house: House, intake: Caller) -> None:
    """With the time of the last, and what was refused with its reason; to nobody else."""
    house.clock_us += 1_000_000
    sent = await intake.post("/v1/logs", logs(claude("user_prompt", {"prompt": "Add a test.", "session.id": "s1"})))
    assert sent.status == 200, sent.body
    await intake.post("/v1/prompts", {"prompt_text": "Add a test.", "tool_session_id": "s", "source": "codex"})
    told = (await intake.get(CONFIG)).json
    assert [(each["source"], each["signal"], each["requests"]) for each in told["arrivals"]] == [
        ("claude-code", "logs", 1),
        ("codex", "prompts", 1),
    ]
    assert told["refusals"] == []
    assert (await intake.post("/v1/prompts", {"prompt_text": " ", "tool_session_id": "s"})).status == 400
    (refusal,) = (await intake.get(CONFIG)).json["refusals"]
    assert (refusal["path"], refusal["status"]) == ("/v1/prompts", 400)
    assert "prompt_text is blank" in refusal["message"]
    others = (await intake.using(bearer(BEN_KEY)).get(CONFIG)).json
    assert others["arrivals"] == others["refusals"] == []


async def test_a_restart_forgets_no_agent(house: House, api: Caller) -> None:
    """The log knows when each signal last came; an import of old work is none, and others' are others'."""
    signs_in(house)
    for scope, source in ((ANA_SCOPE, "codex"), (Scope(ACME, BEN), "gemini")):
        log = Log(scope, house.clock_us)
        log.prompt(f"s of {source}", "Add a test", house.clock_us, source=source)
        log.records(f"s of {source}", edit(house.clock_us))  # as an import reads it
        house.has_seen(log)
    shown = (await api.using({"Cookie": "svc_session=ana's"}).get("/settings")).body.decode()
    assert '<strong>codex</strong> <span class="hint">prompts</span>' in shown
    assert "gemini</strong>" not in shown


async def test_an_agent_that_is_not_known_is_told_by_the_name_of_its_service(intake: Caller) -> None:
    """One that follows the conventions for generative AI is read. What svc cannot read is told where figures stand:
    a day without figures is not taken for a day without work."""
    asked = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c1", "gen_ai.usage.input_tokens": 5}
    today = "/v1/score_v3/today-summary"
    assert (await intake.get(today)).json["unknown_agents"] == []
    for told, service in (({"x": 1}, "windmill"), (asked, "crush")):
        assert (await intake.post("/v1/traces", traces(span("a span", told), service=service))).status == 200
    known = [each["source"] for each in (await intake.get(CONFIG)).json["arrivals"]]
    assert known == ["crush", "unknown agent windmill"]
    assert (await intake.get(today)).json["unknown_agents"] == ["unknown agent windmill sends traces"]


def test_no_sender_makes_it_grow() -> None:
    arrivals, names = Arrivals(0), ARRIVALS_MAX + 9
    for number in range(names):
        arrivals.took(ANA, f"agent{number}", "logs", number)
        arrivals.refused(ANA, "/v1/logs", 400, "no", number)
    taken, refused = arrivals.of(ANA)
    assert (len(taken), len(refused)) == (ARRIVALS_MAX, REFUSALS_MAX)
    assert f"agent{names - 1}" in {each.source for each in taken}
    assert arrivals.of(BEN) == ([], [])
