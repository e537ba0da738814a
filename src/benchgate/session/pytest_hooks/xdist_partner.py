"""Timed tests under pytest-xdist: all in one worker, which measures them one after the other.

Takes the controller's or a worker's configuration; gives plugins of pytest. Each worker writes the ids of its
timed tests into a folder that the controller made, before its collection is announced; from the first list
the controller knows which tests are a group. Without timed tests xdist's own scheduler stays. The worker that
measured hands over its summary and status. Of xdist's private names only those of its scheduler by scope are
used: `_split_scope`, in which it has its groups, `_reschedule` and `_pending_of`. `--dist each` is refused:
each worker would measure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

FOLDER, WIDTH = "benchgate_folder", "benchgate_width"
"""What a worker is told."""
ENDED = "benchgate_ended"
"""Under which a worker hands over how its session ended."""
GROUP = "benchgate"
FIXTURE = "benchgate_session"
"""Every fixture that measures or boots requests it."""
NOT_HERE = (
    "-n: timed tests run in one worker on this machine; with --dist each, or on another machine, each "
    "worker would measure: write --dist load, or leave -n out"
)
BESIDE = (
    "-n: the timed tests run one after the other in one worker, and other tests may run beside them: runs "
    "on wall time that these disturb are void and made again; the instruction clock does not depend on them"
)


def in_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def register(config: pytest.Config, begin: Callable[[pytest.Config], Any]) -> None:
    """In the process that starts workers, if there is one. `begin` gives the session, which begins there when
    a worker has timed tests."""
    if getattr(config.option, "tx", None) and not in_worker(config):
        config.pluginmanager.register(XdistController(partial(begin, config)), "benchgate-xdist")


def stay_here(config: pytest.Config) -> None:
    """Starts no workers: a plan is made by one process."""
    if getattr(config.option, "tx", None):
        config.option.dist, config.option.tx = "no", []


def announce(session: pytest.Session) -> None:
    """In a worker, at the end of collection: writes the ids of the tests that need the session."""
    ids = [item.nodeid for item in session.items if FIXTURE in getattr(item, "fixturenames", ())]
    path = _list_of(session.config)
    if ids and path is not None:
        path.write_text(json.dumps(ids))


def may_measure(config: pytest.Config) -> bool:
    """False in a worker whose timed tests are no group: with --dist each, or on another machine."""
    return not in_worker(config) or _list_of(config) is not None


def hand_over(config: pytest.Config, *, picked: bool, code: int, text: str) -> None:
    """In a worker, at the end: what the controller prints, and the status of the verdicts."""
    given: Any = config
    given.workeroutput[ENDED] = {"picked": picked, "code": code, "text": text}


def width(config: pytest.Config) -> int:
    given: Any = config
    return int(given.workerinput.get(WIDTH, 80))


def _list_of(config: pytest.Config) -> Path | None:
    given: Any = config
    folder = given.workerinput.get(FOLDER)
    return Path(folder, given.workerinput["workerid"]) if folder and Path(folder).is_dir() else None


class GroupingScheduler:
    """xdist's own scheduler, until a worker has timed tests; then one with these as a group."""

    def __init__(self, usual: Any, config: pytest.Config, log: Any) -> None:
        self._now, self._how = usual, (config, log)
        self.is_grouping = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now, name)

    def group(self, timed: Sequence[str]) -> bool:
        """True for the first list; that of each other worker is the same."""
        if self.is_grouping:
            return False
        grouping = _grouping(self._now, *self._how, frozenset(timed))
        for node in self._now.nodes:
            grouping.add_node(node)
        self._now, self.is_grouping = grouping, True
        return True


def _grouping(usual: Any, config: pytest.Config, log: Any, timed: frozenset[str]) -> Any:
    """A scheduler that distributes as the usual one does, except for the timed tests."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - optional

    def scope(self: Any, nodeid: str) -> str:
        if nodeid in timed:
            return GROUP
        return str(base._split_scope(self, nodeid)) if by_scope else nodeid

    def schedule(self: Any) -> None:
        """A worker begins a test when it has a further one or is told to end. One that takes the place of a
        worker that died gets neither from xdist 3.8, and would wait for ever."""
        base.schedule(self)
        for node in self.nodes if self.collection else ():
            while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
                self._reschedule(node)

    def remove_node(self: Any, node: Any) -> str | None:
        """The test during which a worker died is not given to the next one, as xdist 3.8 does by scope."""
        units = self.assigned_work[node].values()
        died = next(((unit, value) for unit in units for value, done in unit.items() if not done), None)
        if died is not None:
            died[0][died[1]] = True
        base.remove_node(self, node)
        return died[1] if died else None

    by_scope = isinstance(usual, LoadScopeScheduling)
    base: Any = type(usual) if by_scope else LoadScopeScheduling
    members = {"_split_scope": scope, "schedule": schedule, "remove_node": remove_node}
    kind = type("TimedGroupScheduling", (base,), members)
    return kind(config, log)


class XdistController:
    """What the process does that starts the workers. It measures nothing itself."""

    def __init__(self, session: Callable[[], Any]) -> None:
        self._session = session
        self._folder = TemporaryDirectory(prefix="benchgate-xdist-")
        self._scheduler: GroupingScheduler | None = None
        self._has_ended = False

    @pytest.hookimpl(wrapper=True, optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Generator[None, Any, Any]:
        usual = yield
        if config.getvalue("dist") == "each":
            return usual
        self._scheduler = GroupingScheduler(usual, config, log)
        return self._scheduler

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        reporter = node.config.pluginmanager.get_plugin("terminalreporter")
        node.workerinput[FOLDER] = "" if node.config.getvalue("dist") == "each" else self._folder.name
        node.workerinput[WIDTH] = reporter._tw.fullwidth if reporter is not None else 80

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        path = Path(self._folder.name, node.workerinput["workerid"])
        if self._scheduler is None or not path.exists():
            return
        if self._scheduler.group(json.loads(path.read_text())):
            self._session().progress.note(BESIDE)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        ended = getattr(node, "workeroutput", {}).get(ENDED)
        if ended and ended["picked"]:
            self._has_ended |= bool(ended["text"])
            self._session().take_over(**ended)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """After an interrupt, and if it died, the worker that measured hands over nothing."""
        if self._has_ended or self._scheduler is None or not self._scheduler.is_grouping:
            return
        latest = self._session().options.reports / "latest"
        if latest.exists():
            then = f"next: the same command with --resume={latest}"
            terminalreporter.write_line(f"benchgate: the worker that measured gave no report; {then}")

    def pytest_unconfigure(self) -> None:
        self._folder.cleanup()
