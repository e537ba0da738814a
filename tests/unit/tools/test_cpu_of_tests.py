"""tools.cpu_of_tests: what tests and their processes use is theirs; and what they need not use."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BURNS = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end:\n    pass\n"
TESTS = f"""\
import subprocess
import sys

import pytest

BURNS = {BURNS!r}


@pytest.fixture(scope="module")
def shared():
    exec(BURNS)


def test_idle():
    pass


def test_of_a_fixture(shared):
    pass


def test_of_the_shared_fixture(shared):
    pass


def test_of_a_process():
    subprocess.run([sys.executable, "-c", BURNS], check=True)
"""


@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["here", "xdist"])
def test_a_test_has_the_time_of_its_fixtures_and_processes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(test_burns=TESTS)
    words = ("-p", "tools.cpu_of_tests", "-p", "no:cacheprovider", "-p", "no:benchgate", "--dist", "loadfile")
    done = pytester.runpytest_subprocess(*words, *more)
    done.assert_outcomes(passed=4)
    lines = re.findall(r"^ *([\d.]+) s +[\d.]+ s  (\S+)$", done.stdout.str(), re.MULTILINE)
    result = {name.rpartition("::")[2]: float(spent) for spent, name in lines}
    assert min(result["test_of_a_fixture"], result["test_of_a_process"]) >= 0.4
    assert max(result["test_idle"], result["test_of_the_shared_fixture"]) < 0.4
    assert result.pop("test_burns.py") == pytest.approx(sum(result.values()), abs=0.3)


def test_no_search_for_garbage_looks_at_the_collected_tests(request: pytest.FixtureRequest) -> None:
    assert gc.isenabled()
    assert all(seen is not request.node for seen in gc.get_objects())
