"""Dask's settings for a fleet, and whether Dask is there at all.

Takes nothing; gives plain data for `dask.config.set`. Dask is made for tasks of milliseconds and looks at
itself all the time; a fleet has runs of seconds and minutes, and an idle worker must cost nothing. Fails with
FleetError if the optional packages are not installed.
"""

from __future__ import annotations

import importlib.util
import logging
from typing import Any

from benchgate.features.fleet.errors import FleetError

EXTRA = "fleet"

SETTINGS: dict[str, Any] = {
    # Nothing looks at a worker from inside: no profile of its threads, no memory monitor, no history.
    "distributed.worker.profile.enabled": False,
    "distributed.worker.profile.interval": "1h",
    "distributed.worker.profile.cycle": "1h",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.monitor-interval": "1h",
    "distributed.admin.tick.interval": "10s",
    "distributed.admin.tick.cycle": "60s",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.system-monitor.log-length": 60,
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.diagnostics.nvml": False,
    "distributed.diagnostics.computations.nframes": 0,
    # A run takes the whole of its slot, and there is nothing to gain from moving it to another worker.
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.allowed-failures": 4,
    "distributed.scheduler.worker-ttl": "5 minutes",
    "distributed.scheduler.idle-timeout": None,
    # A network that is silent for this long is down.
    "distributed.comm.timeouts.connect": "30s",
    "distributed.comm.timeouts.tcp": "60s",
    "distributed.comm.compression": False,
    "distributed.admin.large-graph-warning-threshold": "4GiB",  # an input of a guest
    # Dask opens a port for HTTP in each process; nothing answers there.
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    "distributed.client.heartbeat": "30s",
    "distributed.client.scheduler-info-interval": "30s",
}

HEARTBEAT_S = 5.0
"""How often an idle worker says that it lives. That one died shows at once, by its connection."""


def require() -> None:
    """FleetError if Dask.distributed is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise FleetError(
            "a fleet needs the package distributed (Dask), which is not installed: "
            f"pip install 'pytest-benchgate[{EXTRA}]'"
        )


def use() -> None:
    """Sets them for this process, without Dask's own log: what matters is said by our own programs."""
    require()
    import dask  # noqa: PLC0415 - only a fleet needs it
    import distributed  # noqa: F401, PLC0415 - it sets the levels of its loggers

    dask.config.set(SETTINGS)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
