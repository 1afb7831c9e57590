"""What cannot be meant is refused: the right 4xx, whose message names the place; nothing is kept, nobody changed."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from aggregates.ids import membership_stream
from tests.support.basics import ACME, ANA, BEN, NOW_US, OTHER, named
from tests.support.tables import lines_of
from tests.svc_http.house import Caller, House, prompt
from tests.svc_http.routes.test_overrides import names, told

ASKED = '"line_id":"line-1","text":"Fix it.","at_us":1785402000000000'
NAMES = {
    **{"acme": str(ACME), "other": str(OTHER), "ana": str(ANA), "ben": str(BEN), "core": str(named("core"))},
    **{"bens": str(membership_stream(ACME, BEN)), "nobody": str(named("an id that nothing has"))},
    **{"deep": '{"a":' * 5_000 + "1" + "}" * 5_000, "zeros": "0" * 5_000, "ff": "\udcff"},
    **{"more": ',["a",1,0]' * 500, "names": ',"p"' * 500, "asked": ASKED},
    "record": '"record_id":"tool:1","at_us":1785402030000000,"kind":"tool"',
    "import": f'"source":"codex","exchanges":[{{"agent_session_id":"s","prompt":{{{ASKED}}}}}',
}
"""What stands for a $name; $x9 is that many letters."""


def asked(line: str, known: dict[str, str]) -> Iterator[tuple[str, str, bytes]]:
    """Method, path and body of each request of a line."""

    def meant(text: str) -> str:
        return re.sub(r"\$x(\d+)", lambda found: "x" * int(found[1]), re.sub(r"\$([a-z]+)(?!\d)", of_name, text))

    def of_name(found: re.Match[str]) -> str:
        return found[0] if found[1] == "x" else known[found[1]]

    method, path, *body = line.split(" ", 2)
    parts = [part.split(",") if place % 2 else [part] for place, part in enumerate(re.split(r"[{}]", path))]
    for each in product(*parts):
        yield method, meant("".join(each)), meant("".join(body)).encode(errors="surrogateescape")


@pytest.mark.parametrize("listener", ["intake", "api", "admin"])
async def test_what_cannot_be_meant_is_refused(
    listener: str, house: House, intake: Caller, api: Caller, admin: Caller
) -> None:
    """Ana has a goal of three prompts, and a later one."""
    house.has_seen(told(), NOW_US)
    sent = (await intake.post("/v1/prompts", prompt())).json["id"]
    response = f'"prompt_id":"{sent}","response_operation_id":"op-1","response_text":"Done."'
    known = NAMES | {"goal": (await names(api))[0], "response": response}
    caller, kept = {"intake": intake, "api": api, "admin": admin}[listener], (len(house.events), house.administered[:])
    for section, line in lines_of(Path(__file__).with_name("refused.txt")):
        requests, _, expected = line.rpartition(" => ")
        status, _, said = expected.partition(" ")
        for method, path, body in asked(requests, known) if section == listener else ():
            answer = await caller.call(method, path, body or None)
            assert (answer.status, said in answer.message) == (int(status), True), (line, answer)
            assert (len(house.events), house.administered) == kept, line
    assert (await intake.post("/v1/prompts", prompt("A good one goes through."))).status == 201
