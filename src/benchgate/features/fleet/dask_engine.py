"""A fleet's engine: Dask.distributed, which spreads runs over workers and makes those of a dead worker again.

Takes the address of a scheduler; gives an `Engine` (engine.py). Each call of a worker is one of the
functions of work.py, with bytes. When the scheduler goes away, everything under way is lost, and the client
waits for another one at the same address. Fails with FleetError if no scheduler answers.
"""

from __future__ import annotations

import asyncio
import queue
import warnings
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future as Waiting
from contextlib import suppress
from typing import Any

from distributed import Client
from distributed import Future as Remote

from benchgate.base.interrupts import held
from benchgate.base.text import one_line
from benchgate.features.fleet import dask_private, dask_settings, work
from benchgate.features.fleet.certificates import CLIENT
from benchgate.features.fleet.engine import AnswerEvent, Event, FleetMember, LossEvent
from benchgate.features.fleet.errors import FleetError

CONNECT_S = 30.0
_RECONNECT_S = 3600.0
"""Longer than the runner's patience, which decides."""
_SEATS_S = 1.0
_CLOSE_S = 10.0
_ENTRIES = {one.__name__: one for one in (work.carry_out, work.tell, work.hold)}


class DaskEngine:
    def __init__(self, address: str, security: Any = None) -> None:
        dask_settings.use()
        dask_private.limit(CLIENT)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # other versions of packages that a run does not depend on
                options = {"timeout": CONNECT_S, "security": security, "set_as_default": False}
                self._client = Client(address, name="benchgate", **options)
        except (OSError, TimeoutError) as error:
            raise FleetError(
                f"no scheduler of a fleet answers at {address}: {one_line(str(error), 200)}; start one with "
                "`benchgate fleet scheduler`"
            ) from error
        dask_private.wait_for_scheduler(self._client, _RECONNECT_S)
        self._loop = dask_private.loop_of(self._client)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._under_way: dict[int, tuple[Remote, Waiting[None]]] = {}
        self._kept_to: dict[int, frozenset[str]] = {}
        """The workers that may make a run, by its number, if not all may."""
        self._seats: tuple[FleetMember, ...] = ()
        self._watching = self._spawn(self._watch())

    def seats(self) -> Sequence[FleetMember]:
        return self._seats

    def run(self, number: int, task: bytes, *, key: str, avoid: frozenset[str], rank: int) -> None:
        allowed = frozenset(seat.address for seat in self._seats) - avoid if avoid else None
        self._submit(number, key, allowed, -rank, work.carry_out, task)

    def store(self, number: int, sha256: str, content: bytes, address: str) -> None:
        """The scheduler passes it on; workers do not speak with each other."""
        self._submit(number, "input", frozenset({address}), 1, work.put_input, sha256.encode(), content)

    def call(self, number: int, entry: str, data: bytes, address: str) -> None:
        self._submit(number, entry, frozenset({address}), 1, _ENTRIES[entry], data)

    def _submit(
        self,
        number: int,
        key: str,
        allowed: frozenset[str] | None,
        priority: int,
        function: Callable[..., bytes],
        *arguments: bytes,
    ) -> None:
        with held():
            future = self._client.submit(
                function,
                *arguments,
                key=f"{self._client.id}-{number}-{key}",
                workers=None if allowed is None else sorted(allowed),
                priority=priority,
                pure=False,
            )
            if allowed is not None:
                self._kept_to[number] = allowed
            self._under_way[number] = future, self._spawn(self._follow(number, future))

    def cancel(self, number: int) -> None:
        with held():
            self._kept_to.pop(number, None)
            if number in self._under_way:
                future, waiting = self._under_way.pop(number)
                waiting.cancel()
                future.release()

    def events(self, seconds: float) -> Sequence[Event]:
        result: list[Event] = []
        with suppress(queue.Empty):
            result.append(self._events.get(timeout=seconds))
            while True:
                result.append(self._events.get_nowait())
        return [one for one in result if self._ends(one.number)]

    def close(self) -> None:
        for number in list(self._under_way):
            self.cancel(number)
        self._watching.cancel()
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=_CLOSE_S)

    # ---- in the thread of Dask's loop

    def _spawn(self, work_: Coroutine[Any, Any, None]) -> Waiting[None]:
        return asyncio.run_coroutine_threadsafe(work_, self._loop)

    def _ends(self, number: int) -> bool:
        """True if the event is the first of its number. Its memory in the fleet is given back."""
        self._kept_to.pop(number, None)
        future, _ = self._under_way.pop(number, (None, None))
        if future is None:
            return False
        future.release()
        return True

    async def _follow(self, number: int, future: Remote) -> None:
        try:
            address, answer = await dask_private.answer_of(self._client, future)
        except asyncio.CancelledError:
            if asyncio.current_task().cancelling():  # type: ignore[union-attr] # it runs in a task
                raise
            self._events.put(LossEvent(number, "the scheduler went away"))
        except Exception as error:
            self._events.put(LossEvent(number, one_line(f"{type(error).__name__}: {error}", 200)))
        else:
            self._events.put(AnswerEvent(number, address, answer))

    async def _watch(self) -> None:
        """Notes which workers there are. A run that waits for workers that are all gone is lost."""
        while True:
            found, is_there = {}, self._client.status == "running"
            if is_there:
                try:
                    found = await dask_private.slots_of(self._client)
                except (OSError, TimeoutError):  # what Dask raises for a connection that is gone
                    is_there = False
            self._seats = tuple(FleetMember(address, slots) for address, slots in found.items())
            for number, allowed in list(self._kept_to.items()):
                if is_there and not allowed & set(found):
                    self._kept_to.pop(number, None)
                    self._events.put(LossEvent(number, "the workers that may make it went away"))
            await asyncio.sleep(_SEATS_S)
