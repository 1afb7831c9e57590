"""What several commands share: the option for the folder, and errors as sentences."""

import contextlib
import functools
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click
import msgspec
import structlog
import trio

from svc.access import NotFound, NotReached
from svc.catalog_access import NotDone
from svc.catalog_sources import CatalogUnusable
from svc.codec import CorruptEvent
from svc.failures import single
from svc.folder import InUse, Unusable
from svc.logs import set_up_logs
from svc.settings import Settings, SettingsError, load_settings, unknown_variables
from svc.store import StoreUnavailable
from svc_http.ports import NotRefreshed, Unavailable, UnknownRules

P = ParamSpec("P")
T = TypeVar("T")

EXPECTED = (
    NotReached,
    NotFound,
    NotDone,
    NotRefreshed,
    CatalogUnusable,
    InUse,
    Unusable,
    SettingsError,
    CorruptEvent,
    StoreUnavailable,
    Unavailable,
    UnknownRules,
    OSError,
)
"""Errors that a person can do something about: shown as one sentence, without a traceback."""

var_option = click.option("--var", "var", metavar="DIR", help="The folder that holds the data. [default: var]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def settings_from(**flags: Any) -> Settings:
    """Settings with these flags on top; None is a flag that was not given."""
    if ignored := unknown_variables():  # by name only: a value may be a secret
        click.echo(f"warning: {', '.join(ignored)} in the environment: no settings of svc, and ignored", err=True)
    try:
        return load_settings(flags)
    except SettingsError as error:
        raise click.ClickException(str(error)) from error


def run(main: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run a command's async part; what a person can mend is shown as a sentence.

    Warnings go to standard error, unless the command has set up its logs otherwise: before its JSON there is nothing.
    """
    if not structlog.is_configured():
        set_up_logs("warning")
    try:
        return trio.run(functools.partial(main, *args), strict_exception_groups=True)
    except BaseException as error:
        cause = single(error)
        if isinstance(cause, KeyboardInterrupt):
            raise click.Abort from None
        if isinstance(cause, SystemExit | BrokenPipeError):  # what is shown has no reader any more, as behind `| head`
            raise cause from None
        sentence = _sentence(cause)
        if sentence is None:
            raise
        raise click.ClickException(sentence) from error


@contextlib.contextmanager
def interruptible(what_holds: str) -> Iterator[None]:
    """Whoever presses Ctrl-C within the block is told what holds now, and what to do."""
    try:
        yield
    except (click.Abort, KeyboardInterrupt):
        raise click.ClickException(f"interrupted: {what_holds}") from None


def print_json(value: object) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def _owned(error: OSError) -> str:
    """As whom to do it, where this user may not."""
    if not isinstance(error, PermissionError) or not isinstance(error.filename, str):
        return ""
    for path in (Path(error.filename), *Path(error.filename).parents):
        with contextlib.suppress(OSError, KeyError):
            return f"; {path} belongs to {path.owner()}: run this as that user, or name another place"
    return "; run this as the user that owns it, or name another place"


def _sentence(error: BaseException) -> str | None:
    """What a person is told of an expected error; None for any other."""
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}{_owned(error)}"
    return str(error) if isinstance(error, EXPECTED) else None
