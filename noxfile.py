"""All commands for developers and CI. `./run SESSION` prepares the machine and then calls this."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nox

nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "none"
nox.options.error_on_missing_interpreters = False

HERE = Path(__file__).parent
DIST = HERE / "dist"
"""What would be published."""
SUITE = ("tests/smp", "tests/threads")
TERN_AND_LINUX = ("--system", "kernel", "--system", "linux")
LINUX_AND_NATIVE = ("--system", "linux", "--system", "native")
LINUX_ROWS = "(smp or threads) and not history and not tern"
FEATURES = [path.relative_to(HERE) for path in sorted(HERE.glob("src/benchgate/features/*/tests"))]
CORE = ("tests/unit", "tests/plugin", "tests/evidence", "tests/golden")
BOOTLESS = (*CORE, "guest/workloads", "contrib", *map(str, FEATURES))
"""Tests of benchgate itself that boot nothing, but for those in a folder `boots`."""
NO_BOOTS = ("--ignore-glob=*/tests/boots",)
BOOTS = ("tests/line", "tests/guests")
ALONGSIDE = (*BOOTS, *BOOTLESS)
"""Their tests run under xdist, because neither the host's load nor another guest disturbs them. Those with
the mark `alone` are left for later."""
SIDE_BY_SIDE = ("-n", str(len(os.sched_getaffinity(0)) * 3 // 2), "--dist", "loadfile")
"""Three workers for two CPUs: tests also wait."""
ALONE = (
    *BOOTS,
    "tests/faults",
    *(str(path / "boots") for path in FEATURES if (HERE / path / "boots").is_dir()),
)
"""Their tests with the mark `alone` measure wall time, kill sessions or inspect the host: one at a time."""
SAME_EXAMPLES = "--hypothesis-profile=ci"
"""The same examples in each run: a change is red for what it did. `pytest tests/unit` tries new ones."""
NOTHING_FOUND = 5
OLDEST_PARTNERS = ("pytest-benchmark[histogram]==4.0.0", "pytest==8.2.0", "pytest-xdist==3.5.0")
"""Before 5.2 the fixture of pytest-benchmark itself does not work with pytest 9.2."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The versions for which requirements.lock has packages."""


def _call(name: str, *args: str) -> int:
    """Runs a module with the Python that runs nox, independent of PATH."""
    return subprocess.call([sys.executable, "-m", name, *args], cwd=HERE, env=_environment())


def _environment() -> dict[str, str]:
    """Compiled modules are kept, outside the sources, also where Python is told to keep none: a session that
    compiles benchgate takes twice as long to begin, and the tests begin hundreds."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {"PYTHONPYCACHEPREFIX": str(HERE / ".nox" / "pycache"), **kept}


def _module(name: str, *args: str) -> None:
    """Exits with the module's own status: nox would turn pytest's 5 (nothing was decided) and 75 (only
    INCONCLUSIVE) into 1."""
    code = _call(name, *args)
    if code:
        raise SystemExit(code)


def _pytest(*args: str) -> None:
    """No tables of pytest-benchmark follow the verdicts, unless `--benchmark-enable` is given."""
    _module("pytest", "--benchmark-disable", *args)


def _family(name: str, *args: str, folder: str = "") -> None:
    """The rows of a family of workloads: they have the folder's name as their marker."""
    _pytest(folder or f"tests/{name}", "-m", name, "-q", *args)


def _names_tests(words: Sequence[str]) -> bool:
    """True if the arguments name files or tests to run."""
    return any(Path(word.partition("::")[0]).exists() for word in words if not word.startswith("-"))


@nox.session
def gate(session: nox.Session) -> None:
    """Run the speedup gates and negative controls on Linux. `-- --quick` is short and decides nothing."""
    _pytest(*SUITE, "-m", LINUX_ROWS, "-q", *session.posargs)


