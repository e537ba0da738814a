"""Options, marks and fixtures as users write them; a mistake is answered with one sentence, no traceback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchgate.base.paths import data_root
from benchgate.plan.option_table import TABLE
from tests.machines import PATIENCE_S
from tests.plugin.conftest import CONFTEST, GATE, Rig


def test_cpus_that_do_not_exist_are_refused_and_the_usable_ones_listed(rig: Rig) -> None:
    result = rig.run("--cpus", "0,4000")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *4000*"])
    assert any(str(cpu) in line for cpu in os.sched_getaffinity(0) for line in result.errlines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--runs", "4"), "--runs 4: it must be odd and at least 5"),
        (("--smp", "0"), "a CPU count must be from 1 to 64"),
        (("--set", "hi=4"), "--set hi=4: expected WORKLOAD.KEY=VALUE"),
        (("--max-runs", "3"), "--max-runs 3 is below --runs 5"),
        (("--max-runs", "6"), "--max-runs 6: a verdict cannot be reached there*one of 5, 9, 15, 25"),
        (("--plan", "--runs", "999999999"), "--runs 999999999: expected a whole number from 1 to 199"),
        (("--plan", "--seeds", "999999999"), "--seeds 999999999: expected a whole number from 1 to 199"),
        (("--plan", "--system=/dev/zero"), "/dev/zero: cannot be read: it is not a regular file"),
    ],
)
def test_an_invalid_option_is_a_usage_error(rig: Rig, words: tuple[str, ...], message: str) -> None:
    result = rig.run(*words)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{message}*"])


SELFTEST = """\
ask: selftest
console: {ready: "^benchready", online: "^(?P<n>[0-9]+) CPUs$"}
result:
  format: patterns
  work: {pattern: "^work (?P<value>[0-9]+)$", unit: ns}
  answers: ["^sum=(?P<sum>[0-9]+)$"]
  expect: {sum: 1}
