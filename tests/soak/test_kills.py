"""Sessions killed at any moment on a busy host: nothing that they started lives on.

Prints a table. $BENCHGATE_SOAK_KILLS is the number of kills (default 1000), $BENCHGATE_SOAK_LOAD the number
of endless loops beside them (default 20). A process that is left when the session's is gone must be about to
end: the kernel has marked it, or it has not begun to execute the launcher, which it then never does.
"""

from __future__ import annotations

import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.machines import wait_until

pytestmark = pytest.mark.soak

REPO = Path(__file__).parents[2]
KILLS = int(os.environ.get("BENCHGATE_SOAK_KILLS", "1000"))
LOAD = int(os.environ.get("BENCHGATE_SOAK_LOAD", "20"))
LATEST_S = 4.0
"""A session is killed at a random moment up to here; it boots two guests at a time, again and again."""
SESSION = """
    import sys
    from itertools import count
    from pathlib import Path
    from benchgate.run.parallel import AttemptJob, execute_all
    from tests.machines import boot, request

    def job(home):
        home.mkdir(parents=True)
        return AttemptJob(request(boot(home), home / "run"), lambda phase: None)

    print("up", flush=True)
    for number in count():
        list(execute_all([job(Path(sys.argv[1], f"{number}-{which}")) for which in "ab"], 2))
"""
EXITING = 0x4
"""PF_EXITING of the kernel's include/linux/sched.h, in the flags of /proc/PID/stat."""


@pytest.fixture
def load() -> Iterator[None]:
    loops = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"], env={}) for _ in range(LOAD)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def left_of(nonce: str) -> dict[int, str]:
    """What each process of a session is, by its number; `ending` if it is about to end."""
    result = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                kind = kind_of(entry, nonce.encode())
                if kind:
                    result[int(entry.name)] = kind
    return result


def kind_of(entry: Path, nonce: bytes) -> str:
    words = (entry / "cmdline").read_bytes()
    if nonce not in words and nonce not in (entry / "environ").read_bytes():
        return ""
    if is_ending(entry):
        return "ending"
    words = (entry / "cmdline").read_bytes()  # again, because it may have become another program
    if nonce in words:
        return "guest"
    return "launcher" if words.startswith(sys.executable.encode()) and b"launcher.py" in words else "unbound"


def is_ending(entry: Path) -> bool:
    fields = (entry / "stat").read_text().rpartition(")")[2].split()
    status = (entry / "status").read_text().splitlines()
    pending = [int(line.split()[1], 16) for line in status if line.startswith(("SigPnd:", "ShdPnd:"))]
    killed = any(mask >> (signal.SIGKILL - 1) & 1 for mask in pending)
    return killed or fields[0] in "ZX" or bool(int(fields[6]) & EXITING)


def kill_one(folder: Path, chance: random.Random) -> dict[int, str]:
    """Starts a session and kills it; gives what is left of it at that moment. In the end nothing is."""
    nonce = secrets.token_hex(8)
    python_path = f"{REPO / 'src'}:{REPO}"
    own = {"BENCHGATE_TEST_NONCE": nonce, "PYTHONPATH": python_path, "XDG_RUNTIME_DIR": str(folder)}
    argv = [sys.executable, "-c", textwrap.dedent(SESSION), str(folder)]
    number = chance.choice([signal.SIGKILL, signal.SIGUSR1])
    with subprocess.Popen(argv, env={**os.environ, **own}, stdout=subprocess.PIPE) as session:
        try:
            assert session.stdout is not None
            assert session.stdout.readline() == b"up\n"
            time.sleep(chance.uniform(0, LATEST_S))
        finally:
            session.send_signal(number)
            status = session.wait()
        left = left_of(nonce)
    assert status == -number, "the session ended before it was killed"
    assert wait_until(lambda: left_of(nonce) == {}), f"these processes live on: {left_of(nonce)}"
    return left


@pytest.mark.usefixtures("load")
def test_nothing_lives_on_after_a_kill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(11)
    seen: Counter[str] = Counter()
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        left = kill_one(folder, chance)
        seen.update(left.values())
        assert not {"guest", "launcher"} & {*left.values()}, f"kill {number}: {left}, after {dict(seen)}"
        shutil.rmtree(folder)
    assert KILLS > 0
    with capsys.disabled():
        print(f"\n| kills | load | left, about to end | left, not yet a launcher |\n|{'---|' * 4}")
        print(f"| {KILLS} | {LOAD} | {seen['ending']} | {seen['unbound']} |")
