"""The synchronous QMP client against a scripted server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.interrupts import arrived
from benchgate.run.qmp import Qmp, QmpError
from tests.machines import PATIENCE_S

GREETING = {
    "QMP": {"version": {"qemu": {"major": 10, "minor": 0, "micro": 2}, "package": ""}, "capabilities": []}
}


class Server(threading.Thread):
    """Sends the greeting, then one prepared answer per command. A string answer is sent unchanged."""

    def __init__(self, connection: socket.socket, answers: list[Any]) -> None:
        super().__init__()
        self.connection, self.answers = connection, [{}, *answers]
        self.seen: list[Any] = []

    def run(self) -> None:
        with contextlib.suppress(ConnectionError):  # an interrupted client does not wait for its answer
            self.converse()

    def converse(self) -> None:
        self.send(GREETING)
        decoder = json.JSONDecoder()
        for answer in self.answers:
            data = self.connection.recv(65536)
            if not data:
                return
            request, _ = decoder.raw_decode(data.decode())
            self.seen.append(request)
            if isinstance(answer, threading.Event):
                answer.set()  # instead of an answer
            elif isinstance(answer, str):
                self.connection.sendall(answer.encode())
            elif answer is not None:
                self.send({"return": answer} | ({"id": request["id"]} if "id" in request else {}))

    def send(self, message: Any) -> None:
        self.connection.sendall(json.dumps(message).encode() + b"\r\n")


class Session:
    def __init__(self, transcript: Path) -> None:
        self.near, self.far = socket.socketpair()
        self.transcript = transcript
        self.servers: list[Server] = []

    def open(self, *answers: Any) -> Qmp:
        server = Server(self.far, list(answers))
        server.start()
        self.servers.append(server)
        qmp = Qmp(self.near, self.transcript)
        qmp.connect(PATIENCE_S)
        return qmp


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(tmp_path / "qmp.log")
    yield made
    made.near.close()
    for server in made.servers:
        server.join(PATIENCE_S)
    made.far.close()


def cpus(*pairs: tuple[object, object]) -> list[dict[str, object]]:
    return [{"cpu-index": index, "thread-id": thread} for index, thread in pairs]


def test_threads_come_in_the_order_of_their_vcpus(session: Session) -> None:
    with session.open(cpus((2, 12), (0, 10), (1, 11))) as qmp:
        assert qmp.cpu_threads(PATIENCE_S) == (10, 11, 12)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [{}],
        [7],
        cpus((0, "10")),
        cpus((0, 10), (0, 11)),
        cpus((1, 10)),
        cpus((0, 10), (2, 11)),
        cpus((None, 10)),
    ],
)
def test_an_answer_that_names_no_threads_is_refused(session: Session, answer: Any) -> None:
    with session.open(answer) as qmp, pytest.raises(QmpError, match=r"query-cpus-fast|numbered"):
        qmp.cpu_threads(PATIENCE_S)


def test_the_transcript_has_both_directions_in_order(session: Session) -> None:
    with session.open({"running": True}) as qmp:
        assert qmp.execute("query-status") == {"running": True}
    lines = [json.loads(line) for line in session.transcript.read_text().splitlines()]
    assert [next(key for key in line if key != "t_ns") for line in lines] == [
        "received",
        "sent",
        "received",
        "sent",
        "received",
    ]
    assert lines[3]["sent"]["execute"] == "query-status"
    assert all(isinstance(line["t_ns"], int) for line in lines)


def test_an_answer_that_never_comes_ends_at_its_deadline(session: Session) -> None:
    with (
        session.open(None) as qmp,
        pytest.raises(QmpError, match=r"did not answer stop over QMP within 0\.05 s"),
    ):
        qmp.execute("stop", seconds=0.05)


def test_a_refused_command_is_an_error(session: Session) -> None:
    refusal = '{"error": {"class": "GenericError", "desc": "not now"}, "id": "__qmp#00000"}\r\n'
    with session.open(refusal) as qmp, pytest.raises(QmpError, match="QMP failed at stop: not now"):
        qmp.execute("stop")


@pytest.mark.parametrize(
    "raw", ["garbage\r\n", "[]\r\n", "{}\r\n\r\n" * 3, '{"error": {}}\r\n', "\x00\xff\n"]
)
def test_invalid_answers_are_an_error_and_do_not_hang(session: Session, raw: str) -> None:
    with session.open(raw) as qmp, pytest.raises(QmpError):
        qmp.execute("stop", seconds=0.3)


def test_a_closed_connection_is_an_error(tmp_path: Path) -> None:
    near, far = socket.socketpair()
    far.close()
    with Qmp(near, tmp_path / "qmp.log") as qmp, pytest.raises(QmpError, match="greeting"):
        qmp.connect(PATIENCE_S)


def test_a_missing_greeting_is_an_error(tmp_path: Path) -> None:
    near, far = socket.socketpair()
    with far, Qmp(near, tmp_path / "qmp.log") as qmp, pytest.raises(QmpError, match=r"within 0\.05 s"):
        qmp.connect(0.05)


def test_drain_reads_late_events_and_sends_nothing(session: Session) -> None:
    with session.open() as qmp:
        (server,) = session.servers
        server.join(PATIENCE_S)
        sent = len(server.seen)
        server.send({"event": "SHUTDOWN", "timestamp": {"seconds": 1, "microseconds": 2}, "data": {}})
        session.far.shutdown(socket.SHUT_WR)
        assert qmp.drain(PATIENCE_S)
        assert '"SHUTDOWN"' in session.transcript.read_text()
    session.far.settimeout(PATIENCE_S)
    assert session.far.recv(1) == b""
    assert sent == 1


def test_ends_that_the_guest_caused_are_kept_even_if_the_transcript_is_full(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchgate.run.qmp._TRANSCRIPT_BYTES", 0)
    with session.open() as qmp:
        (server,) = session.servers
        server.join(PATIENCE_S)
        when = {"seconds": 1, "microseconds": 2}
        for data in ({"guest": False, "reason": "host-signal"}, {"guest": True, "reason": "guest-reset"}):
            server.send({"event": "SHUTDOWN", "timestamp": when, "data": data})
        assert not qmp.drain(0)
        session.far.shutdown(socket.SHUT_WR)
        assert qmp.drain(PATIENCE_S)
        assert qmp.guest_ends == ("guest-reset",)


def test_the_transcript_is_bounded(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchgate.run.qmp._TRANSCRIPT_BYTES", 500)
    with session.open(json.dumps({"return": "y" * 2000, "id": "__qmp#00000"}) + "\n") as qmp:
        assert qmp.execute("big") == "y" * 2000
    assert session.transcript.stat().st_size <= 500


def test_close_can_be_called_twice_and_drain_after_it(session: Session) -> None:
    qmp = session.open()
    qmp.close()
    qmp.close()
    qmp.drain(1)


def test_it_can_be_used_inside_a_running_event_loop(session: Session) -> None:
    async def inside() -> object:
        with session.open({"running": True}) as qmp:
            return qmp.execute("query-status")

    assert asyncio.run(inside()) == {"running": True}


def test_events_before_an_answer_are_kept_and_an_answer_to_another_command_is_refused(
    session: Session,
) -> None:
    event = '{"event": "RESET", "data": {"guest": true, "reason": "guest-reset"}}\r\n'
    raw = f'{event}{{"return": 1, "id": "__qmp#00000"}}\r\n{{"return": 2, "id": "__qmp#00000"}}\r\n'
    with session.open(raw, {}) as qmp:
        assert qmp.execute("first") == 1
        assert qmp.guest_ends == ("guest-reset",)
        with pytest.raises(QmpError, match="QMP failed at second: QEMU answered something else"):
            qmp.execute("second")


def test_a_message_without_an_end_is_refused_when_it_is_too_long(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchgate.run.qmp._MESSAGE_BYTES", 1000)
    with session.open("x" * 2000) as qmp, pytest.raises(QmpError, match="more than 1000 bytes"):
        qmp.execute("stop", seconds=PATIENCE_S)


def test_an_interrupt_while_waiting_for_the_greeting_passes_through(tmp_path: Path) -> None:
    near, far = socket.socketpair()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.2, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
    try:
        with far, pytest.raises(KeyboardInterrupt), Qmp(near, tmp_path / "qmp.log") as qmp:
            qmp.connect(PATIENCE_S)
    finally:
        signal.signal(signal.SIGINT, before)
    assert near.fileno() == -1


@pytest.fixture
def complaints(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What Python and asyncio complain about while the block runs and at the collection of its garbage."""
    said: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: said.append(f"{found.exc_value}"))
    log = logging.getLogger("asyncio")
    listener = logging.Handler()
    listener.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(listener)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield said
    log.removeHandler(listener)