"""


@pytest.mark.parametrize("clock", ["wall", "insn"])
def test_a_gate_on_figures_without_the_line_with_which_they_begin_is_refused(rig: Rig, clock: str) -> None:
    path = Path(rig.system())
    own = path.read_text().replace('console: {ready: "^benchready"}\n', SELFTEST)
    path.with_name("own.yaml").write_text(own)
    text = '@pytest.mark.workload("selftest")\n@pytest.mark.speedup(cpus=2, at_least=1.6)\n'
    rig.pytester.makepyfile(
        test_scaling=f"import pytest\n{text}def test_scales(verdict):\n    verdict.require_pass()\n"
    )
    result = rig.run(f"--clock={clock}", f"--system={path.with_name('own.yaml')}")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *own.yaml:*: result.work.pattern: `begins` is missing: *"])
    assert not (rig.folder / "reports").exists()


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        ('workload("selftest")', "none of the systems has a self-test of its own: fake"),
        (
            'workload("primes")\n@pytest.mark.system("{own}")',
            "no system runs workload primes: only their own self-test, `selftest`, run own",
        ),
    ],
)
def test_a_session_in_which_no_test_runs_on_its_system_decides_nothing(
    rig: Rig, marks: str, why: str
) -> None:
    own = rig.folder / "own.yaml"
    text = Path(rig.system()).read_text().replace('console: {ready: "^benchready"}\n', SELFTEST)
    own.write_text(text.replace("name: fake", "name: own").replace("unit: ns}", 'unit: ns, begins: "^go$"}'))
    rig.pytester.makepyfile(
        test_scaling=f"import pytest\n\n@pytest.mark.{marks.format(own=own)}\n"
        "@pytest.mark.speedup(cpus=2, at_least=1.6)\ndef test_scales(verdict):\n    verdict.require_pass()\n"
    )
    for words, status, line in (((), 5, f"SKIP: {why}"), (("--plan",), 0, f"SKIP *test_scales: {why}")):
        result = rig.run(*words)
        assert result.ret == status
        result.stdout.fnmatch_lines([line])


def test_plan_prints_the_sweep_and_boots_nothing(rig: Rig) -> None:
    result = rig.run("--plan", play="cannot-start")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "sweep primes.hi-10000-fake",
            "  cell   primes.hi-10000-fake-smp1: process, lane tcg, *, pins *, "
            "5 runs (up to 25, if undecided) + 1 warm-up",
            "  gate   primes.hi-10000-fake-smp2: speedup of work over smp1, at least 1.6",
            "  gate   primes.hi-10000-fake-smp1-verified: every run is verified",
            "  gate   primes.hi-10000-fake-smp2-verified: every run is verified",
            "  order  smp *",
            "*minutes; nothing was booted",
        ]
    )
    assert not (rig.folder / "reports").exists()


@pytest.mark.parametrize("words", [["--plan"], []])
def test_what_qemu_refuses_of_a_machine_is_said_before_anything_is_booted(rig: Rig, words: list[str]) -> None:
    rig.more = "qemu: {cpu: z80}\n"
    result = rig.run(*words)
    assert result.ret != 0
    text = result.stderr.str() + result.stdout.str()
    assert f"{rig.system()}: qemu.cpu: unable to find CPU model 'z80'" in text
    assert "QEMU refuses this (1 problem)" in text
    assert not (rig.folder / "reports").exists()


def test_plan_says_to_which_host_cpus_the_instruction_clock_keeps_guests(rig: Rig) -> None:
    cpu = max(os.sched_getaffinity(0))
    result = rig.run("--plan", "--clock=insn", f"--cpus={cpu}")
    assert result.ret == 0
    kept = f"lane insn, virtual, kept to host CPUs {cpu}, 5 seeds"
    result.stdout.fnmatch_lines([f"  cell   *-smp1: process, {kept}", f"  cell   *-smp2: process, {kept}"])


def test_collect_only_boots_nothing(rig: Rig) -> None:
    result = rig.run("--collect-only", "-q", play="cannot-start")
    assert result.ret == 0
    result.stdout.fnmatch_lines([GATE])
    assert not (rig.folder / "reports").exists()


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("speedup(cpu=2, at_least=1.6)", "mark speedup: no argument `cpu`; did you mean `cpus`[?]"),
        ("speedup(cpus=2)", "mark speedup: needs one of `at_least` and `at_most`, not both"),
        ("speedup(2, 1.6)", "mark speedup: use keyword arguments*"),
        ("speedup(cpus=2, at_least=2.5)", "speedup: at_least=2.5 decides nothing: *between 0.5 and 2.1;*"),
        ("speedup(cpus=2, at_least=1.6, insn=0.1)", "speedup: insn=0.1 decides nothing: *"),
        ("speedup(cpus=4, base=2, at_most=2.2)", "control: at_most=2.2 decides nothing: *4 CPUs over 2 *"),
        ('gate("verified", cpus=2, at_least=1)', "*: a verified gate takes only a cell*"),
        ('gate("speedup", cpus=2, at_least=1.6)', "*: a speedup gate needs a base to compare with"),
    ],
)
def test_an_invalid_mark_is_a_collection_error_that_names_it(rig: Rig, mark: str, message: str) -> None:
    rig.pytester.makepyfile(
        test_scaling=f"""
        import pytest

        @pytest.mark.workload("primes")
        @pytest.mark.{mark}
        def test_scales(verdict):
            verdict.require_pass()
        """
    )
    result = rig.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"*{message}*"])
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(("clock", "is_said"), [("auto", True), ("wall", True), ("insn", False)])
def test_warm_starts_where_possible_need_the_instruction_clock_by_name(
    rig: Rig, clock: str, is_said: bool
) -> None:
    rig.pytester.makepyfile(
        test_scaling="""
        import pytest

        @pytest.mark.workload("primes")
        def test_right(cell):
            cell.require_verified()
        """
    )
    result = rig.run("--plan", "--start=auto", f"--clock={clock}", play="cannot-start")
    assert ("--start auto: all runs start cold" in result.stderr.str()) is is_said


def test_an_unknown_workload_is_answered_with_a_suggestion(rig: Rig) -> None:
    rig.pytester.makepyfile(
        test_scaling="""
        import pytest

        @pytest.mark.workload("prims")
        def test_right(cell):
            cell.require_verified()
        """
    )
    result = rig.run()
    result.stdout.fnmatch_lines(["*workload `prims` is not known; did you mean `primes`[?]*"])


def test_a_missing_qemu_exits_with_4_and_one_sentence(rig: Rig) -> None:
    words = [word if "fake-qemu" not in word else f"--qemu={rig.folder}/none" for word in rig.arguments()]
    result = rig.pytester.runpytest_inprocess(*words)
    assert result.ret == 4
    assert "there is no program that this user can run" in result.stdout.str() + result.stderr.str()
    assert "Traceback" not in result.stdout.str()


def test_a_missing_kernel_image_is_named_by_its_yaml_key(rig: Rig) -> None:
    (rig.folder / "kernel").unlink()
    result = rig.run()
    assert result.ret == 4
    assert "boot.kernel" in result.stdout.str() + result.stderr.str()
    assert "does not exist" in result.stdout.str() + result.stderr.str()


def test_a_cell_with_more_vcpus_than_pins_is_never_gated(rig: Rig) -> None:
    result = rig.run("--cpus", str(min(os.sched_getaffinity(0))), "-rs")
    assert result.ret == 5
    result.stdout.fnmatch_lines(["*2 CPUs need 2 host CPUs to pin to, there is 1*"])
    result = rig.run("--cpus", str(min(os.sched_getaffinity(0))), "--oversubscribe", "-rs")
    assert result.ret == 5
    result.stdout.fnmatch_lines(["*more CPUs than pins, so it is functional only*"])


def test_the_ini_file_can_set_options_and_the_command_line_overrides_it(rig: Rig) -> None:
    rig.pytester.makeini("[pytest]\nbenchgate_runs = 4\n")
    result = rig.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*/tox.ini: benchgate_runs 4: it must be odd and at least 5*"])
    assert rig.run("--runs", "5").ret == 0


def test_help_lists_every_option_and_ini_key(rig: Rig) -> None:
    result = rig.pytester.runpytest_inprocess("--help")
    text = result.stdout.str()
    ours = text[text.index("benchgate: kernel benchmarks as gated tests") :]
    for option in TABLE:
        assert option.flag in ours
        assert option.key in text


def test_other_tests_run_unchanged_with_and_without_the_plugin(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling="def test_plain():\n    assert True\n")
    assert rig.pytester.runpytest_inprocess("-W", "error").ret == 0
    assert rig.pytester.runpytest_inprocess("-p", "no:benchgate", "-p", "no:cacheprovider").ret == 0
    assert not (rig.folder / "reports").exists()
    assert not (rig.pytester.path / "reports").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--set", "prime.hi=1000"),
            "--set prime.hi: workload `prime` is not known; did you mean `primes`[?]*",
        ),
        (("--set", "primes.hii=1"), "workload primes has no parameter `hii`; did you mean `hi`[?]"),
        (("--set", "primes.hi=abc"), "parameter hi: `abc` is not a whole number *"),
        (("--system", "linus"), "system `linus` is not known; did you mean `linux`[?]*"),
        (("--system", "./nosuch.yaml"), "*nosuch.yaml: cannot be read: No such file or directory"),
        (
            ("--system", "linux:foo=bar"),
            "linux has no setting `foo`; it has arch, kernel, source, config, scx, preempt, isolcpus*",
        ),
        (("--cpus=",), "--cpus is empty; give it a value or leave it out"),
        (("--system", "native,native"), "--system names the same system twice: fake, native, native; *"),
        (("--system=",), "--system is empty; give it a value or leave it out"),
        (("--set=",), "--set is empty; give it a value or leave it out"),
    ],
)
def test_an_unknown_name_or_empty_value_is_a_usage_error(
    rig: Rig, words: tuple[str, ...], message: str
) -> None:
    result = rig.run(*words)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert "Traceback" not in result.stderr.str()


def test_paths_in_an_ini_file_are_relative_to_its_folder(rig: Rig) -> None:
    home = rig.pytester.mkdir("home")
    (home / "pytest.ini").write_text("[pytest]\nbenchgate_system = mine.yaml\nbenchgate_reports = out\n")
    (home / "mine.yaml").write_text("version: 1\nname: mine\nkind: moon\n")
    (home / "test_it.py").write_text("def test_it():\n    pass\n")
    result = rig.pytester.runpytest_inprocess("home/test_it.py")
    result.stderr.fnmatch_lines([f"ERROR: {home}/mine.yaml:3: kind: is `moon`, not one of *"])


def primes_yaml() -> str:
    """The YAML of our primes, with absolute paths, for use in another folder."""
    folder = data_root() / "guest/workloads/primes"
    text = (folder / "workload.yaml").read_text()
    return text.replace("source: ", f"source: {folder}/").replace("oracle: ", f"oracle: {folder}/")


def test_two_workloads_with_one_name_are_refused_before_a_boot(rig: Rig) -> None:
    (rig.pytester.path / "twin.yaml").write_text(primes_yaml())
    more = '@pytest.mark.workload("twin.yaml")\ndef test_twin(cell):\n    cell.require_verified()\n'
    (rig.pytester.path / "test_twin.py").write_text(f"import pytest\n\n\n{more}")
    result = rig.run(play="cannot-start")
    assert result.ret == 4
    files = "*/primes/workload.yaml and */twin.yaml"
    result.stderr.fnmatch_lines([f"ERROR: two workloads are called `primes`: {files}; *"])
    assert not (rig.folder / "reports").exists()


USERS_FIXTURES = """
import pytest

