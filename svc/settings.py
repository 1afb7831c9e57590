"""One frozen settings object: defaults < `svc.toml` < `SVC_*` environment < flags."""

import os
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from aggregates.event import Mendable
from svc.process import Place

if TYPE_CHECKING:
    from aggregates.people.acts import Channel

CONFIG_FILE = "svc.toml"
ENVIRONMENT_PREFIX = "SVC_"
OTHER_VARIABLES = frozenset(
    f"{ENVIRONMENT_PREFIX}{name}"
    for name in ("URL", "API_URL", "KEY", "HOST", "REAL_DATA", "FUZZ_TIMES", "WRITE_PAGES", "TEST_POSTGRES")
)
"""That are no settings: of `svc connect`, of deployments and of tests."""
GONE = {"projector": "a thread keeps the views of every server. Take it out; for heavy load see docs/cluster.md"}
"""Settings of former versions, which are told and ignored, and what there is instead."""
SECRETS = frozenset({"llm_key", "store", "smtp_url", "webhook_url", "webhook_secret"})
LOOPBACK = ("127.0.0.1", "::1", "localhost")
SECRET_BYTES_MAX = 4_096
Amount = Annotated[int, msgspec.Meta(ge=0)]


class SettingsError(Mendable):
    """A setting cannot be used; the message says which, where it came from, and what it should be."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything an operator can choose. Nothing here shapes a score: what must, is a fact in the log."""

    var: str = "var"  # The folder that holds the log, the views, the keys and the internal secret.
    store: str | None = None  # postgresql://… for a log that nodes share; else the folder. Its password is not shown.
    master_key_file: str | None = None  # File of 64 hex digits that open a shared store's keys; on each node, mode 600.
    intake: str = "127.0.0.1:4318"  # HOST:PORT of the public listener; port 0 takes any free one.
    api: str = "127.0.0.1:8318"  # HOST:PORT of the private listener.
    api_hosts: str = ""  # Names of the private listener, blanks between; addresses and names without a dot always may.
    requests_per_minute: Amount = 60_000  # Of each developer; beyond it 429. Here and in the next eight 0 is no bound.
    megabytes_per_minute: Amount = 1_024  # Of bodies that a developer's keys send.
    cpu_seconds_per_minute: Amount = 40  # Of processor time for a developer's requests: bodies, deciding, reading.
    sessions_per_day: Amount = 20_000  # New agent sessions of a developer.
    stored_megabytes_per_day: Amount = 4_096  # What a developer's captures take up on disk, about.
    deriving_seconds_per_minute: Amount = 20
    """Of processor time for scores from a developer's captures, beyond 5 ms for each event."""
    address_requests_per_minute: Amount = 300_000  # From one address; all who come through one proxy share it.
    address_megabytes_per_minute: Amount = 4_096
    wrong_keys_per_minute: Amount = 20  # Of one address; beyond it each 401 comes up to 2 s late.
    tls_certificate: str | None = None  # Path of a PEM file for both listeners; together with `tls_key`.
    tls_key: str | None = None
    ingest_url: str | None = None  # What agents are told to send to; the intake's own address where it is not set.
    gateway_url: str | None = None
    anthropic_base_url: str | None = None
    dashboard_url: str | None = None
    environment: str = "production"
    capture_prompts: bool = True
    capture_responses: bool = True
    archive_read_files_max: Amount = 2_000  # Files that one read may open; beyond it the read says it is partial.
    archive_read_bytes_max: Amount = 512 * 1024 * 1024  # How many bytes of the archive one read may look at.
    catalog: str = "genai-prices"  # Where list prices come from: the installed data, the path of a file, or a URL.
    catalog_refresh: bool = True  # Whether prices are asked for daily; with `genai-prices` on the network.
    llm_url: str | None = None  # Base address of a text model, like http://127.0.0.1:11434/v1; with `llm_model`.
    llm_api: Literal["openai", "anthropic"] = (
        "openai"  # How it is spoken to: openai (/chat/completions) or anthropic (/messages).
    )
    llm_model: str | None = None
    llm_key: str | None = None  # Shown nowhere; give it by the environment.
    llm_daily_tokens: Amount = 500_000  # some 250 sub-sessions
    """What the text model may be asked for in a day of UTC, both ways counted."""
    backup_every: Amount = 0  # Hours between two backups that the server makes by itself; 0: it makes none.
    backup_keep: Annotated[int, msgspec.Meta(ge=1)] = 7  # How many of them stay; the oldest go first.
    backup_folder: str | None = None  # Best on another disk; VAR-backups beside the data folder where it is not set.
    oidc_issuer: str | None = None  # OpenID Connect provider by which people sign in; needs the extra `oidc`.
    oidc_client_id: str | None = None
    oidc_client_secret_file: str | None = None  # Holds the client's secret, mode 600; unset for a client without one.
    oidc_name: str | None = None  # What the button calls the provider; its host where it is not set.
    smtp_url: str | None = None
    """smtp://USER:PASSWORD@HOST:587 (by STARTTLS) or smtps://…: who asks for it is told by mail that a report is
    finished. Shown nowhere; give it by the environment."""
    mail_from: str | None = None  # The address that those mails come from.
    webhook_url: str | None = None  # https://…: is told of finished reports, where people ask for it. Shown nowhere.
    webhook_secret: str | None = None  # whsec_ and base64 of 24 to 64 random bytes, which proves us. Shown nowhere.
    mcp: bool = False  # Whether agents may ask at /mcp of the private listener, each with a key; needs the extra `mcp`.
    access_log: bool = False  # Whether every request is a line in the log; those that break always are.
    log_level: str = "info"  # debug, info, warning or error.

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in SECRETS)
        return f"Settings({', '.join(shown)})"

    @property
    def channels(self) -> "tuple[Channel, ...]":
        settings: tuple[tuple[Channel, str | None], ...] = (("email", self.smtp_url), ("webhook", self.webhook_url))
        return tuple(channel for channel, url in settings if url is not None)

    @property
    def backup_path(self) -> Path:
        if self.backup_folder is not None:
            return Path(self.backup_folder).expanduser()
        return self.var_path.with_name(f"{self.var_path.name}-backups")

    @property
    def var_path(self) -> Path:
        return Path(self.var).expanduser()

    @property
    def place(self) -> Place:
        key = self.master_key_file
        return Place(self.var_path, self.store, None if key is None else Path(key).expanduser())