@contextlib.contextmanager
def interrupted(sent: threading.Event) -> Iterator[None]:
    """Sends the main thread SIGUSR2, with a handler as a session has it, when `sent` is set."""

    def hear(number: int, _: object) -> None:
        arrived(KeyboardInterrupt(number))

    def send() -> None:
        sent.wait(PATIENCE_S)
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGUSR2)

    before = signal.signal(signal.SIGUSR2, hear)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        sender.join(PATIENCE_S)
        signal.signal(signal.SIGUSR2, before)


def between_calls(session: Session, sent: threading.Event) -> None:
    with session.open():
        sent.set()
        while True:  # a signal just before a sleep does not end the sleep
            time.sleep(0.01)


def during_a_call(session: Session, sent: threading.Event) -> None:
    with session.open(sent) as qmp:
        qmp.execute("stop", seconds=PATIENCE_S)


def before_the_greeting(session: Session, sent: threading.Event) -> None:
    with Qmp(session.near, session.transcript) as qmp:
        sent.set()
        qmp.connect(PATIENCE_S)


def in_a_late_message(session: Session, sent: threading.Event) -> None:
    with session.open() as qmp:
        session.servers[0].join(PATIENCE_S)
        session.servers[0].send({"event": "STOP", "timestamp": {"seconds": 1, "microseconds": 2}})
        sent.set()
        qmp.drain(PATIENCE_S)


