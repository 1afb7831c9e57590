"""Five weeks of work of an invented company: what its developers type, and what their agents tell of it."""

import base64
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import msgspec

from svc.demo import write_transcripts
from svc.importer import FORMATS, import_transcripts
from tests.golden.agents import Turn, claude_code, codex, copilot, gemini
from tests.golden.folder import stored_events
from tests.golden.world import DAY_US, MINUTE_US, NOW_US, World, at, response
from tests.support import chats, rollouts

RETENTION_DAYS = {"retention_days_text": 21, "retention_days_telemetry": 14}


async def found(world: World) -> None:
    """Ana owns Acme, Ben and Cleo are members, Dan was one; a team of three, and one that has ended."""
    acme = await world.admin("POST", "organizations", {"name": "Acme"})
    world.organization_id = UUID(acme["organization_id"])
    about = {"organization_id": acme["organization_id"]}
    memberships = {}
    for name in ("Ana", "Ben", "Cleo", "Dan"):
        made = await world.admin("POST", "developers", {"display_name": name})
        who = about | {"developer_id": made["developer_id"]}
        memberships[name] = await world.admin("POST", "memberships", who | {"role": "member"})
        key = await world.admin("POST", "keys", who | {"name": f"laptop of {name}"})
        world.developers[name.lower()] = UUID(made["developer_id"])
        world.keys[name.lower()] = key["key"]
    await world.admin("PATCH", f"memberships/{memberships['Ana']['membership_id']}", {"role": "owner"})
    await _teams(world, about)
    await world.admin("DELETE", f"memberships/{memberships['Dan']['membership_id']}")
    spare = await world.admin("POST", "keys", about | {"developer_id": str(world.developers["ana"])})
    await world.admin("DELETE", f"keys/{spare['key_id']}")
    profile = {"timezone": "Europe/Berlin", "language": "en", "report_schedules": ["monthly"]}
    await world.admin("PATCH", f"developers/{world.developers['ana']}", profile)
    await world.admin("PATCH", f"organizations/{world.organization_id}", {"text_leaves": False} | RETENTION_DAYS)


async def _teams(world: World, about: dict[str, str]) -> None:
    core = await world.admin("POST", "teams", about | {"name": "Core"})
    old = await world.admin("POST", "teams", about | {"name": "Skunkworks"})
    world.team_id = UUID(core["team_id"])
    joined = {}
    for name, developer_id in world.developers.items():
        member = {"team_id": core["team_id"], "developer_id": str(developer_id)}
        joined[name] = await world.admin("POST", "team-memberships", member)
    await world.admin("DELETE", f"team-memberships/{joined['dan']['team_membership_id']}")
    await world.admin("DELETE", f"teams/{old['team_id']}")


# --- the work -------------------------------------------------------------------------------------------------

FIRST_ASK = (
    "In ledger/rounding.py the total of an invoice is off by a cent when a discount applies. Fix `total()` so that it "
    "rounds once, at the end. Do not touch the database models. Done when `pytest -q tests/test_rounding.py` is green."
)
SECOND_ASK = "Thanks. Now add a test for a discount of 100 % and one for a negative line, in the same file."
REWORK_ASK = "The total in ledger/rounding.py is still wrong: three lines at 0.335 give 1.00 instead of 1.01. Fix that."
FEATURE_ASK = (
    "Add CSV export to ledger: `ledger export --csv out.csv` writes one row for each line, amounts with two decimals. "
    "Only new files and ledger/cli.py. First tell me your plan, then write it with tests in tests/test_export.py."
)


async def old_work(world: World) -> dict[str, str]:
    """Work whose words will have expired, of everybody; sealed texts of it, as a backup would hold them."""
    day = at("06-26 09:00")
    checks = (("pytest -q tests/test_rounding.py", True),)
    first = Turn(session="ana-rounding", at_us=day, text=FIRST_ASK, answer="`total()` rounds once now; 14 passed.")
    edited = msgspec.structs.replace(first, edits=(("/home/ana/ledger/ledger/rounding.py", 14),), commands=checks)
    prompt_id = await world.live("ana", edited)
    named_kind = response(edited, prompt_id) | {"cost_kind": "reported", "cost_catalog_revision": 1}
    await world.send("ana", "POST", "/v1/prompts/response", named_kind)
    more = Turn(session="ana-rounding", at_us=day + 5 * MINUTE_US, text=SECOND_ASK, answer="Two tests more; 16 passed.")
    await world.live("ana", msgspec.structs.replace(more, edits=(("tests/test_rounding.py", 22),), commands=checks))
    await world.send("ana", "POST", "/v1/setup-complete", {"plugin_version": "0.6.0", "key_prefix": "svc_abcd"})
    foreign = {"prompt_text": "go on with this", "tool_session_id": "ana-rounding"}
    await world.send("ben", "POST", "/v1/prompts", foreign, refused=True)
    cart = Turn(session="cleo-cart", at_us=at("06-26 13:00"), text="Make the cart remember its items in src/cart.ts.")
    cart = msgspec.structs.replace(cart, edits=(("src/cart.ts", 31),), model="gemini-2.5-pro")
    await world.told("cleo", gemini(cart), cart.at(9))
    plain = Turn(session="cleo-plain", at_us=at("06-26 14:00"), text="Why does the basket forget its items?")
    await world.prompt("cleo", plain, "gemini-cli")
    await world.until(plain.at_us + DAY_US)
    return {name: _sealed(world, name) for name in ("ana", "cleo")}


