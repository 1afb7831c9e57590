"""`svc org`, `developer`, `member`, `team`, `key`, `audit` and `open`: people, also against a running server."""

import sys
from hashlib import sha256
from typing import Any, get_args

import click

from aggregates.ids import KEY_START_CHARACTERS
from aggregates.people.acts import RETENTION_DAYS_MAX, TEAM_MINIMUM_LEAST, TEAM_MINIMUM_MOST, Channel, Role, Schedule
from svc.cli import Command, Found
from svc.cli.access import Access, NotFound, NotReached, reach
from svc.cli.common import FOREVER, ORGANIZATION, Family, Reaching, hear_warnings, say, settings_option
from svc.settings import Settings
from svc_http.records import LINK_SECONDS, AuditForm

KEY_LINE_CHARACTERS_MAX = 1_000
NAME, WHO = click.Argument(["name"]), click.Argument(["developer"], metavar="WHO")
TEAM = click.Argument(["team"], metavar="NAME")
ROLE = click.Option(["--role"], type=click.Choice(get_args(Role)), default="member", show_default=True)
_MAIL = "By which a sign-in provider knows them, and for mail about reports."
_REPORT = "A report that is made by itself; may be given more than once."
_NOTICE = "How they hear that a report is finished; may be given more than once."
_ZONE = "IANA name, like Europe/Berlin: whose days and weeks count."
PROFILE = [
    click.Option(["--email"], metavar="ADDRESS", help=_MAIL),
    click.Option(["--report", "report_schedules"], type=click.Choice(get_args(Schedule)), multiple=True, help=_REPORT),
    click.Option(["--notice", "report_notices"], type=click.Choice(get_args(Channel)), multiple=True, help=_NOTICE),
    click.Option(["--language"], metavar="TAG", help="Language tag, like en or pt-BR."),
    click.Option(["--timezone"], metavar="ZONE", help=_ZONE),
]
_WHOSE_KEY = "Whose key, by name or id; may be left out while there is only one."
_WHERE = "For which of the developer's organizations, where there are more."
NEW_KEY = [
    click.Option(["--developer"], metavar="WHO", help=_WHOSE_KEY),
    click.Option(["--organization"], metavar="ORG", help=_WHERE),
    click.Option(["--name"], help="What the key is for."),
]
SHOWN = {  # kind of record → the fields that its table shows
    "organization": "name id text_leaves redaction retention_days_telemetry retention_days_text team_minimum",
    "developer": "display_name id timezone language report_schedules activation",
    "membership": "developer developer_id organization_id role started_at ended_at",
    "team": "name id organization_id active ended_at",
    "team-membership": "developer developer_id started_at ended_at",
    "key": "id key_start name developer developer_id issued_at expires_at last_used_on revoked",
}
org, developer, member, team, key = (Family(each) for each in ("org", "developer", "member", "team", "key"))


# --- what is listed, and what begins: a row each, by the records that its parameters name ---------------------------


def _row(family: Family, example: str, kind: str, about: str, *params: click.Parameter, begins: bool = False) -> None:
    @family.command(
        example.split()[0], show=SHOWN[kind], params=[*params], example=f"svc {family.name} {example}", help=about
    )
    def row(access: Access, **given: str | None) -> Any:
        named = [each for each in ("organization", "developer", "team") if each in given]
        known = {each: given.pop(each) for each in named}
        if not begins:
            return access.listed(kind, **{f"{each}_id": access.id_of(each, known[each]) for each in named})
        ids = {f"{each}_id": access.find(each, known[each])["id"] for each in named}
        return access.create(kind, **ids, **given)


_WHOSE = click.Option(["--developer"], metavar="WHO", help="Those of one developer only.")
_row(org, "list", "organization", "Show every organization and its settings.")
_row(member, "list --json", "membership", "Show memberships, former ones too.", ORGANIZATION)
_row(team, "list", "team", "Show every team, inactive ones too.")
_row(team, "members Core", "team-membership", "Show who is in the team NAME, and who was.", TEAM)
_row(key, "list --json", "key", "Show every key by its first characters. Last used: on that day of UTC.", _WHOSE)
_JOINS = "Take WHO into an organization, for the first time or again."
_row(org, 'create "Second team"', "organization", "Found an organization.", NAME, begins=True)
_row(member, "add Kim --role owner", "membership", _JOINS, WHO, ORGANIZATION, ROLE, begins=True)
_row(team, "create Core", "team", "Form a team called NAME.", NAME, ORGANIZATION, begins=True)
_row(team, "add Core Kim", "team-membership", "Put WHO into the team NAME.", TEAM, WHO, begins=True)


@developer.command("list", show=SHOWN["developer"], params=[ORGANIZATION], example="svc developer list")
def list_developers(access: Access, organization: str | None) -> list[Found]:
    """Show every developer, and how far each has come. Waiting, key configured, or with a first prompt."""
    everybody = access.listed("developer")
    if organization is None:
        return everybody
    members = access.listed("membership", organization_id=access.id_of("organization", organization))
    inside = {each["developer_id"] for each in members if each["active"]}
    return [each for each in everybody if each["id"] in inside]


