"""A server with a task in its loop that reports every late beat.

`python -m tests.bench.beating VAR` prints the server's `ready` line and then, for each late beat, `late SECONDS CPU
AT`: the delay, the processor time of the whole process meanwhile, and the time on the clock that all processes share.
"""

import sys
import time

import trio

from svc.observe.logs import set_up_logs
from svc.serving import Listening, serve
from svc.settings import Settings

BEAT_SECONDS = 0.001
LATE_SECONDS = 0.005


def main() -> None:
    """Serve a folder until SIGTERM."""
    set_up_logs("warning")
    settings = Settings(var=sys.argv[1], intake="127.0.0.1:0", api="127.0.0.1:0", catalog_refresh=False)
    trio.run(_serve, settings)


async def _serve(settings: Settings) -> None:
    async with trio.open_nursery() as nursery:

        def ready(addresses: Listening) -> None:
            print(f"ready intake={addresses.intake_url} api={addresses.api_url}", flush=True)
            nursery.start_soon(_beat)

        await serve(settings, ready, lambda _made: None)
        nursery.cancel_scope.cancel()


async def _beat() -> None:
    while True:
        began, used = time.monotonic(), time.process_time()
        await trio.sleep(BEAT_SECONDS)
        now = time.monotonic()
        late = now - began - BEAT_SECONDS
        if late >= LATE_SECONDS:
            print(f"late {late:.4f} {time.process_time() - used:.4f} {now:.4f}", flush=True)


if __name__ == "__main__":
    main()
