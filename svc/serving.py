"""Two listeners over one service, until somebody asks to stop."""

import signal
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as hypercorn_serve

from svc.app import open_service
from svc.failures import single
from svc.folder import forget_running, held, note_running
from svc.garbage import look_seldom
from svc.limits import HEADER_BYTES_MAX, KEEP_ALIVE_REQUESTS_MAX, KEEP_ALIVE_SECONDS, STOP_SECONDS
from svc.service import RunningService
from svc.settings import Settings, SettingsError, listening_address
from svc.setup import Initialized, initialize
from svc_http.app import build_api, build_intake


class Listening(NamedTuple):
    """Where the two listeners really answer."""

    intake_url: str
    api_url: str


async def serve(settings: Settings, ready: Callable[[Listening], None], first: Callable[[Initialized], None]) -> None:
    """Serve until SIGTERM or Ctrl-C.

    `ready` is called once requests are answered; `first` when the folder was empty and has got its organization,
    owner and key. Raises `InUse`, `SettingsError`, `StoreUnavailable`.
    """
    with held(settings.var_path):
        async with open_service(settings, lasting=True) as service:
            made = await initialize(service, settings.var_path)  # prices are read while the child starts
            await service.begun()
            if made is not None:
                first(made)
            async with listening(settings, service) as addresses:
                ready(addresses)
                await stop_signal()


@asynccontextmanager
async def listening(settings: Settings, service: RunningService) -> AsyncIterator[Listening]:
    """Both listeners, open from the first line of the block to its end."""
    stop = trio.Event()
    try:
        async with trio.open_nursery() as nursery:
            intake = await _start(nursery, build_intake(service), settings, settings.intake, stop)
            api = await _start(nursery, build_api(service), settings, settings.api, stop)
            if not service.settings.ingest_url:
                service.settings = msgspec.structs.replace(service.settings, ingest_url=intake)
            note_running(settings.var_path, intake, api)
            look_seldom()
            try:
                yield Listening(intake, api)
            finally:
                service.stop_following()
                stop.set()
    finally:
        forget_running(settings.var_path)


async def stop_signal() -> None:
    """Return when somebody asks the process to stop."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        await anext(aiter(signals))


async def _start(nursery: trio.Nursery, app: Any, settings: Settings, address: str, stop: trio.Event) -> str:
    """Open a listener; the URL at which it really answers."""
    host, _ = listening_address(address)
    try:
        bound = await nursery.start(_run, app, _config(settings, address), stop)
    except (OSError, BaseExceptionGroup) as error:
        raise _not_listening(address, single(error)) from error
    scheme = "https" if settings.tls_certificate else "http"
    port = bound[0].rpartition(":")[2]
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}:{port}"


def _not_listening(address: str, cause: BaseException) -> BaseException:
    """What keeps a listener from being opened, as something to mend; any other error as it is."""
    match cause:
        case ssl.SSLError():
            return SettingsError(f"tls_certificate and tls_key cannot be used together: {cause.reason or cause}")
        case OSError():
            return SettingsError(f"cannot listen on {address}: {cause.strerror}; choose another HOST:PORT")
        case _:
            return cause


async def _run(
    app: Any, config: Config, stop: trio.Event, *, task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED
) -> None:
    await hypercorn_serve(app, config, shutdown_trigger=stop.wait, task_status=task_status)


def _config(settings: Settings, address: str) -> Config:
    config = Config()
    config.bind = [address]
    config.certfile = _readable("tls_certificate", settings.tls_certificate)
    config.keyfile = _readable("tls_key", settings.tls_key)
    config.accesslog = None
    config.loglevel = "WARNING"
    config.graceful_timeout = STOP_SECONDS
    config.keep_alive_timeout = KEEP_ALIVE_SECONDS
    config.keep_alive_max_requests = KEEP_ALIVE_REQUESTS_MAX
    config.h11_max_incomplete_size = HEADER_BYTES_MAX
    config.include_server_header = False
    return config


def _readable(name: str, path: str | None) -> str | None:
    """A file that is named must be there; what hypercorn says of it would name no setting."""
    if path is not None and not Path(path).is_file():
        raise SettingsError(f"{name}: there is no file {path}")
    return path
