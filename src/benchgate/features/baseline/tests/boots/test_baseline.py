"""A baseline of a real kernel: a slower version of its source is found, by its figures and by its symbol."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.line.sessions import REPO, run_benchgate, run_pytest

FILE = "reports/baselines/main.json"
TEST = """\
import pytest

pytestmark = pytest.mark.threads


@pytest.mark.workload("tasks", steps=4000)
@pytest.mark.regression(at_most=1.02, cpus=1)
def test_no_regression(verdict):
    verdict.require_pass()


@pytest.mark.workload("tasks", steps=4000)
def test_right(cell):
    cell.require_verified()
"""
PLANTED = """\
__attribute__((noinline)) static void planted_loss(void) {
    for (int i = 0; i < 100; i++)
        __asm__ volatile("" ::: "memory");
}

void thread_yield(void) {
    planted_loss();
"""


def own_tern(where: Path) -> Path:
    """A copy of tern's source, which the test changes, and its YAML under another name."""
    for folder in ("kernel", "guest"):
        shutil.copytree(REPO / folder, where / folder)
    file = where / "fixtures" / "systems" / "mine.yaml"
    file.parent.mkdir(parents=True)
    text = (REPO / "fixtures" / "systems" / "kernel.yaml").read_text()
    assert "name: kernel\n" in text
    file.write_text(text.replace("name: kernel\n", "name: mine\n"))
    return file


def plant(where: Path) -> None:
    source = where / "kernel" / "core" / "thread.c"
    text = source.read_text()
    assert text.count("void thread_yield(void) {\n") == 1
    source.write_text(text.replace("void thread_yield(void) {\n", PLANTED))


@pytest.mark.long
def test_a_loss_that_was_planted_in_a_kernel_is_found_and_its_symbol_is_named(tmp_path: Path) -> None:
    system = own_tern(tmp_path)
    (tmp_path / "test_row.py").write_text(TEST)
    words = ("test_row.py", "--clock=insn", "--smp=1", f"--system={system}")
    first = run_pytest(tmp_path, *words, "-k", "right")
    assert first.code == 0, first.output
    accept = ("baseline", "accept", "reports/latest", "--profile", "--system", system)
    code, said = run_benchgate(tmp_path, *accept)
    assert code == 0, said

    same = run_pytest(tmp_path, *words, "-k", "regression")
    assert same.code == 0, same.output
    (verdict,) = same.verdicts
    assert (verdict["ratio"], verdict["low"], verdict["high"]) == (1, 1, 1)
    assert "5 runs of the same guest, equal to the last digit" in verdict["reason"]

    plant(tmp_path)
    slower = run_pytest(tmp_path, *words, "-k", "regression")
    assert slower.code == 1, slower.output
    (verdict,) = slower.verdicts
    assert (verdict["outcome"], "of another guest" in verdict["reason"]) == ("FAIL", True), verdict
    assert verdict["low"] > 1.02

    diff = ("baseline", "diff", FILE, "reports/latest", "--profile", "--system", system)
    code, said = run_benchgate(tmp_path, *diff)
    assert code == 0, said
    assert "by digest: another guest" in said
    head = said.index("largest change first:")
    first_symbol = said[head:].splitlines()[3]
    assert first_symbol.split()[1:2] == ["0"], said  # the baseline has no such symbol
    assert first_symbol.endswith("kernel planted_loss"), said
    counts = json.loads((tmp_path / FILE).read_text())["cells"][0]["symbols"]["counts"]
    assert not any("planted" in name for _, name, _ in counts)

    code, said = run_benchgate(tmp_path, "verify", "reports/latest")
    assert code == 0, said