_CREATED = [NAME, ORGANIZATION, ROLE, *PROFILE]


@developer.command("create", show=SHOWN["developer"], params=_CREATED, example="svc developer create Kim")
@click.option("--same-name", is_flag=True, help="Also where somebody is called so; then only ids tell them apart.")
def create_developer(
    access: Access, name: str, organization: str | None, role: Role, same_name: bool, **profile: Any
) -> Found:
    """Enter a developer called NAME, as a member.

    `svc key issue --developer NAME` then makes a key. A name may be an e-mail address.
    """
    scope = access.find("organization", organization)
    for developer_id, known in ({} if same_name else access.names()).items():
        if known.casefold() == name.casefold():
            raise NotFound(
                f"{known} ({developer_id}) is there already: take another name, or give --same-name; then both are "
                "named by their ids. `svc member add` takes somebody who is there into another organization"
            )
    made = access.create("developer", display_name=name, **{each: of for each, of in profile.items() if of})
    access.create("membership", organization_id=scope["id"], developer_id=made["id"], role=role)
    return made


# --- what changes ---------------------------------------------------------------------------------------------------


def days(value: str) -> int | str:
    return FOREVER if value == FOREVER else click.IntRange(1, RETENTION_DAYS_MAX)(value)


@org.command("set", show=SHOWN["organization"], example="svc org set --retention-days-text 90 --no-text-leaves")
@click.argument("organization", required=False)
@click.option("--name")
@click.option("--text-leaves/--no-text-leaves", default=None, help="Whether texts may go to a text model.")
@click.option("--redaction/--no-redaction", default=None, help="Whether secrets are taken out before texts are stored.")
@click.option("--retention-days-telemetry", type=days, help="How long raw telemetry is kept, or forever.")
@click.option("--retention-days-text", type=days, help="How long texts are kept, or forever.")
@click.option(
    "--team-minimum",
    type=click.IntRange(TEAM_MINIMUM_LEAST, TEAM_MINIMUM_MOST),
    help="Members at work on a day from which their team sees how it came out.",
)
def set_organization(access: Access, organization: str | None, **settings: Any) -> Found:
    """Change settings of ORGANIZATION, given by name or id. What is not named stays."""
    wanted = {name: None if value == FOREVER else value for name, value in settings.items() if value is not None}
    return access.change("organization", access.find("organization", organization), **wanted)


@developer.command("set", show=SHOWN["developer"], params=[WHO, *PROFILE], example="svc developer set Kim --name Ana")
@click.option("--name", "display_name")
@click.option("--no-reports", is_flag=True, help="No report is made by itself any more.")
@click.option("--no-notices", is_flag=True, help="They are told of no report any more.")
@click.option("--no-email", is_flag=True, help="The e-mail address is taken away.")
def set_developer(
    access: Access, developer: str, no_reports: bool, no_notices: bool, no_email: bool, **profile: Any
) -> Found:
    """Change the profile of WHO, given by name or id. What is not named stays."""
    wanted = {field: value for field, value in profile.items() if value}
    wanted |= ({"report_schedules": []} if no_reports else {}) | ({"report_notices": []} if no_notices else {})
    wanted |= {"email": ""} if no_email else {}
    return access.change("developer", access.find("developer", developer), **wanted)


@member.command("set", show=SHOWN["membership"], params=[WHO, ORGANIZATION], example="svc member set Kim --role owner")
@click.option("--role", type=click.Choice(get_args(Role)), required=True)
def set_member(access: Access, developer: str, organization: str | None, role: Role) -> Found:
    """Give WHO another role."""
    return access.change("membership", access.member(developer, organization), role=role)


# --- what ends ------------------------------------------------------------------------------------------------------


@member.command("remove", params=[WHO, ORGANIZATION], example="svc member remove Kim")
def remove_member(access: Access, developer: str, organization: str | None) -> str:
    """End the membership of WHO, given by name or id. Their keys open nothing any more; what they did stays."""
    found = access.member(developer, organization)
    access.end("membership", found)
    return f"{access.names()[found['developer_id']]} is no longer a member"


@team.command("end", params=[TEAM], example="svc team end Core")
def end_team(access: Access, team: str) -> str:
    """Make the team NAME, given by name or id, inactive."""
    found = access.find("team", team)
    access.end("team", found)
    return f"team {found['name']} has ended"


@team.command("remove", params=[TEAM, WHO], example="svc team remove Core Kim")
def remove_team_member(access: Access, team: str, developer: str) -> str:
    """End the stay of WHO in the team NAME."""
    found, person = access.find("team", team), access.find("developer", developer)
    for each in access.listed("team-membership", team_id=found["id"], developer_id=person["id"]):
        if each["active"]:
            access.end("team-membership", each)
            return f"{developer} is no longer in team {team}"
    raise NotFound(f"{person['display_name']} is not in team {found['name']}; `svc team members` shows who is")


