"""Two listeners over one service, and the socket of its commands, until somebody asks to stop."""

import gc
import os
import resource
import signal
import socket
import ssl
import stat
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import structlog
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as hypercorn_serve
from quart_trio import QuartTrio

from aggregates.event import Refused, Scope
from aggregates.people.acts import CreateDeveloper, CreateOrganization, PeopleAct, StartMembership
from aggregates.people.directory import Key, Membership
from aggregates.times import US_PER_SECOND
from svc.jobs.nodes import alone
from svc.log.folder import NAME as SECRET_NAME, SOCKET, forget_running, held, listening_socket, note_running
from svc.process import FIRST_LINK_SECONDS, KIB_BYTES, RESTART_SECONDS_MIN, look_seldom, share_heaps, single
from svc.service import RunningService, open_service
from svc.settings import Settings, SettingsError, listening_address
from svc_http.app import build_api, build_intake
from svc_http.pages.words import here_only
from svc_http.routes.people import new_key, new_link

SWITCH_SECONDS = 0.0005  # how long one thread runs: at the usual 5 ms the p99 of a capture is twice as long
STOP_SECONDS = 3.0  # how long open requests may take once the server is asked to stop; all is over within 5 s
HEADER_BYTES_MAX = 32 * KIB_BYTES  # A request's line and headers together
BODY_PIECES_WAITING_MAX = 1  # of 64 KiB, read ahead of a route: a hundred senders would stop the others
KEEP_ALIVE_REQUESTS_MAX = 1_000  # over one connection, which is closed with the answer to the last
KEEP_ALIVE_FEW_FILES_SECONDS = 5.0
KEEP_ALIVE_SECONDS = 75.0  # how long an idle connection is kept: exporters that send every minute reuse theirs
CLIENT_READ_STALL_SECONDS = 4.0  # how long a client may leave what it is sent untaken; less than a stop may take
BACKLOG_CONNECTIONS = 1_024  # connections that wait to be accepted: a whole company's agents may come back at once
OPEN_DOORS = (
    "other machines reach this server without TLS: put deploy/nginx.conf or deploy/Caddyfile before it, which bound "
    "connections and speak HTTP/1.1 to it"
)
FILES_MIN = 4_096  # fewer open files are told in a warning: each connection is one, and agents keep theirs open

log = structlog.get_logger()


class Initialized(msgspec.Struct, frozen=True):
    """What a new folder got. The key is shown this once."""

    organization_id: uuid.UUID
    developer_id: uuid.UUID
    key: str
    internal_secret_file: str


async def initialize(
    service: RunningService, var: Path, organization: str = "My team", owner: str = "Owner"
) -> Initialized | None:
    """Set an empty folder up; None where a key was ever issued. What a broken-off run left behind is used."""
    async with alone(service.store.shared, "setup"):
        await service.prices.start()  # in either case: the requests of the first capture are priced by them
        if service.following is not None:  # know what other nodes have decided about people and keys
            await service.administration.follow()
        if service.directory.all(Key) or service.directory.doubtful:  # one may have been lost
            return None
        wanted: list[PeopleAct] = []
        member: Membership | StartMembership | None = next(iter(service.directory.all(Membership)), None)
        if member is None:
            member = StartMembership(organization_id=uuid.uuid4(), developer_id=uuid.uuid4(), role="owner")
            wanted += [
                CreateOrganization(organization_id=member.organization_id, name=organization),
                CreateDeveloper(developer_id=member.developer_id, display_name=owner),
                member,
            ]
        key, issue = new_key(Scope(member.organization_id, member.developer_id), name="first key")
        for command in [*wanted, issue]:
            reply = await service.administer(command)
            assert not isinstance(reply, Refused), f"a new folder refuses nothing: {reply}"
    return Initialized(member.organization_id, member.developer_id, key, str(var / SECRET_NAME))


class Listening(NamedTuple):
    intake_url: str
    api_url: str
    link: str | None = None  # at the first start, the address that opens the pages, once


