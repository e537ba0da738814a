"""QEMUs that are forked: each run is a fork of one, with what is given to it, and no QEMU of its own.

`Templates` takes the spec, the folder and the mark of a run that starts from a snapshot; gives what makes its
process (`Fork` in run/guest.py), or None for a run that must start by itself. A template is made when a run
needs it, made again if it has died, and ends with `close`. A fork is a child of this process and dies with
it. It is all that the QEMU of its command line would be (c/forks/forks.h), so its run repeats digit for
digit without a template. Fails with BootError if no template can be made, or if it makes no fork.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

from benchgate.base.cells import Lane
from benchgate.base.errors import BootError
from benchgate.base.exploration import Strategy
from benchgate.base.files import write_json
from benchgate.base.process import Child, reap_adopted
from benchgate.base.runs import BootSpec
from benchgate.base.snapshots import DISK
from benchgate.base.system.qemu import QMP_DESCRIPTOR
from benchgate.build import cache
from benchgate.insn.talk import TALK_DESCRIPTOR
from benchgate.run.console import ConsoleLimits
from benchgate.run.forked import FILE, ForkedGuest, ForkRefusal, answer, asked, born, request_text
from benchgate.run.guest import RunningGuest, started

SOCKET = 5
"""The template's descriptor of the socket at which it is asked; the talk with the clock has 4."""
_MOST = 8
"""So many templates are kept. Each holds what QEMU needs for itself, and hardly any of the guest's memory."""
_LONGEST_PATH = 399
"""In bytes; MOST_PATH of c/forks/forks.c has the end of the text, too."""
_OBSERVED = "observe"
"""The option with the file in the run's folder that says what of the guest's kernel is observed."""
Notice = Callable[[str], None]


def why_not(spec: BootSpec, folder: Path) -> str:
    """Why the run in this folder cannot be a fork; empty if it can."""
    if spec.lane is not Lane.INSN or spec.start is None:
        return "it does not start from a snapshot"
    if spec.kept_memory or spec.counts_memory:
        return "its memory is examined"
    if any(len(os.fsencode(path)) > _LONGEST_PATH for path in (folder.absolute(), spec.start.folder)):
        return f"the path of its folder, or of its snapshot, has more than {_LONGEST_PATH} bytes"
    return ""


def plugin_word(argv: tuple[str, ...]) -> tuple[int, str]:
    """The place and the text of the argument of QEMU's option -plugin for the clock."""
    for place, word in enumerate(argv):
        if argv[place - 1] == "-plugin" and ",out=" in word:
            return place, word
    return -1, ""


def plugin_option(spec: BootSpec, name: str) -> str:
    """The value of an option of the clock; empty if it has none."""
    words = plugin_word(spec.argv)[1].split(",")
    return next((word.removeprefix(f"{name}=") for word in words if word.startswith(f"{name}=")), "")


_GIVEN = re.compile(r"name=(opt/benchgate/\w+),file=(.*)")


def _files(argv: tuple[str, ...]) -> dict[str, str]:
    """The files that a fork's guest is given after the fork, by their names in QEMU's fw_cfg device."""
    found = filter(None, map(_GIVEN.fullmatch, argv))
    return {match[1]: match[2].replace(",,", ",") for match in found}


def _is_restored(spec: BootSpec) -> bool:
    """Whether the template of such runs has loaded their snapshot: an exploration has one for all its runs.
    Other sessions have several boots, of which each fork loads its own."""
    return spec.exploration is not None


def _meets(spec: BootSpec) -> str:
    """The instructions at which its vCPUs may be stalled are in the code that a template has translated."""
    if spec.exploration is None:
        return "nowhere"
    is_place = spec.exploration.strategy is Strategy.PLACE
    return str(spec.exploration.places) if is_place else "synchronising instructions"


