"""A mark that pytest gives to a test has its meaning, or is refused before anything is measured."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import CONFTEST, GATE, Rig

LIMIT = '@pytest.mark.limit(cpus=2, metric="work", at_most=1)'
PRIMES = '@pytest.mark.workload("primes", hi=10_000)'
SPEEDUP = "@pytest.mark.speedup(cpus=2, at_least=1.6)"
MEASURES = "\n    verdict.require_pass()\n"
VERIFIES = "\n    cell.require_verified()\n"

NO_VERDICT = (
    "test_scaling.py::{test}: mark `{mark}` gates nothing, because this test does not request `verdict`"
)
LATE = "test_scaling.py::{test}: mark `{mark}` came after this test was planned"
SHOWN_LIMIT = "limit(cpus=2, metric='work', at_most=1)"
SHOWN_SPEEDUP = "speedup(cpus=2, at_least=1.6)"


def refused(rig: Rig, test_file: str, message: str, *words: str, conftest: str = "") -> None:
    """Exit 4, one sentence, and nothing was booted."""
    rig.pytester.makeconftest(CONFTEST + conftest)
    rig.pytester.makepyfile(test_scaling=f"import pytest\nimport unittest\n\n{test_file}")
    result = rig.run(*words, play="cannot-start")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {message}" in result.stderr.str()
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert not (rig.folder / "reports").exists()


@pytest.mark.parametrize(
    ("test_file", "test"),
    [
        (f"{PRIMES}\n{SPEEDUP}\ndef test_scales(): pass\n", "test_scales"),
        (f"{SPEEDUP}\ndef test_scales(): pass\n", "test_scales"),
        (f"{PRIMES}\n{SPEEDUP}\ndef test_right(cell):{VERIFIES}", "test_right[primes.hi-10000-fake-smp1]"),
        (f"{PRIMES}\n{SPEEDUP}\ndef test_boots(boot): pass\n", "test_boots[primes.hi-10000-fake]"),
        (
            f"{PRIMES}\n{SPEEDUP}\ndef test_late(request):\n    request.getfixturevalue('verdict')\n",
            "test_late",
        ),
        (f"{SPEEDUP}\nclass TestOld(unittest.TestCase):\n    def test_it(self): pass\n", "TestOld::test_it"),
        (
            f"class TestOld(unittest.TestCase):\n    {SPEEDUP}\n    def test_it(self): pass\n",
            "TestOld::test_it",
        ),
        (f"{SPEEDUP}\nclass TestNew:\n    def test_it(self): pass\n", "TestNew::test_it"),
        (
            f"{SPEEDUP}\nclass Base: pass\n\nclass TestNew(Base):\n    def test_it(self): pass\n",
            "TestNew::test_it",
        ),
        (f"pytestmark = {SPEEDUP[1:]}\n\ndef test_it(): pass\n", "test_it"),
        (
            f"{PRIMES}\n{SPEEDUP}\n@pytest.mark.parametrize('verdict', [1])\ndef test_mine(verdict): pass\n",
            "test_mine[1]",
        ),
        (
            f"{PRIMES}\n{SPEEDUP}\n@pytest.mark.parametrize('verdict', [1], indirect=True)\n"
            "def test_mine(verdict): pass\n",
            "test_mine[1]",
        ),
        (
            f"@pytest.fixture\ndef verdict(): pass\n\n{PRIMES}\n{SPEEDUP}\ndef test_mine(verdict): pass\n",
            "test_mine",
        ),
    ],
)
def test_a_gate_of_a_test_without_our_verdict_is_refused(rig: Rig, test_file: str, test: str) -> None:
    refused(rig, test_file, NO_VERDICT.format(test=test, mark=SHOWN_SPEEDUP))


@pytest.mark.parametrize(
    "mark", ["speedup", "gate('mine.py', cpus=2)", "compare(to='linux', cpus=2, at_least=1)"]
)
def test_each_kind_of_gate_is_refused(rig: Rig, mark: str) -> None:
    refused(rig, f"@pytest.mark.{mark}\ndef test_it(): pass\n", NO_VERDICT.format(test="test_it", mark=mark))


@pytest.mark.parametrize(
    ("before", "argument"), [("", ""), ("@pytest.fixture\ndef isolation(): pass\n\n", "isolation")]
)
def test_an_isolation_that_our_fixture_does_not_measure_is_refused(
    rig: Rig, before: str, argument: str
) -> None:
    test = f'{before}@pytest.mark.isolation("web", at_least=0.9)\ndef test_apart({argument}): pass\n'
    shown = "isolation('web', at_least=0.9)"
    message = NO_VERDICT.format(test="test_apart", mark=shown).replace("`verdict`", "`isolation`")
    refused(rig, test, message)


@pytest.mark.parametrize("name", ["smp", "threads", "regression", "system", "machine('db')", "skip"])
def test_a_label_of_other_tests_stays_one(rig: Rig, name: str) -> None:
    rig.pytester.makepyfile(test_scaling=f"import pytest\n\n@pytest.mark.{name}\ndef test_it(): pass\n")
    assert rig.run().ret == 0


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        ('limit(cpus=2, metric="work", at_most=1)', SHOWN_LIMIT),
        ('workload("checksum")', "workload('checksum')"),
        ('system("kernel")', "system('kernel')"),
        ('machine("desktop8")', "machine('desktop8')"),
        ("speedup(cpus=2, at_least=1.9)", "speedup(cpus=2, at_least=1.9)"),
    ],
)
def test_a_mark_of_a_parameter_is_refused(rig: Rig, mark: str, shown: str) -> None:
    given = f"@pytest.mark.parametrize('n', [0, pytest.param(1, marks=pytest.mark.{mark})])"
    test = f"{PRIMES}\n{SPEEDUP}\n{given}\ndef test_scales(n, verdict):{MEASURES}"
    refused(rig, test, LATE.format(test="test_scales[primes.hi-10000-fake-smp2-1]", mark=shown))


ADDED = """
def pytest_itemcollected(item):
    item.add_marker({mark})
