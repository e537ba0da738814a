"""The process of a fleet's scheduler: it hands out runs, and knows nothing of them.

Takes an address; runs until it is interrupted. Fails with FleetError if the address cannot be used.
"""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from benchgate.base.errors import FleetError
from benchgate.build.cache_storage import Notice
from benchgate.fleet import dask_private, dask_settings


def run(host: str, port: int, security: Any, say: Notice) -> None:
    dask_settings.use()
    dask_private.beat_every(dask_settings.HEARTBEAT_S)
    asyncio.run(_serve(host, port, security, say))


async def _serve(host: str, port: int, security: Any, say: Notice) -> None:
    stop = stopped()
    protocol = "tls" if security is not None else "tcp"
    try:
        scheduler = await dask_private.scheduler_class()(
            host=host, port=port, protocol=protocol, security=security, dashboard_address="127.0.0.1:0"
        )
    except OSError as error:
        raise FleetError(f"{host}:{port} cannot be used: {error.strerror or error}") from error
    say(f"scheduler at {scheduler.address}; Ctrl-C ends it")
    await stop.wait()
    await scheduler.close()


def stopped() -> asyncio.Event:
    """Is set by the signals that end a program."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