def key_of(spec: BootSpec, folder: Path, mark: str) -> str:
    """All runs with this key are forks of one template: they differ in what is given after the fork."""
    if spec.start is None:
        raise ValueError("only a run that starts from a snapshot is a fork")
    place, plugin = plugin_word(spec.argv)
    options = [word for word in plugin.split(",") if not word.startswith(("seed=", "start="))]
    argv = [_GIVEN.sub(r"name=\1", word) for word in spec.argv]
    argv[place] = ",".join(options)
    parts = [*argv, "environment", *(f"{name}={value}" for name, value in sorted(spec.environment.items()))]
    parts += [spec.shape, str(spec.host_cpus), _meets(spec)]
    boot = spec.start.record
    same = {name: text for name, text in boot.inputs.items() if name not in ("boot", "words")}
    parts += [f"{name} {text}" for name, text in sorted(same.items())]
    has_disks = any(name.startswith(DISK) for name in boot.digests)  # they are open before the fork
    parts += [boot.digest if _is_restored(spec) or has_disks else ""]
    if observed := plugin_option(spec, _OBSERVED):
        parts.append(Path(observed).read_text(encoding="ascii"))
    text = "\0".join(parts).replace(str(folder), "{run}").replace(mark, "{mark}")
    text = text.replace(str(spec.start.folder), "{snapshot}")
    for name, path in spec.uses.files.items() if spec.uses else ():
        text = text.replace(str(path), f"{{{name}}}") if f"file {name}" in same else text  # known by content
    return hashlib.sha256(text.encode()).hexdigest()


def template_spec(spec: BootSpec, folder: Path, mark: str, own: Path, own_mark: str) -> BootSpec:
    """The spec of the template for such runs, with its own folder and mark."""

    def renamed(text: str) -> str:
        return text.replace(str(folder), str(own)).replace(mark, own_mark)

    place, plugin = plugin_word(spec.argv)
    argv = [renamed(word) for word in spec.argv]
    argv[place] = f"{renamed(plugin)},forks={SOCKET},mark={own_mark}"
    return replace(spec, argv=tuple(argv), words=renamed(spec.words))


def request_of(spec: BootSpec, seed: str, mark: str, folder: Path) -> str:
    """The request for a fork that is this run."""
    if spec.start is None:
        raise ValueError("only a run that starts from a snapshot is a fork")
    files = (f"file {name} {path}" for name, path in _files(spec.argv).items())
    start = f"start {plugin_option(spec, 'start')}"
    return request_text(seed, mark, folder, start, f"memory {spec.start.folder}", *files)


@dataclass(eq=False)
class _Template:
    """A QEMU that waits to be forked."""

    asks: socket.socket
    stack: ExitStack
    made: int = 0
    used_s: float = 0.0
    """When it was asked for last."""

    def fork(self, text: str, descriptors: Mapping[int, int]) -> Child:
        """Raises ForkRefusal, or BootError if the template or the fork has died."""
        with asked(self.asks, f"fork {text}", descriptors) as answers:
            child = born(answers)
        self.made += 1
        return child

    def check(self, text: str, numbers: Iterable[int]) -> None:
        """Raises ForkRefusal, or BootError if the template has died."""
        with (
            Path(os.devnull).open("rb") as nothing,
            asked(self.asks, f"can {text}", dict.fromkeys(numbers, nothing.fileno())) as answers,
        ):
            kind, rest = answer(answers)
        if kind == "refused":
            raise ForkRefusal(rest)
        if kind != "yes":
            raise BootError("the template ended before it made a fork")