"""
ADDED_TO_ALL = """
def pytest_collection_modifyitems(items):
    for item in items:
        item.{node}.add_marker({mark})
"""
ADDED_BY_A_PARAMETER = """
def pytest_generate_tests(metafunc):
    metafunc.parametrize("n", [pytest.param(1, marks={mark})])
"""


PLAIN = "def test_plain(): pass\n"


@pytest.mark.parametrize(
    ("conftest", "test"),
    [
        (ADDED.replace("{mark}", LIMIT[1:]), ""),
        (ADDED_TO_ALL.replace("{mark}", LIMIT[1:]).replace("{node}.", ""), PLAIN),
        (ADDED_TO_ALL.replace("{mark}", LIMIT[1:]).replace("{node}", "parent"), ""),
        (ADDED_TO_ALL.replace("{mark}", LIMIT[1:]).replace("{node}", "session"), PLAIN),
    ],
)
def test_a_mark_that_a_conftest_adds_is_refused(rig: Rig, conftest: str, test: str) -> None:
    message = NO_VERDICT.format(test="test_plain", mark=SHOWN_LIMIT)
    if not test:
        test = f"{PRIMES}\n{SPEEDUP}\ndef test_scales(verdict):{MEASURES}"
        message = LATE.format(test="test_scales[primes.hi-10000-fake-smp2]", mark=SHOWN_LIMIT)
    refused(rig, test, message, conftest=f"\nimport pytest\n{conftest}")


def test_a_mark_of_a_hooks_parameter_is_refused(rig: Rig) -> None:
    more = "\nimport pytest\n" + ADDED_BY_A_PARAMETER.replace("{mark}", LIMIT[1:])
    test = f"{PRIMES}\n{SPEEDUP}\ndef test_scales(n, verdict):{MEASURES}"
    message = LATE.format(test="test_scales[1-primes.hi-10000-fake-smp2]", mark=SHOWN_LIMIT)
    refused(rig, test, message, conftest=more)


def test_a_mark_of_an_item_that_is_no_function_is_refused(rig: Rig) -> None:
    """doctest's items have no plan, and marks only from hooks."""
    test = 'def test_plain():\n    """\n    >>> 1 + 1\n    2\n    """\n'
    more = "\nimport pytest\n" + ADDED_TO_ALL.replace("{mark}", LIMIT[1:]).replace("{node}.", "")
    message = NO_VERDICT.format(test="test_scaling.test_plain", mark=SHOWN_LIMIT)
    refused(rig, test, message, "--doctest-modules", "-k", "test_scaling.test_plain", conftest=more)