def secret_in(file: str, setting: str) -> str:
    """What a file of a secret holds. Raises `SettingsError`, which tells nothing of it."""
    path = Path(file).expanduser()
    try:
        mode, text = path.stat().st_mode, path.read_bytes()[:SECRET_BYTES_MAX].decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{setting}: {path} cannot be read: {type(error).__name__}") from error
    if mode & 0o077:
        raise SettingsError(f"{setting}: others may read the secret: `chmod 600 {path}`")
    if not text:
        raise SettingsError(f"{setting}: {path} is empty")
    return text


def is_safe(url: str) -> bool:
    """Whether nobody on the way reads what is sent there: by TLS, or on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


_GONE_VARIABLES = {ENVIRONMENT_PREFIX + field.upper(): instead for field, instead in GONE.items()}
VARIABLES = {ENVIRONMENT_PREFIX + field.upper(): field for field in Settings.__struct_fields__}


def load_settings(
    flags: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    warn: Callable[[str], object] = lambda _warning: None,
) -> Settings:
    """Read every source; a later one wins. `flags`: only those that were given. Raises `SettingsError`."""
    of_file: dict[str, Any] = {}
    # A folder we may not look into holds no settings: `sudo -u svc` keeps people's own folder.
    if os.path.exists(CONFIG_FILE):
        try:
            of_file = tomllib.loads(Path(CONFIG_FILE).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"{CONFIG_FILE} cannot be used: {error}") from error
    for name in GONE.keys() & of_file.keys():
        del of_file[name]
        warn(f"{CONFIG_FILE}: the setting {name} is gone: {GONE[name]}")
    for name in _GONE_VARIABLES.keys() & environment.keys():
        warn(f"{name} in the environment is gone: {_GONE_VARIABLES[name]}")
    of_environment = {field: environment[name] for name, field in VARIABLES.items() if name in environment}
    of_flags = {name: value for name, value in flags.items() if value is not None}
    for values, source in ((of_file, f"{CONFIG_FILE}: "), (of_environment, ENVIRONMENT_PREFIX), (of_flags, "")):
        _check_types(values, source)
    settings = msgspec.convert(of_file | of_environment | of_flags, Settings, strict=False)
    _check(settings)
    return settings


def unknown_variables(environment: Mapping[str, str] = os.environ) -> list[str]:
    named = {name for name in environment if name.startswith(ENVIRONMENT_PREFIX)}
    return sorted(named - VARIABLES.keys() - OTHER_VARIABLES - _GONE_VARIABLES.keys())


def listening_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise SettingsError(f"{text!r} is no address to listen on: write HOST:PORT, for example 127.0.0.1:4318")
    return host.strip("[]"), int(port)


def _check_types(values: dict[str, Any], source: str) -> None:
    known = Settings.__struct_fields__
    for name in values:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else "see docs/operating.md for the settings there are"
            raise SettingsError(f"{source}there is no setting {name!r}; {hint}")
        try:
            msgspec.convert({name: values[name]}, Settings, strict=False)
        except msgspec.ValidationError as error:
            shown = name.upper() if source == ENVIRONMENT_PREFIX else name
            why = str(error).partition(" - at ")[0]
            raise SettingsError(f"{source}{shown} cannot be used: {why[:1].lower()}{why[1:]}") from error


def _check(settings: Settings) -> None:
    listening_address(settings.intake)
    listening_address(settings.api)
    for one, other in (("tls_certificate", "tls_key"), ("llm_url", "llm_model"), ("oidc_issuer", "oidc_client_id")):
        if (getattr(settings, one) is None) != (getattr(settings, other) is None):
            raise SettingsError(f"{one} and {other} belong together: set both or neither")
    if settings.llm_url is not None and not settings.llm_url.startswith(("http://", "https://")):
        raise SettingsError("llm_url is no address: write something like https://api.example/v1")
    if settings.store is not None and not settings.store.startswith(("postgresql://", "postgres://")):
        raise SettingsError("store is no address: write postgresql://USER@HOST/DATABASE, or leave it out")
    if settings.store is not None and settings.master_key_file is None:
        raise SettingsError("store needs master_key_file, the file of the key that opens the data keys in it")
    if settings.oidc_issuer is not None and not is_safe(settings.oidc_issuer):
        raise SettingsError("oidc_issuer is no address to trust: write https://…, as the provider itself writes it")
    if settings.backup_every and settings.store is not None:
        raise SettingsError("backup_every copies the folder; back the database of the log up by its own means")
    if settings.backup_path.absolute().is_relative_to(settings.var_path.absolute()):
        raise SettingsError("backup_folder lies in the data folder: name one outside of it, best on another disk")
    if settings.log_level not in ("debug", "info", "warning", "error"):
        raise SettingsError(f"log_level is {settings.log_level!r}: use debug, info, warning or error")