@key.command("revoke", example="svc key revoke svc_Jx3kQ9aP")
@click.argument("key")
def revoke_key(access: Access, key: str) -> str:
    """Make KEY void, from the very next request on. KEY is its id, or the twelve characters that it begins with."""
    known = access.listed("key")
    begun = [each for each in known if key.startswith(each["key_start"]) and not each["revoked"]]
    found = [each for each in known if each["id"] == key.lower()] or begun
    if len(found) != 1:
        many = f"{len(found)} keys begin" if found else "no key has this id, and no active one begins"
        raise NotFound(f"{many} with {key[:KEY_START_CHARACTERS]!r}; `svc key list` shows those there are")
    access.end("key", found[0])
    return f"key {found[0]['id']} is revoked"


# --- keys that begin --------------------------------------------------------------------------------------------------


def _show_issued(issued: Found) -> None:
    record = issued["record"]
    if issued["key"] is not None:
        say(issued["key"])
    say(f"key {record['key_id']} of developer {record['developer_id']}", err=True)


def _issued(access: Access, developer: str | None, organization: str | None, **wanted: str | None) -> Found:
    """Make a key. It is shown this once."""
    scope = access.id_of("organization", organization)
    whose = access.find("developer", developer)
    record = access.create("key", organization_id=scope, developer_id=whose["id"], **wanted)
    return {"key": record.pop("key"), "record": record}


_PREFIX = click.Option(["--prefix"], type=click.Choice(["svc", "gck"]), default="svc", show_default=True)
_ENDS = "When it ends, ISO 8601. [default: when it is revoked]"
_EXPIRES = click.Option(["--expires", "expires_at"], metavar="TIME", help=_ENDS)
_EXAMPLE = "svc key issue --developer Kim --name laptop"
key.command("issue", show=_show_issued, params=[*NEW_KEY, _PREFIX, _EXPIRES], example=_EXAMPLE)(_issued)


@key.command("import", show=_show_issued, params=[*NEW_KEY], example="svc key import --developer Kim < old-key.txt")
def import_key(access: Access, developer: str | None, organization: str | None, name: str | None) -> Found:
    """Let in a key that exists already.

    Such as a gck_ key of an older installation. It is read from standard input, or asked for. Only its hash and its
    first characters are kept, or even sent.
    """
    from svc_http.routing import KEY_PATTERN

    typed = sys.stdin is not None and sys.stdin.isatty()
    text = (click.prompt("key", hide_input=True) if typed else sys.stdin.readline(KEY_LINE_CHARACTERS_MAX)).strip()
    if KEY_PATTERN.fullmatch(text) is None:
        raise click.ClickException("this is no key: keys are svc_ or gck_ and 43 letters, digits, - or _")
    digest, start = sha256(text.encode()).hexdigest(), text[:KEY_START_CHARACTERS]
    return _issued(access, developer, organization, key_digest=digest, key_start=start, name=name)


# --- audit, open ------------------------------------------------------------------------------------------------------


@click.command(cls=Command, example="svc audit --format csv > acts.csv")
@settings_option
@click.option("--format", "form", type=click.Choice(get_args(AuditForm)), default="ndjson", show_default=True)
def audit(settings: Settings, form: AuditForm) -> None:
    """The oldest act comes first; links, backfills and forgetting are among them. Names are those of today."""
    hear_warnings()
    with reach(settings) as access:
        say(access.admin("GET", "/v1/admin/audit", format=form).decode().rstrip("\n"))


def _show_link(made: Found) -> None:
    say(made["url"])
    if not click.get_current_context().params["only_print"]:
        import webbrowser

        say(f"Its button works once, within {LINK_SECONDS} seconds.", err=True)
        webbrowser.open(made["url"])


@click.command("open", cls=Reaching, show=_show_link, params=[ORGANIZATION], example="svc open --var var --print")
@click.option("--developer", metavar="NAME", help="Whose pages; may be left out while there is only one member.")
@click.option("--operator", is_flag=True, help="The pages of whoever runs the server instead.")
@click.option("--print", "only_print", is_flag=True, help="Only print the link.")
def open_pages(
    access: Access, developer: str | None, organization: str | None, operator: bool, only_print: bool
) -> Found:
    """Prints a link whose button works once, within a minute. Whoever can read the data folder may do this, for
    any developer.
    """
    from svc.serving import browsable

    status = access.ask("GET", "/v1/admin/control/status")
    if status["api"] is None or status["state"] != "serving":
        var = click.get_current_context().params["settings"].var
        raise NotReached(f"no server runs over {var}; start it with `svc serve --var {var}`")
    if operator:
        made = access.create("operator-link")
    else:
        member = access.member(developer, organization)
        made = access.create("link", **{each: member[each] for each in ("developer_id", "organization_id")})
    return {"url": browsable(status["api"]) + made["path"], "expires_at": made["expires_at"]}