class Templates:
    """Those of a session, or of a worker elsewhere, which ends those that nobody has used for `idle_s`.
    Forks may be asked for from several threads, and outlive their templates."""

    def __init__(self, notice: Notice, idle_s: float | None = None) -> None:
        self._notice, self._idle_s = notice, idle_s
        self._lock = threading.RLock()
        self._known: dict[str, _Template] = {}
        """The one that was used last is the last."""
        self._refused: set[str] = set()
        self._tasks: SimpleQueue[tuple[Future[_Template], Callable[[], _Template]] | None] = SimpleQueue()
        self._every: list[_Template] = []
        """Also one for which nobody waited any more."""
        self._maker: threading.Thread | None = None

    def fork(self, spec: BootSpec, folder: Path, mark: str) -> ForkedGuest | None:
        """What run/guest.py calls."""
        why = why_not(spec, folder)
        key = "" if why else key_of(spec, folder, mark)
        with self._lock:
            if not why:
                try:
                    self._template(key, spec, folder, mark)  # may take long, and can be interrupted
                except ForkRefusal as error:
                    why = str(error)
            if why:
                self._tell(why)
                return None
        return ForkedGuest(partial(self._forked, key, spec, folder, mark), _is_restored(spec))

    def _forked(
        self, key: str, spec: BootSpec, folder: Path, mark: str, descriptors: Mapping[int, int]
    ) -> Child:
        text = request_of(spec, plugin_option(spec, "seed"), mark, folder)
        with self._lock:
            try:
                child = self._template(key, spec, folder, mark).fork(text, descriptors)
            except BootError:
                self._forget(key)  # it has died: once more
                child = self._template(key, spec, folder, mark).fork(text, descriptors)
            number = self._known[key].made
        write_json(folder / FILE, {"schema": 1, "template": key, "number": number})
        return child

    def _tell(self, why: str) -> None:
        if why not in self._refused:
            self._refused.add(why)
            self._notice(f"a run starts from its snapshot by itself and is no fork: {why}")

    def _template(self, key: str, spec: BootSpec, folder: Path, mark: str) -> _Template:
        template = self._known.pop(key, None)
        if template is None:
            while len(self._known) >= _MOST:
                self._forget(next(iter(self._known)))
            template = self._made(partial(_make, spec, folder, mark))
        self._known[key] = template
        template.used_s = time.monotonic()
        return template

    def _forget(self, key: str) -> None:
        if (template := self._known.pop(key, None)) is not None:
            template.stack.close()
            self._every.remove(template)

    def _forget_idle(self) -> None:
        """Who has the lock may be waiting for the thread that calls this."""
        reap_adopted()
        if not self._lock.acquire(blocking=False):
            return
        try:
            since = time.monotonic() - (self._idle_s or 0)
            for key in [key for key, template in self._known.items() if template.used_s <= since]:
                self._forget(key)
        finally:
            self._lock.release()

    def _made(self, make: Callable[[], _Template]) -> _Template:
        """Makes it in a thread that lives as long as this object: templates and their forks die with the
        thread that made the template."""
        if self._maker is None:
            self._maker = threading.Thread(target=self._work, name="templates", daemon=True)
            self._maker.start()
        future: Future[_Template] = Future()
        self._tasks.put((future, make))
        return future.result()

    def _work(self) -> None:
        while True:
            try:
                task = self._tasks.get(timeout=self._idle_s)
            except Empty:
                self._forget_idle()
                continue
            if task is None:
                return
            future, make = task
            try:
                template = make()
                self._every.append(template)
                future.set_result(template)
            except BaseException as error:
                future.set_exception(error)

    def close(self) -> None:
        """Ends all templates. No fork may run any more."""
        with self._lock:
            if self._maker is not None:
                self._tasks.put(None)
                self._maker.join()
                self._maker = None
            for template in self._every:
                template.stack.close()
            self._every.clear()
            self._known.clear()
        reap_adopted()


@contextmanager
def begun(
    spec: BootSpec, folder: Path, mark: str, own_mark: str
) -> Iterator[tuple[RunningGuest, socket.socket]]:
    """A QEMU for this run that can be forked, stopped in a folder of its own, and where it is asked."""
    with ExitStack() as stack:
        own = stack.enter_context(cache.scratch("template"))  # of a killed session, the next one removes it
        asks, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.enter_context(asks)
        with theirs:
            wanted = template_spec(spec, folder, mark, own, own_mark)
            if observed := plugin_option(spec, _OBSERVED):
                shutil.copyfile(observed, own / Path(observed).name)
            process = started(
                wanted, own, mark=own_mark, limits=ConsoleLimits(), own={SOCKET: theirs.fileno()}
            )
            running = stack.enter_context(process)
        running.prepare()
        yield running, asks


def _make(spec: BootSpec, folder: Path, mark: str) -> _Template:
    own_mark = secrets.token_hex(len(mark))[: len(mark)]
    with ExitStack() as stack:
        running, asks = stack.enter_context(begun(spec, folder, mark, own_mark))
        if _is_restored(spec):
            running.load()
        template = _Template(asks, stack)
        text = request_of(running.spec, "0", own_mark, running.folder)
        template.check(text, (1, 2, QMP_DESCRIPTOR, TALK_DESCRIPTOR))
        template.stack = stack.pop_all()
        return template