@nox.session
def tern(session: nox.Session) -> None:
    """Run our own kernel and the Linux guest: the same rows, and rows that compare tern's schedulers."""
    _pytest(*SUITE, "-m", "(smp or threads) and not history", "-q", *TERN_AND_LINUX, *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the project's own test suite, which boots real guests (Linux and tern)."""
    if _names_tests(session.posargs):
        _pytest(*session.posargs)
        return
    _module("tests.optional")
    codes = [_call("pytest", *ALONGSIDE, "-m", "not alone", SAME_EXAMPLES, *SIDE_BY_SIDE, *session.posargs)]
    codes += [_call("pytest", *ALONE, "-m", "alone", *session.posargs)]
    if code := _together(codes):
        raise SystemExit(code)


@nox.session(name="tools-for-tests")
def tools_for_tests(session: nox.Session) -> None:
    """Install what some tests need and the set-up does not install; without it they skip."""
    _module("tests.optional", "install", *session.posargs)


def _together(codes: Sequence[int]) -> int:
    """The status of the first half that failed, else 0; NOTHING_FOUND only if neither half found a test."""
    failed = [code for code in codes if code not in (0, NOTHING_FOUND)]
    return failed[0] if failed else min(codes)


@nox.session(name="linux-baseline")
def linux_baseline(session: nox.Session) -> None:
    """Run Linux as a guest, on both clocks, and natively, side by side: same workloads, same pins."""
    _pytest(*SUITE, "-m", LINUX_ROWS, *LINUX_AND_NATIVE, "--clock", "both", "-q", *session.posargs)


@nox.session
def profiles(session: nox.Session) -> None:
    """Compare tern's build profiles on one row: what safety costs. `-- -k debug` runs one of them."""
    _pytest("tests/profiles", "-m", "profiles", "-q", *session.posargs)


@nox.session
def tools(session: nox.Session) -> None:
    """Run existing programs (hackbench, cyclictest, stress-ng, sysbench, perf bench) as workloads."""
    _family("tools", *LINUX_AND_NATIVE, "--clock", "both", *session.posargs)


@nox.session
def micro(session: nox.Session) -> None:
    """Run single operations on Linux and on tern: cost, scaling, and tern against Linux."""
    _family("micro", *TERN_AND_LINUX, *session.posargs)


@nox.session
def schbench(session: nox.Session) -> None:
    """Run schbench on Linux and on tern: latency of wake-ups and requests, and requests per second."""
    _family("schbench", *TERN_AND_LINUX, *session.posargs)


@nox.session
def patterns(session: nox.Session) -> None:
    """Run the parallel patterns on Linux and tern, at 1, 2 and 4 CPUs unless `-- --smp LIST` says others."""
    _family("patterns", *TERN_AND_LINUX, "--smp", "1,2,4", *session.posargs)


@nox.session
def memory(session: nox.Session) -> None:
    """Run counters in shared cache lines and four spinlocks on Linux and tern, on the instruction clock."""
    _family("memory", *TERN_AND_LINUX, "--clock", "insn", "--smp", "1,2,4,8,16,32", *session.posargs)


@nox.session
def schedulers(session: nox.Session) -> None:
    """Look for CPUs that idle while threads wait, on Linux and on tern. `-- -k small` takes minutes."""
    _family("schedulers", "--clock", "insn", "--system", "linux", *session.posargs)


@nox.session
def scenarios(session: nox.Session) -> None:
    """Run the shipped scenarios with the gates of their files, on Linux. `-- --system kernel`: on tern."""
    systems = () if "--system" in session.posargs else ("--system", "linux")
    rows = "src/benchgate/features/scenarios/tests/rows"
    _family("scenarios", "--clock", "insn", *systems, *session.posargs, folder=rows)


@nox.session
def mixed(session: nox.Session) -> None:
    """Run the applications of the shipped mixes, each alone, on Linux and on tern."""
    rows = "src/benchgate/features/mix/tests/rows"
    _family("mixed", *TERN_AND_LINUX, *session.posargs, folder=rows)


@nox.session(name="fleet-faults")
def fleet_faults(session: nox.Session) -> None:
    """Kill, fill and mislead the processes of a fleet, with real guests; one of them is in `tests`, too."""
    _pytest(
        "src/benchgate/features/fleet/tests/rows",
        "src/benchgate/features/fleet/tests/boots/test_killed_worker.py",
        "-q",
        *session.posargs,
    )


@nox.session
def kernels(session: nox.Session) -> None:
    """Build and gate kernels from outside: `-- xv6=FOLDER kvm_unit_tests=FOLDER ...`."""
    _module("tools.kernels", *session.posargs)


@nox.session(name="fleet-demo")
def fleet_demo(session: nox.Session) -> None:
    """Start a scheduler and two workers here, and let them make the runs of tests/smp on tern."""
    _module("benchgate.features.fleet.tools.demo", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style of Python and C."""
    _module("ruff", "check", ".")
    _module("ruff", "format", "--check", ".")
    roots = (HERE / name for name in ("guest", "kernel", "src", "contrib"))
    sources = sorted(str(path) for root in roots for path in root.rglob("*.[ch]"))
    if clang_format := next((d for d in os.get_exec_path() if Path(d, "clang-format").is_file()), None):
        session.run(f"{clang_format}/clang-format", "--dry-run", "--Werror", *sources, external=True)
    else:
        session.warn("clang-format is not installed: the style of the C was not checked")


@nox.session
def types(session: nox.Session) -> None:
    """Run mypy, strict, on all Python code of the repository."""
    _module("mypy", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Make the documents a site, build/site/index.html. Every warning is an error: a broken link, too."""
    words = ("-W", "-n", "-q", "--keep-going", "-d", "build/doctrees", "-c", "docs", ".", "build/site")
    _module("sphinx", *words, *session.posargs)


@nox.session
def long(session: nox.Session) -> None:
    """Run the tests that take longest: promises of which `tests` checks one case, at their full breadth."""
    where = () if _names_tests(session.posargs) else ALONGSIDE
    _pytest(*where, "-m", "long", *SIDE_BY_SIDE, *session.posargs)


@nox.session
def lies(session: nox.Session) -> None:
    """Boots workloads that lie, each of which the machine must contradict."""
    _pytest("tests/lies", "-m", "lies", "-q", *session.posargs)


@nox.session
def scx(session: nox.Session) -> None:
    """Build a Linux with sched_ext and the kernel's own schedulers in BPF, and boot each of them."""
    _pytest("src/benchgate/features/linux_build/tests/rows", "-m", "scx", "-q", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run the long repeats, overnight and not in CI."""
    where = () if _names_tests(session.posargs) else ("tests",)
    _pytest(*where, "-m", "soak", *session.posargs)


@nox.session
def fresh(session: nox.Session) -> None:
    """Run the README's commands on minimal Debian systems. `-- --resolved`: all tests, before an issue is
    resolved."""
    _module("tools.fresh", *session.posargs)


@nox.session
def compilers(session: nox.Session) -> None:
    """Build tern and the clock's plugin with gcc 12, 13, 14 and clang, and compare what must be equal."""
    _module("tools.compilers", *session.posargs)


@nox.session(name="nested-kvm")
def nested_kvm(session: nox.Session) -> None:
    """Boot a machine with a real KVM under TCG, and run checks in it (contrib/nested_kvm)."""
    _module("contrib.nested_kvm.machine", *session.posargs)


@nox.session(venv_backend="venv", reuse_venv=True)
def release(session: nox.Session) -> None:
    """Build and check what would be published, and upload nothing. `-- --no-fresh` makes no new machine."""
    shutil.rmtree(DIST, ignore_errors=True)
    session.install("build>=1.2", "twine>=5")
    session.run("python", "-m", "build", "--outdir", str(DIST), str(HERE))
    files = sorted(DIST.iterdir())
    session.run("python", "-m", "twine", "check", "--strict", *map(str, files))
    _pytest("tests/line/test_wheel.py", "-q")
    if "--no-fresh" not in session.posargs:
        _module("tools.fresh")
        inside = "contrib/nested_kvm/inside/test_guests.py"
        _module("contrib.nested_kvm.machine", inside, "-k", "verified and kernel")
    for path in files:
        session.log(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(HERE)}")


@nox.session(venv_backend="venv", reuse_venv=True)
@nox.parametrize("versions", [OLDEST_PARTNERS, ("pytest-benchmark[histogram]",)], ids=["oldest", "newest"])
def partners(session: nox.Session, versions: Sequence[str]) -> None:
    """Run the tests of pytest-benchmark as a partner with its oldest supported and its newest version."""
    session.install("--upgrade", "-e", ".[dev]", *versions)
    names = ("tests/unit/session/pytest_hooks", "tests/plugin")
    where = [f"{name}/test_benchmark_partner.py" for name in names]
    session.run("python", "-m", "pytest", *where, "-q", *session.posargs)


@nox.session(python=PYTHONS, venv_backend="venv", reuse_venv=True)
def pythons(session: nox.Session) -> None:
    """Run the tests that boot nothing on every Python that the lock allows and this machine has."""
    session.install("--require-hashes", "--only-binary=:all:", "-r", "requirements.lock")
    session.install("--no-index", "--no-deps", "--no-build-isolation", "-e", ".")
    where = (
        () if _names_tests(session.posargs) else (*BOOTLESS, *NO_BOOTS, "-n", "logical", "--dist", "loadfile")
    )
    session.run("python", "-m", "pytest", *where, *session.posargs)


@nox.session
def relock(session: nox.Session) -> None:
    """Renew fixtures/*.lock and the Python lock from what the package sources offer today."""
    _module("tools.relock", *session.posargs)


@nox.session
def history(session: nox.Session) -> None:
    """Make a history of a million runs, and time one row out of it."""
    _module("benchgate.features.history.tools.million_runs", *session.posargs)


@nox.session
def simulate(session: nox.Session) -> None:
    """Simulate the decision rule's error rates with the shipped code (docs/explanation/read-a-verdict.md)."""
    _module("tools.simulation", *session.posargs)