AT_RUN_TIME = f"""
import pytest

@pytest.fixture(autouse=True)
def late(request):
    request.node.add_marker({LIMIT[1:]})

def test_plain():
    pass
"""


def test_a_gate_that_is_added_while_its_test_runs_fails_it(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=AT_RUN_TIME)
    result = rig.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"{NO_VERDICT.format(test='test_plain', mark=SHOWN_LIMIT)}*"])


TWO = "test_scaling.py::{test}: marks `{one}` and `{other}`: only one of them can hold"


@pytest.mark.parametrize(
    ("marks", "shown"),
    [
        (
            ("workload('primes', hi=10_000)", "workload('checksum')"),
            ("workload('checksum')", "workload('primes', hi=10000)"),
        ),
        (
            ("workload('primes', hi=10_000)", "machine('desktop8')", "machine('server2x16')"),
            ("machine('server2x16')", "machine('desktop8')"),
        ),
        (
            ("workload('primes', hi=10_000)", "workload('primes')"),
            ("workload('primes')", "workload('primes', hi=10000)"),
        ),
    ],
)
def test_two_marks_of_which_pytest_takes_one_are_refused(
    rig: Rig, marks: tuple[str, ...], shown: tuple[str, str]
) -> None:
    words = "\n".join(f"@pytest.mark.{mark}" for mark in marks)
    test = f"{words}\ndef test_right(cell):{VERIFIES}"
    rig.pytester.makepyfile(test_scaling=f"import pytest\n\n{test}")
    result = rig.run("--clock=insn", play="cannot-start")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f": marks `{shown[0]}` and `{shown[1]}`: only one of them can hold" in result.stderr.str()
    assert "ERROR: test_scaling.py::test_right[" in result.stderr.str()


def test_a_workload_of_a_base_class_is_not_replaced_in_silence(rig: Rig) -> None:
    """pytest gives a class the marks of its base first, so the nearest one is not the class's own."""
    test = (
        f"{PRIMES}\nclass Base: pass\n\n"
        f"@pytest.mark.workload('checksum')\nclass TestIt(Base):\n    def test_right(self, cell): pass\n"
    )
    name = "TestIt::test_right[primes.hi-10000-fake-smp1]"
    refused(
        rig, test, TWO.format(test=name, one="workload('primes', hi=10000)", other="workload('checksum')")
    )


def test_a_nearer_workload_replaces_that_of_the_module(rig: Rig) -> None:
    test = (
        f"pytestmark = pytest.mark.workload('checksum')\n\n{PRIMES}\n{SPEEDUP}\n"
        f"def test_scales(verdict):{MEASURES}\n\ndef test_plain(): pass\n"
    )
    rig.pytester.makepyfile(test_scaling=f"import pytest\n\n{test}")
    assert rig.run().ret == 0
    assert rig.run("-k", "plain").ret == 0


def test_a_workload_that_nothing_measures_is_refused(rig: Rig) -> None:
    test = f"{PRIMES}\ndef test_right(): pass\n"
    message = "test_scaling.py::test_right: mark `workload('primes', hi=10000)` measures nothing"
    refused(rig, test, message)


def test_a_test_that_is_not_selected_is_not_refused(rig: Rig) -> None:
    rig.pytester.makepyfile(
        test_scaling=f"import pytest\n\n{PRIMES}\n{SPEEDUP}\ndef test_scales(verdict):{MEASURES}",
        test_other=f"import pytest\n\n{SPEEDUP}\ndef test_forgotten(): pass\n",
    )
    assert rig.run("-k", "scales").ret == 0
    assert rig.run(GATE).ret == 0
    assert rig.run("--collect-only").ret == pytest.ExitCode.USAGE_ERROR
    assert rig.run("--plan").ret == pytest.ExitCode.USAGE_ERROR