async def serve(settings: Settings, ready: Callable[[Listening], None], first: Callable[[Initialized], None]) -> None:
    """Serve until SIGTERM or Ctrl-C. Raises `FolderInUse`, `SettingsError`, `StoreUnavailable`."""
    raise_file_limit()
    share_heaps()
    with held(settings.var_path):
        async with open_service(settings, lasting=True) as service:
            made = await initialize(service, settings.var_path)
            if made is not None:  # the folder was empty
                first(made)
            async with listening(settings, service) as addresses:
                if made is not None:
                    owner = Scope(made.organization_id, made.developer_id)
                    addresses = addresses._replace(link=await first_link(service, addresses.api_url, owner))
                async with trio.open_nursery() as nursery:
                    ready(addresses)
                    nursery.start_soon(trio.to_thread.run_sync, load_readers)
                    await stop_signal()


async def first_link(service: RunningService, api_url: str, scope: Scope) -> str:
    """What signs a developer of a new folder in once, within the first minutes."""
    token, offer = new_link(scope, service.now_us() + FIRST_LINK_SECONDS * US_PER_SECOND)
    reply = await service.administer(offer)
    assert not isinstance(reply, Refused), f"a new folder refuses nothing: {reply}"
    return f"{browsable(api_url)}/open/{token}"


def load_readers() -> None:
    """Load what reads texts: no start waits for it, and no capture that comes a moment later."""
    try:
        for name in ("aggregates.reading.redaction", "aggregates.reading.reading"):  # a fifth of a start's imports
            import_module(name)
    except OSError as error:  # as many files are open as may be
        log.warning("what reads texts could not be loaded; the first text loads it", reason=str(error))
    gc.freeze()


def browsable(url: str) -> str:
    """The address as a browser on this machine takes it: nobody can go to 0.0.0.0."""
    return url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]")


@asynccontextmanager
async def listening(settings: Settings, service: RunningService) -> AsyncIterator[Listening]:
    """Both listeners and the socket, open during the block. Building the API takes a third of a start."""
    stop, api = trio.Event(), build_api(service)
    try:
        async with _tools(api, settings, service), trio.open_nursery() as nursery:
            intake = await _start(nursery, build_intake(service), settings, settings.intake, stop)
            url = await _start(nursery, api, settings, settings.api, stop)
            # Once more, for commands of the folder's owner; they send the internal secret nowhere else.
            plain = msgspec.structs.replace(settings, tls_certificate=None, tls_key=None)
            try:
                socket_of_commands = listening_socket(settings.var_path)
            except OSError as error:
                why = f"cannot make the socket {settings.var_path / SOCKET}: {error.strerror}"
                raise SettingsError(f"{why}; choose another folder with --var") from error
            await nursery.start(_run, api, _config(plain), socket_of_commands, stop)
            if not service.settings.ingest_url:
                service.settings = msgspec.structs.replace(service.settings, ingest_url=intake)
            beyond = [each for each in (intake, url) if not here_only(each)]
            if beyond and settings.tls_certificate is None:  # hypercorn has no bound on HTTP/2 without TLS
                log.warning(OPEN_DOORS, addresses=beyond)
            note_running(settings.var_path, intake, url)
            look_seldom()
            sys.setswitchinterval(SWITCH_SECONDS)
            try:
                yield Listening(intake, url)
            finally:
                service.stop_following()
                stop.set()
    finally:
        forget_running(settings.var_path)


def _tools(api: QuartTrio, settings: Settings, service: RunningService) -> AbstractAsyncContextManager[None]:
    """The tools of agents at the API, where the settings want them."""
    if not settings.mcp:
        return nullcontext()
    try:
        from svc_http.tools import with_tools
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        why = "mcp is on, but its library is missing: pip install 'coding-agent-mirror[mcp]', or leave the setting out"
        raise SettingsError(why) from error
    return with_tools(api, service)


async def stop_signal() -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        await anext(aiter(signals))