def _sealed(world: World, name: str) -> str:
    """The first sealed prompt of a developer."""
    for stored in stored_events(world.var):
        if stored.topic == "prompt.captured" and world.developers[name].bytes in stored.state:
            length = int.from_bytes(stored.state[18:22], "little")
            return base64.b64encode(msgspec.msgpack.decode(stored.state[22 + length :])["prompt"]).decode()
    raise AssertionError(f"no prompt of {name} stands in the log")


async def young_work(world: World) -> None:
    """Rework, merges, trivial prompts, requests that were held up, and what raises flags."""
    again = Turn(session="ana-again", at_us=at("06-30 10:00"), text=REWORK_ASK, answer="It sums in decimals now.")
    await world.live("ana", msgspec.structs.replace(again, edits=(("/home/ana/ledger/ledger/rounding.py", 9),)))
    await _throttled(world)
    await _joined(world)
    await _joined_by_itself(world)
    chat = Turn(session="ana-copilot", at_us=at("07-16 08:00"), text="", model="gpt-5.3-codex", output_tokens=95)
    await world.told("ana", copilot(chat), chat.at(3))
    await _ben(world)


async def _throttled(world: World) -> None:
    """A plan and its execution, between requests that were refused and one that was slow."""
    begun = at("07-13 13:00")
    limited = (429, '429 {"type":"error","error":{"type":"rate_limit_error","message":"Please retry in 20s"}}')
    overloaded = (529, '529 {"type":"error","error":{"type":"overloaded_error"}}')
    texts = (FEATURE_ASK, "Good plan, go ahead.", "Run the whole suite and commit it as `Add CSV export`.")
    failures = ((limited, limited), (overloaded,) * 4, ())
    tests, commit = "pytest -q tests/test_export.py", "git commit -am 'Add CSV export'"
    commands: tuple[tuple[tuple[str, bool], ...], ...]
    commands = ((), ((tests, False), (tests, True)), (("pytest -q", True), (commit, True)))
    edits = ((), (("ledger/export.py", 48), ("ledger/cli.py", 12), ("tests/test_export.py", 40)), ())
    for nth, text in enumerate(texts):
        turn = Turn(session="ana-export", at_us=begun + nth * 6 * MINUTE_US, text=text, failures=failures[nth])
        work = {"edits": edits[nth], "commands": commands[nth], "reads": ("ledger/cli.py",)}
        await world.live("ana", msgspec.structs.replace(turn, **work, duration_ms=4_000 + nth * 20_000))
    quick = Turn(session="ana-slow", at_us=at("07-14 08:00"), text="Rename `amt` to `amount` in ledger/models.py.")
    edits_of_a_word = (("ledger/models.py", 1),) * 21
    await world.told("ana", claude_code(msgspec.structs.replace(quick, edits=edits_of_a_word)), quick.at(50))
    slow = Turn(session="ana-slow", at_us=quick.at(60), text="Is anything left of it?", duration_ms=60_000)
    await world.told("ana", claude_code(slow), slow.at(5))