def test_each_test_is_named_once_and_long_lists_end(rig: Rig) -> None:
    text = "".join(f"{SPEEDUP}\ndef test_{number:02}(): pass\n\n" for number in range(12))
    rig.pytester.makepyfile(test_scaling=f"import pytest\n\n{text}")
    result = rig.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.errlines if "gates nothing" in line]
    assert len(lines) == 10
    assert "and 2 more" in result.stderr.str()


def test_a_worker_of_xdist_says_it_too(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=f"import pytest\n\n{SPEEDUP}\ndef test_forgotten(): pass\n")
    result = rig.run("-n", "1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = NO_VERDICT.format(test="test_forgotten", mark=SHOWN_SPEEDUP)
    assert message in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize(
    "place",
    [
        "pytestmark = [{both}]\n\ndef test_scales(verdict):{body}",
        "class TestIt:\n    pytestmark = [{both}]\n\n    def test_scales(self, verdict):\n    {body}",
        "@pytest.fixture\ndef passed(verdict): verdict.require_pass()\n\n"
        "pytestmark = [{both}, pytest.mark.usefixtures('passed')]\n\ndef test_scales(): pass\n",
        "pytestmark = [{both}]\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_scales(n, verdict):{body}",
    ],
)
def test_a_mark_has_its_meaning_wherever_pytest_takes_it_from(rig: Rig, place: str) -> None:
    body = MEASURES.replace("\n", "\n    ", 1) if "class" in place else MEASURES
    text = place.replace("{both}", f"{PRIMES[1:]}, {SPEEDUP[1:]}").replace(
        "{body}", body.strip("\n") and body
    )
    rig.pytester.makepyfile(test_scaling=f"import pytest\n\n{text}")
    assert rig.run().ret == 0
    rig.consoles((19_000_000, 18_000_000))
    assert rig.run().ret == pytest.ExitCode.TESTS_FAILED


def lenient(rig: Rig, *words: str) -> pytest.RunResult:
    """As pytest is without --strict-markers, where an unknown mark is a warning."""
    given = [word for word in rig.arguments(*words, play="cannot-start") if word != "--strict-markers"]
    return rig.pytester.runpytest_inprocess(*given, "-W", "ignore::pytest.PytestUnknownMarkWarning")


MISSPELT = "there is no mark `speedupp`; did you mean `speedup`?"
WRONG = "@pytest.mark.speedupp(cpus=2, at_least=1.6)"


@pytest.mark.parametrize(
    "test_file",
    [
        f"{PRIMES}\n{WRONG}\ndef test_scales(verdict):{MEASURES}",
        f"{PRIMES}\n{WRONG}\ndef test_right(cell):{VERIFIES}",
        f"{PRIMES}\n{SPEEDUP}\n{WRONG}\ndef test_scales(verdict):{MEASURES}",
        f"{PRIMES}\n{SPEEDUP}\ndef test_scales(verdict):{MEASURES}\n{WRONG}\ndef test_plain(): pass\n",
    ],
    ids=["a verdict", "a cell", "beside a right one", "without a fixture"],
)
def test_a_misspelt_mark_is_an_error_that_says_which_was_meant(rig: Rig, test_file: str) -> None:
    rig.pytester.makeconftest(CONFTEST)
    rig.pytester.makepyfile(test_scaling=f"import pytest\n\n{test_file}")
    result = lenient(rig)
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    assert MISSPELT in result.stderr.str() + result.stdout.str()
    assert not (rig.folder / "reports").exists()


def test_with_strict_markers_it_says_so_too(rig: Rig) -> None:
    rig.pytester.makepyfile(
        test_scaling=f"import pytest\n\n{PRIMES}\n{WRONG}\ndef test_x(verdict):{MEASURES}"
    )
    result = rig.run("--strict-markers", play="cannot-start")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert MISSPELT in result.stdout.str()


@pytest.mark.parametrize("mark", ["limits", "slow", "limits(3)", "scalings(kind='x')"])
def test_a_mark_of_another_tool_is_none_of_ours(rig: Rig, mark: str) -> None:
    other = f"@pytest.mark.{mark}\ndef test_plain(): pass\n"
    rig.pytester.makepyfile(test_scaling=f"import pytest\n\n{other}")
    result = lenient(rig, "--quick")
    result.assert_outcomes(passed=1)
