"""Signing in by a provider that runs here: who comes in, who does not, and what each is told."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from tests.support.process import Server, init, serving
from tests.support.provider import CLIENT, SECRET, Provider, provider

KIM = {"sub": "kim-1", "email": "Kim@example.com", "email_verified": True}
_ON = re.compile(r'http-equiv="refresh" content="0; url=([^"]*)"')


class World(NamedTuple):
    server: Server
    provider: Provider
    admin: httpx.Client
    log: Path


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    var = tmp_path_factory.mktemp("oidc") / "var"
    made = init(var)
    secret_file = var.parent / "client-secret"
    secret_file.write_text(f"{SECRET}\n")
    secret_file.chmod(0o600)
    with provider() as there:
        told = {
            "SVC_OIDC_ISSUER": there.issuer,
            "SVC_OIDC_CLIENT_ID": CLIENT,
            "SVC_OIDC_CLIENT_SECRET_FILE": str(secret_file),
            "SVC_OIDC_NAME": "Acme",
        }
        secret = Path(made["internal_secret_file"]).read_text().strip()
        with serving(var, None, told=told) as server:
            headers = {"X-Internal-Secret": secret}
            with httpx.Client(base_url=f"{server.api_url}/v1/admin", headers=headers) as admin:
                yield World(server, there, admin, var.parent / "var.log")


@pytest.fixture
def world(running: World) -> World:
    """With an honest provider, at which somebody nobody knows sits."""
    there = running.provider
    there.person, there.lies, there.refuses = {"sub": "nobody"}, {}, ""
    there.signs_with, there.broken = "first", False
    return running


@pytest.fixture
def browser(world: World) -> Iterator[httpx.Client]:
    headers = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=world.server.api_url, headers=headers) as client:
        yield client


def member(world: World, name: str, email: str | None = None) -> dict[str, Any]:
    (organization,) = world.admin.get("/organizations").json()
    made = world.admin.post("/developers", json={"display_name": name, "email": email}).json()
    wanted = {"organization_id": organization["id"], "developer_id": made["id"]}
    found: dict[str, Any] = world.admin.post("/memberships", json=wanted).json()
    return found


def go(browser: httpx.Client, path: str = "/sign-in/provider", to: str = "/") -> str:
    """Press the button, sign in over there, and be sent back: the address of that."""
    pressed = browser.post(path, data={"next": to})
    assert pressed.status_code == 200, pressed.text
    on = _ON.search(pressed.text)
    assert on is not None
    there = httpx.get(unescape(on[1]))
    assert there.status_code == 302
    return there.headers["Location"]


def sign_in(browser: httpx.Client, to: str = "/") -> httpx.Response:
    return come(browser, go(browser, to=to))


def come(browser: httpx.Client, back: str) -> httpx.Response:
    return browser.get(back, headers={"Sec-Fetch-Site": "cross-site"})


def is_in(browser: httpx.Client) -> bool:
    return browser.get("/").status_code == 200


def test_an_account_with_the_email_of_a_developer_signs_in_and_is_linked(world: World, browser: httpx.Client) -> None:
    """However the address is written; and leads on to where one wanted to go. From then on the account counts, whatever
    address it bears, and no other one of that address: it may be given to somebody else one day."""
    who = member(world, "Kim", "kim@example.com")
    world.provider.person = KIM
    assert "Sign in with Acme" in browser.get("/sign-in").text
    arrived = sign_in(browser, "/goals?days=90")
    assert (arrived.status_code, _ON.findall(arrived.text)) == (200, ["/goals?days=90"])
    assert "Kim" in browser.get("/goals?days=90").text
    acts = [each for each in world.admin.get("/audit").text.splitlines() if who["developer_id"] in each]
    assert "linked an account of the sign-in provider" in acts[-1]
    browser.cookies.clear()
    world.provider.person = {"sub": "kim-1"}
    sign_in(browser)
    assert is_in(browser)
    browser.cookies.clear()
    world.provider.person = KIM | {"sub": "kim-2"}
    assert "another account is linked" in sign_in(browser).text
    assert not is_in(browser)
    world.provider.person = KIM
    sign_in(browser)
    assert world.admin.delete(f"/memberships/{who['id']}").status_code == 204
    assert not is_in(browser)
    assert "no longer a member" in sign_in(browser).text


NOBODYS = {"sub": "x", "email": "x@example.com", "email_verified": True}
NOAS = {"sub": "noa", "email": "noa@example.com"}
STAY_OUT: dict[str, tuple[dict[str, object], str]] = {
    # what the provider does, and what is said
    "an unknown address": ({"person": NOBODYS}, "nobody here has the e-mail address"),
    "an unverified address": ({"person": NOAS | {"email_verified": False}}, "no verified e-mail address"),
    "an address of which it says nothing": ({"person": NOAS}, "no verified e-mail address"),
    "no address": ({"person": {"sub": "x"}}, "no verified e-mail address"),
    "another audience": ({"lies": {"aud": "another-client"}}, "Acme"),
    "another party": ({"lies": {"aud": [CLIENT, "another-client"], "azp": "another-client"}}, "Acme"),
    "another issuer": ({"lies": {"iss": "https://elsewhere.example"}}, "Acme"),
    "an expired token": ({"lies": {"exp": 1_700_000_000}}, "Acme"),
    "another nonce": ({"lies": {"nonce": "of-another-sign-in"}}, "Acme"),
    "a subject that is none": ({"lies": {"sub": 7}}, "Acme"),
    "another key": ({"signs_with": "second"}, "Acme"),
    "a refusal": ({"refuses": "access_denied"}, "it says access_denied"),
}


@pytest.mark.parametrize("case", STAY_OUT)
def test_whom_the_provider_does_not_prove_stays_out(world: World, browser: httpx.Client, case: str) -> None:
    if "noa@example.com" not in world.admin.get("/developers", params={"limit": 100}).text:
        member(world, "Noa", "noa@example.com")
    does, why = STAY_OUT[case]
    world.provider.person = NOAS | {"email_verified": True}
    for name, value in does.items():
        setattr(world.provider, name, value)
    refused = sign_in(browser)
    assert (refused.status_code, why in unescape(refused.text)) == (403, True), refused.text
    assert not is_in(browser)


def test_a_code_works_once(world: World, browser: httpx.Client) -> None:
    """Whether or not the browser still has what it went with."""
    member(world, "Oda", "oda@example.com")
    world.provider.person = {"sub": "oda-1", "email": "oda@example.com", "email_verified": True}
    back = go(browser)
    kept = dict(browser.cookies)
    assert come(browser, back).status_code == 200
    assert "was not begun in this browser" in come(browser, back).text
    browser.cookies.clear()
    again = browser.get(back, headers={"Cookie": "; ".join(f"{name}={text}" for name, text in kept.items())})
    assert again.status_code == 403
    assert "it was used, or has expired" in again.text


def test_only_the_browser_that_went_comes_back(world: World, browser: httpx.Client) -> None:
    """A wrong state, or another browser."""
    world.provider.person = KIM
    back = go(browser)
    assert browser.get(f"{back}0").status_code == 403
    assert httpx.get(back, headers={"Accept": "text/html"}).status_code == 403
    assert not is_in(browser)


def test_an_invitation_links_any_account(world: World, browser: httpx.Client) -> None:
    who = member(world, "Rui")
    for account in ("rui-1", "rui-2"):
        world.provider.person = {"sub": account}
        invitation = world.admin.post("/links", json={"developer_id": who["developer_id"]}).json()["path"]
        browser.post(invitation)
        assert "Link my account of Acme" in browser.get("/settings").text
        assert come(browser, go(browser, "/settings/provider")).status_code == 200
        browser.cookies.clear()
        sign_in(browser)
        assert "Rui" in browser.get("/").text
        browser.cookies.clear()
    world.provider.person = {"sub": "rui-1"}
    assert sign_in(browser).status_code == 403


def test_no_secret_stands_anywhere(world: World, browser: httpx.Client) -> None:
    """Neither the client's nor a code, in the log or an address."""
    world.provider.person = {"sub": "x"}
    back = go(browser)
    code = re.findall(r"code=([^&]+)", back)[0]
    browser.get(back)
    told = world.log.read_text()
    assert "credentials refused" in told
    assert SECRET not in told + back
    assert code not in told
