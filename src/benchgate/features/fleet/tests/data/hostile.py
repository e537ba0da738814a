"""A client that tries what Dask offers: `hostile.py ADDRESS CERTIFICATES ROLE PROOF`.

It prints one line for each try: its name and what came of it. Whatever runs on the other side writes PROOF.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from dask._task_spec import Task
from distributed import Client, Security, WorkerPlugin
from distributed.comm import connect
from distributed.core import rpc
from distributed.protocol.serialize import ToPickle

from benchgate.features.fleet.work import carry_out

ADDRESS, FOLDER, ROLE, PROOF = sys.argv[1:]
S = 10.0


class Writes:
    """Unpickling it writes a line to the file PROOF."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, (f"open({PROOF!r}, 'a').write({self.how!r} + chr(10))",)


def write(how: str) -> str:
    with Path(PROOF).open("a") as proof:
        proof.write(f"{how}\n")
    return how


class Plugin(WorkerPlugin):  # type: ignore[misc]
    def setup(self, worker: object) -> None:
        write(f"plugin {worker}")


def security() -> Security:
    files = {"cert": "cert.pem", "key": "key.pem"}
    named = {
        f"tls_{role}_{value}": f"{FOLDER}/{file}"
        for role in ("client", "worker")
        for value, file in files.items()
    }
    return Security(tls_ca_file=f"{FOLDER}/ca.pem", require_encryption=True, **named)


async def calls(client: Client) -> None:
    """What a client of Dask does in its own words."""
    uploaded = Path(PROOF).with_name("uploaded.py")
    uploaded.write_text(f"open({PROOF!r}, 'a').write('upload')")
    tries: dict[str, Callable[[], Awaitable[Any]]] = {
        "submit": lambda: _result(client.submit(write, "submit", pure=False)),
        "submit eval": lambda: _result(
            client.submit(eval, f"open({PROOF!r}, 'a').write('eval')", pure=False)
        ),
        "run": lambda: client.run(write, "run"),
        "run on scheduler": lambda: client.run_on_scheduler(write, "run_on_scheduler"),
        "upload": lambda: client.upload_file(str(uploaded)),
        "plugin": lambda: client.register_plugin(Plugin()),
        "scatter": lambda: client.scatter(Writes("scatter"), hash=False),
        "restart": lambda: client.restart(timeout=2),
    }
    for name, make in tries.items():
        await said(name, make)


async def _result(future: Any) -> Any:
    return await future


async def messages(where: str, address: str) -> None:
    """What anybody can write to a connection, without Dask's own client."""
    connection = security().get_connection_args("client")

    async def pickled() -> object:
        comm = await connect(address, timeout=S, **connection)
        await comm.write({"op": "identity", "x": ToPickle(Writes("message")), "reply": True})
        return await comm.read()

    async def called(op: str, **words: Any) -> object:
        async with rpc(address, connection_args=connection) as peer:
            return await getattr(peer, op)(**words)

    await said(f"{where} message", pickled)
    await said(f"{where} run", lambda: called("run", function=pickle.dumps(Writes("call run"))))
    await said(
        f"{where} run_function", lambda: called("run_function", function=pickle.dumps(Writes("run_function")))
    )
    await said(f"{where} feed", lambda: called("feed", function=pickle.dumps(Writes("feed")), interval=0.1))
    await said(f"{where} plugin", lambda: called("plugin_add", plugin=pickle.dumps(Plugin()), name="x"))
    await said(f"{where} upload", lambda: called("upload_file", filename="x.py", data=b"print()", load=True))
    task = Task("x", eval, f"open({PROOF!r}, 'a').write('compute')")
    await said(f"{where} compute", lambda: called("compute_task", key="x", run_spec=ToPickle(task)))


async def said(name: str, make: Callable[[], Awaitable[Any]]) -> None:
    try:
        result = await asyncio.wait_for(make(), S)
        line = f"{name}: done {result!r}"
    except BaseException as error:
        line = f"{name}: {type(error).__name__} {error!r}"
    print(line.replace("\n", " ")[:300], flush=True)


async def main() -> None:
    try:
        async with asyncio.timeout(S):
            client = await Client(ADDRESS, security=security(), asynchronous=True, timeout=5)
    except BaseException as error:
        print(f"client: {type(error).__name__}", flush=True)
        await messages("scheduler", ADDRESS)
        return
    workers = list(await client.scheduler.ncores())
    print(f"client: connected {len(workers)}", flush=True)
    await calls(client)
    await messages("scheduler", ADDRESS)
    for address in workers:
        await messages("worker", address)
    print(f"workers left: {len(await client.scheduler.ncores())}", flush=True)
    await said("asked well", lambda: _result(client.submit(carry_out, b"no task", pure=False)))


asyncio.run(asyncio.wait_for(main(), 120))
