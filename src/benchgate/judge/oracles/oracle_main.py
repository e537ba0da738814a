"""The program of an oracle's process: loads the oracle, then answers questions until its parent hangs up.

oracle_process.py runs this file as a script and never imports it. Takes a descriptor as its argument, and
JSON lines from it: first what to set up, then one question per line. Gives one JSON line per question: a
`word` (oracle.py has their meaning), a `text`, and the question's `token`. A question with `loads` only asks
whether the oracle could be loaded: if not, its text begins with the line. Whatever the oracle raises becomes
an answer; if the process ends instead, its parent sees that. It imports little, because a user waits for it.
"""

import contextlib
import inspect
import json
import os
import resource
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

MOST_TEXT = 4000
"""Longer texts are cut; the parent refuses an answer that is much longer."""


def main(descriptor: int) -> None:
    own = os.getpid()
    channel = socket.socket(fileno=descriptor)
    lines = channel.makefile("rb")
    setup = json.loads(lines.readline())
    _limit(setup["memory_bytes"])
    sys.path[:] = setup["path"]
    from benchgate.base import pyfile  # noqa: PLC0415 - found by the path that was just set

    check, problem, line_of_problem = None, "", 1
    try:
        check = _check_of(pyfile.executed(Path(setup["oracle"]), "oracle"))
    except BaseException as error:  # an oracle may raise anything
        problem, line_of_problem = pyfile.described(error), _line_of(error, setup["oracle"])
    _end_unless(own)
    for line in lines:
        question = json.loads(line)
        if check is None:
            place = f"{line_of_problem}: " if question.get("loads") else ""
            word, text = "unloadable", place + problem
        else:
            word, text = ("right", "") if question.get("loads") else _answer(check, question)
        _end_unless(own)
        answer = {"token": question["token"], "word": word, "text": text[:MOST_TEXT]}
        channel.sendall(json.dumps(answer).encode() + b"\n")
    os._exit(0)  # it does not wait for the oracle's threads


def _end_unless(own: int) -> None:
    """Ends a child that the oracle forked and that came back from it: only its parent answers."""
    if os.getpid() != own:
        os._exit(1)


def _limit(memory_bytes: int) -> None:
    """Makes this process the first to be killed if the host runs out of memory all the same."""
    set_before = [
        number for number in resource.getrlimit(resource.RLIMIT_AS) if number != resource.RLIM_INFINITY
    ]
    most = min([memory_bytes, *set_before])
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _check_of(module: Any) -> Any:
    check = getattr(module, "check", None)
    if not callable(check):
        raise TypeError("it defines no function check(params, reports, result)")
    more = {"run": None} if _wants_run(check) else {}
    try:
        inspect.signature(check).bind(None, None, None, **more)
    except ValueError:  # it has no signature, because it is written in C
        pass
    except TypeError as error:
        raise TypeError(f"check does not take (params, reports, result): {error}") from None
    return check


def _line_of(error: BaseException, file: str) -> int:
    """The last line of this file that led to the error; 1 if there is none."""
    lines = [
        summary.lineno for summary in traceback.extract_tb(error.__traceback__) if summary.filename == file
    ]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    return next((line for line in reversed(lines) if line), 1)


def _wants_run(check: Any) -> bool:
    """Looks for the name, so that a fourth parameter with a default keeps its meaning."""
    try:
        return "run" in inspect.signature(check).parameters
    except ValueError:  # it has no signature, because it is written in C
        return False


def _answer(check: Any, question: Any) -> tuple[str, str]:
    from benchgate.base.errors import VerifyError  # noqa: PLC0415
    from benchgate.base.jsonfields import read  # noqa: PLC0415
    from benchgate.base.pyfile import described  # noqa: PLC0415
    from benchgate.base.runs import OracleRun, WorkerReport  # noqa: PLC0415

    reports = [WorkerReport(**report) for report in question["reports"]]
    more = {"run": read(OracleRun, question["run"], "the run")} if _wants_run(check) else {}
    try:
        answer = check(question["params"], reports, question["result"], **more)
        return ("right", "") if answer is None else ("returned", repr(answer))
    except VerifyError as error:
        return "wrong", str(error)
    except MemoryError as error:
        return "no memory", described(error)
    except BaseException as error:  # an oracle may raise anything
        return "raised", described(error)


if __name__ == "__main__":
    main(int(sys.argv[1]))