WAYS_OUT: list[Callable[[Session, threading.Event], None]] = [
    between_calls,
    during_a_call,
    before_the_greeting,
    in_a_late_message,
]


@pytest.mark.parametrize("way_out", WAYS_OUT)
def test_an_interrupted_session_leaves_nothing_open(
    session: Session, complaints: list[str], way_out: Callable[[Session, threading.Event], None]
) -> None:
    sent = threading.Event()
    with pytest.raises(KeyboardInterrupt), interrupted(sent):
        way_out(session, sent)
    assert session.near.fileno() == -1
    gc.collect()
    assert complaints == []


def test_a_deadline_leaves_nothing_open(session: Session, complaints: list[str]) -> None:
    with session.open(None) as qmp, pytest.raises(QmpError):
        qmp.execute("stop", seconds=0.05)
    del qmp
    gc.collect()
    assert complaints == []


def test_a_message_is_recorded_whole_before_an_interrupt_is_raised(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler strikes where it would lose a line of the transcript."""
    heard: list[str] = []

    def strike(*_: object) -> None:
        if not heard:
            heard.append("begun")
            arrived(KeyboardInterrupt("in a callback"))
            heard.append("whole")

    with session.open({}) as qmp:
        monkeypatch.setattr(qmp, "_record", strike)
        with pytest.raises(KeyboardInterrupt, match="in a callback"):
            qmp.execute("stop", seconds=PATIENCE_S)
    assert heard == ["begun", "whole"]


@pytest.mark.parametrize(("action", "said"), [("stop", "No space left on device"), ("report", "")])
def test_a_guest_that_was_stopped_because_of_its_disk_is_known(
    session: Session, action: str, said: str
) -> None:
    event = {"device": "disk0", "nospace": True, "reason": "No space left on device", "action": action}
    with session.open() as qmp:
        session.servers[0].send({"event": "BLOCK_IO_ERROR", "data": event})
        assert not qmp.drain(0)
        assert qmp.stopped_by_disk == said