async def _joined(world: World) -> None:
    """Sessions that go on with one another after a clear, and then prompts that are no work."""
    parts = ("header", "lines", "footer", "stamp", "margins", "fonts")
    for nth, part in enumerate(parts):
        begun = at("07-15 09:00") + nth * 5 * MINUTE_US
        turn = Turn(session=f"ana-{part}", at_us=begun, text=f"Draw the {part} of the printed invoice.", clears=True)
        await world.live("ana", msgspec.structs.replace(turn, edits=(("ledger/printing.py", 6 + nth),)))
    page = ("web/pages/invoice.html", 17)
    first = Turn(session="ana-page-1", at_us=at("07-15 14:00"), text="Show the discount on the page of an invoice.")
    await world.live("ana", msgspec.structs.replace(first, edits=(page,), rejected="Bash", clears=True))
    more = Turn(session="ana-page-2", at_us=first.at_us + 8 * MINUTE_US, text="The discount belongs below the sum.")
    await world.live("ana", msgspec.structs.replace(more, edits=(page,)))
    for nth, text in enumerate(("thanks", "hi", "/clear", "ok", "go on", "yes")):
        trivial = Turn(session="ana-small-talk", at_us=at("07-15 17:00") + nth * MINUTE_US // 2, text=text)
        await world.prompt("ana", trivial)


async def _joined_by_itself(world: World) -> None:
    """Ben clears the conversation and goes on: the same folder, the same file, within minutes."""
    texts = ("Show the stock of each item in src/stock.html.", "Sort the items in src/stock.html by name.")
    for nth, text in enumerate(texts, 1):
        begun = at("07-15 19:00") + nth * 5 * MINUTE_US
        turn = Turn(session=f"ben-stock-{nth}", at_us=begun, text=text, model="gemini-2.5-pro", clears=True)
        await world.prompt("ben", turn, "gemini-cli", cwd="/home/ben/shop")
        await world.told("ben", gemini(msgspec.structs.replace(turn, edits=(("src/stock.html", 15),))), turn.at(6))


async def _ben(world: World) -> None:
    """Codex by telemetry; the same prompt again and again; a log pasted whole; a clock that is wrong."""
    shop = Turn(session="019b-ben-shop", at_us=at("07-16 09:00"), text="fix checkout", model="gpt-5.3-codex")
    work = {"edits": (("src/checkout.py", 12),), "commands": (("pytest -q", False),)}
    await world.told("ben", codex(msgspec.structs.replace(shop, **work, failures=((429, "Rate limit"),))), shop.at(9))
    for nth in range(4):
        moment = at("07-16 10:00") + nth * MINUTE_US // 3
        await world.prompt("ben", Turn(session="ben-storm", at_us=moment, text=f"fix the login now {nth}"))
    pasted = "why does this fail?\n" + "".join(f"2026-07-16 10:00:00 ERROR worker {n} is lost\n" for n in range(90))
    await world.prompt("ben", Turn(session="ben-paste", at_us=at("07-16 11:00"), text=pasted), truncated=False)
    ahead = Turn(session="ben-ahead", at_us=at("07-17 10:00"), text="Rename the module checkout to payment everywhere.")
    await world.until(at("07-16 12:00"))
    body = {"prompt_text": ahead.text, "tool_session_id": ahead.session, "submitted_at": "2026-07-17T10:00:00Z"}
    await world.send("ben", "POST", "/v1/prompts", body)


async def imports(world: World, folder: Path) -> None:
    """The sample of both developers, and a file each of Codex and Gemini, from the folders of their agents."""
    today = datetime.fromtimestamp(NOW_US / 1e6, UTC).date()
    sample = write_transcripts(folder, today, now_us=NOW_US)
    await world.until(NOW_US - 20 * MINUTE_US)
    rollouts.write(folder / "codex", [rollouts.meta(), *rollouts.turn(1), *rollouts.turn(900, "add a test", 2, 3)])
    chats.write(folder / "gemini", chats.lines(*chats.exchange(), *chats.exchange(400, "add a logout", 2)))
    paths = (("ana", "claude-code", sample["Ana"]), ("ben", "claude-code", sample["Ben"]))
    for name, source, path in (*paths, ("ben", "codex", folder / "codex"), ("ben", "gemini", folder / "gemini")):
        await _import(world, name, source, path)


async def _import(world: World, name: str, source: str, path: Path) -> None:
    scope = world.scope(name)
    report = await import_transcripts(
        FORMATS[source],
        path,
        world.service.send,
        lambda _progress: None,
        scope=scope,
        digester=world.service.vault.digester(scope.developer_id),
        now_us=NOW_US,
    )
    assert report.prompts, f"{source} of {name}: {report}"
    assert not report.refused, report


async def schema(world: World) -> list[UUID]:
    """The session that the text model is asked about; the prompts' ids."""
    texts = ("Add a column `due` to the table of invoices.", "And an index on it, please.")
    begun = at("07-27 06:00")
    turns = [Turn(session="ana-schema", at_us=begun + nth * 9 * MINUTE_US, text=text) for nth, text in enumerate(texts)]
    edits = (("ledger/schema.sql", 14),)
    return [await world.live("ana", msgspec.structs.replace(turn, edits=edits)) for turn in turns]