async def _start(nursery: trio.Nursery, app: Any, settings: Settings, address: str, stop: trio.Event) -> str:
    host, port = listening_address(address)
    config = _config(settings)
    try:
        listening = bound_socket(host, port)
        port = listening.getsockname()[1]
        await nursery.start(_run, app, config, listening, stop)
    except (OSError, BaseExceptionGroup) as error:
        cause = single(error)
        if isinstance(cause, ssl.SSLError):
            why = f"tls_certificate and tls_key cannot be used together: {cause.reason or cause}"
            raise SettingsError(why) from error
        if isinstance(cause, OSError):
            raise SettingsError(f"cannot listen on {address}: {cause.strerror}; choose another HOST:PORT") from error
        raise cause from error
    scheme = "https" if settings.tls_certificate else "http"
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}:{port}"


def hang_up_all(address: str) -> None:
    """End every connection of this process that came by a Unix socket; hypercorn gives none of them out."""
    for number in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):  # `fromfd` never closes its copy of anything else
                with socket.fromfd(number, socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                    if connection.getsockname() == address:
                        connection.shutdown(socket.SHUT_RDWR)


async def _run(
    app: Any,
    config: Config,
    listening: socket.socket,
    stop: trio.Event,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until `stop`. One connection that breaks ends hypercorn's whole listener, so begin it again."""
    begun, address = False, listening.getsockname()

    async def hang_up() -> None:  # a Unix socket has no timeout that ends who does not take its data
        await stop.wait()
        await trio.sleep(STOP_SECONDS)
        hang_up_all(address)

    async with trio.open_nursery() as beside:
        if listening.family is socket.AF_UNIX:
            beside.start_soon(hang_up)
        with listening:
            while not stop.is_set():
                try:
                    async with trio.open_nursery() as nursery:
                        config.bind = [f"fd://{os.dup(listening.fileno())}"]
                        await nursery.start(partial(hypercorn_serve, app, config, shutdown_trigger=stop.wait))
                        if not begun:
                            begun = True
                            task_status.started()
                except Exception as error:
                    if not begun:
                        raise
                    log.error("a connection broke its listener, which begins again", reason=repr(single(error)))
                    await trio.sleep(RESTART_SECONDS_MIN)
        beside.cancel_scope.cancel()


def bound_socket(host: str, port: int) -> socket.socket:
    """Where Linux ends connections whose clients do not take their data: hypercorn would wait for ever."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = family is socket.AF_INET6 and socket.has_dualstack_ipv6()
    made = socket.create_server((host, port), family=family, dualstack_ipv6=dual)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(CLIENT_READ_STALL_SECONDS * 1_000))
    return made


def raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:
        log.warning("the limit of open files could not be raised", soft=soft, hard=hard, reason=str(error))
    if _few_files():
        log.warning(
            "few files may be open, and each connection is one: whoever holds that many keeps everybody else out. "
            "Raise the hard limit: ulimit -Hn, LimitNOFILE= of systemd, --ulimit nofile= of a container",
            hard=hard,
            wanted=FILES_MIN,
            idle_connections_end_after_seconds=KEEP_ALIVE_FEW_FILES_SECONDS,
        )


def _few_files() -> bool:
    return 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < FILES_MIN  # RLIM_INFINITY is -1


def _config(settings: Settings) -> Config:
    for name, path in (("tls_certificate", settings.tls_certificate), ("tls_key", settings.tls_key)):
        if path is not None and not Path(path).is_file():
            raise SettingsError(f"{name}: there is no file {path}")
    config = Config()
    config.backlog = BACKLOG_CONNECTIONS
    config.certfile = settings.tls_certificate
    config.keyfile = settings.tls_key
    config.accesslog = None
    config.loglevel = "WARNING"
    config.graceful_timeout = STOP_SECONDS
    config.keep_alive_timeout = KEEP_ALIVE_FEW_FILES_SECONDS if _few_files() else KEEP_ALIVE_SECONDS
    config.keep_alive_max_requests = KEEP_ALIVE_REQUESTS_MAX
    config.h11_max_incomplete_size = HEADER_BYTES_MAX
    config.max_app_queue_size = BODY_PIECES_WAITING_MAX
    config.include_server_header = False
    return config