@pytest.fixture
def cell():
    return "mine"

@pytest.fixture(params=[1, 2])
def verdict(request):
    return request.param
"""
USERS_TESTS = """
import pytest

def test_cell(cell):
    assert cell == "mine"

def test_verdict(verdict):
    assert verdict in (1, 2)

@pytest.mark.parametrize(("cell", "image"), [(3, 4)])
def test_given(cell, image):
    assert (cell, image) == (3, 4)

@pytest.mark.parametrize("x, boot", [(1, 2)])
def test_given_too(x, boot):
    assert boot == 2
"""


def test_a_users_fixtures_may_have_the_names_of_ours(rig: Rig) -> None:
    rig.pytester.makeconftest(USERS_FIXTURES)
    rig.pytester.makepyfile(test_scaling=USERS_TESTS)
    result = rig.pytester.runpytest_inprocess("-W", "error", "--strict-markers")
    result.assert_outcomes(passed=5)


UNPLANNED = """
import pytest
import unittest

def test_no_mark(boot):
    pass

@pytest.mark.workload("primes")
def test_too_late(request):
    request.getfixturevalue("cell")

@pytest.mark.workload("primes")
class TestOfUnittest(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def measured(self, cell):
        self.cell = cell

    def test_right(self):
        self.cell.require_verified()
"""


def test_our_fixture_in_a_test_without_a_plan_says_what_to_write(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=UNPLANNED)
    result = rig.run()
    result.assert_outcomes(failed=1, errors=2)
    for name in ("image", "cell", "cell"):
        result.stdout.fnmatch_lines(
            [f"nothing was planned for the fixture `{name}`: the test function must*"]
        )
    result.stdout.no_fnmatch_line("*AttributeError*")


BOOTS = """
import pytest

@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.parametrize("cpus", [0, -1, 65, "2", True])
def test_boot(boot, cpus):
    boot(cpus=cpus)
"""


def test_boot_refuses_an_invalid_cpu_count(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=BOOTS)
    result = rig.run()
    result.assert_outcomes(failed=5)
    result.stdout.fnmatch_lines(["boot(cpus='2'): give a CPU count from 1 to 64"])


def test_a_fixture_that_overrides_ours_receives_its_value(rig: Rig) -> None:
    override = (
        "import pytest\n@pytest.fixture\ndef cell(cell):\n    cell.require_verified()\n    return cell.id\n"
    )
    rig.pytester.makeconftest(CONFTEST + override)
    rig.pytester.makepyfile(
        test_scaling="""
        import pytest

        @pytest.mark.workload("primes", hi=10_000)
        def test_right(cell):
            assert cell.startswith("primes.hi-10000-fake-smp")
        """
    )
    rig.run("--runs=1").assert_outcomes(passed=2)


def test_set_applies_to_a_workload_that_a_mark_names_by_path(rig: Rig) -> None:
    (rig.pytester.path / "own.yaml").write_text(primes_yaml().replace("name: primes", "name: own"))
    mark = '@pytest.mark.workload("own.yaml")\ndef test_own(cell):\n    cell.require_verified()\n'
    (rig.pytester.path / "test_own.py").write_text(f"import pytest\n\n\n{mark}")
    result = rig.run("--plan", "--set", "own.hi=20000", "test_own.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["sweep own.hi-20000-fake"])
    result = rig.run("--plan", "--set", "won.hi=20000", "test_own.py")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --set won.hi: workload `won` is not known; did you mean `own`[?] *"])


@pytest.mark.parametrize(("also", "is_skipped"), [("", True), (", park: my wait queues", False)])
def test_a_workload_whose_services_the_system_lacks_is_skipped_in_the_plan(
    rig: Rig, also: str, *, is_skipped: bool
) -> None:
    needs = "needs: [park, clock]\n"
    (rig.pytester.path / "own.yaml").write_text(primes_yaml().replace("name: primes", "name: own") + needs)
    mark = '@pytest.mark.workload("own.yaml")\ndef test_own(cell):\n    cell.require_verified()\n'
    (rig.pytester.path / "test_own.py").write_text(f"import pytest\n\n\n{mark}")
    rig.more = f"services: {{clock: rdtsc{also}}}\n"
    result = rig.run("--plan", "test_own.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["sweep own-fake"])
    skipped = " SKIP: own needs park, which fake does not have" in result.stdout.str()
    assert skipped == is_skipped


def pytest_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "pytest", *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without an ini file, and a program in a folder elsewhere."""
    for name in ("project", "opt"):
        (tmp_path / name).mkdir()
    (tmp_path / "project" / "test_plain.py").write_text("def test_plain():\n    pass\n")
    (tmp_path / "opt" / "qemu").touch()
    return tmp_path / "project"


@pytest.mark.parametrize("words", [(), ("test_plain.py",)])
def test_the_folder_of_a_program_is_not_pytests_root(project: Path, words: tuple[str, ...]) -> None:
    other = project.parent / "opt"
    done = pytest_in(project, "--qemu", str(other / "qemu"), "-v", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"rootdir: {project}\n" in done.stdout
    assert "\ntest_plain.py::test_plain PASSED" in done.stdout
    assert [path.name for path in other.iterdir()] == ["qemu"]
    assert [path.name for path in project.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("place", ["project", "opt"])
def test_an_ini_file_that_pytest_missed_or_took_because_of_a_path_is_a_usage_error(
    project: Path, place: str
) -> None:
    other = project.parent / "opt"
    (project.parent / place / "pytest.ini").write_text("[pytest]\nbenchgate_keep = 7\n")
    done = pytest_in(project, "--qemu", str(other / "qemu"))
    assert done.returncode == 4
    assert "ERROR: pytest took the value of --qemu for the path of a test" in done.stderr
    assert done.stderr.rstrip().endswith("write --qemu=VALUE")
    assert "Traceback" not in done.stderr
    assert pytest_in(project, f"--qemu={other}/qemu").returncode == 0


@pytest.mark.parametrize("output", ["| true", "2>&1 | true", ">/dev/full", ">&-", "2>&-", "2>/dev/full"])
def test_a_fail_is_no_success_whatever_becomes_of_the_output(rig: Rig, output: str) -> None:
    rig.consoles((19_000_000, 18_000_000))
    line = shlex.join([sys.executable, "-m", "pytest", "-s", *rig.arguments()])
    done = subprocess.run(
        ["bash", "-c", f"{line} {output}\nexit ${{PIPESTATUS[0]}}"],
        cwd=rig.pytester.path,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode != 0


def test_a_pass_needs_no_standard_error(rig: Rig) -> None:
    """pytest itself needs it for its plugin faulthandler."""
    line = shlex.join([sys.executable, "-m", "pytest", "-s", "-p", "no:faulthandler", *rig.arguments()])
    done = subprocess.run(
        ["bash", "-c", f"{line} 2>&-"],
        cwd=rig.pytester.path,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
