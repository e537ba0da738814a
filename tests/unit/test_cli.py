"""The command `benchgate`: its subcommands, and that every error is one sentence with exit status 4."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from importlib import metadata
from io import StringIO
from pathlib import Path

import pytest

import benchgate
from benchgate import cli
from benchgate.base.errors import HostError, UsageError
from benchgate.base.paths import data_root
from benchgate.build import cache
from benchgate.commands import cache as cache_command
from benchgate.commands import docs
from benchgate.session import doctor, replay
from benchgate.session.exploration import guest_maker, rows
from benchgate.session.exploration.request import ExplorationRequest
from benchgate.session.mix_study import steps
from benchgate.session.progress import Progress
from tests import exploresim, mixsim
from tests.machines import PATIENCE_S, wait_until
from tests.unit.mix import paper
from tests.unit.sessions import finished_session


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The error message of a command that must fail."""
    assert cli.main(words) == 4
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith("benchgate: ")
    return line


def test_init_writes_a_python_test_file_and_never_overwrites_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["init", "new"]) == 0
    text = (home / "new" / "test_scaling.py").read_text()
    assert [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)] == [
        "test_scales"
    ]
    assert capsys.readouterr().out.splitlines() == [
        "wrote new/.gitignore",
        "wrote new/test_scaling.py; run: pytest new/test_scaling.py",
    ]
    assert "/reports/runs/\n" in (home / "new/.gitignore").read_text()
    assert "new/test_scaling.py already exists" in refused(capsys, "init", "new")
    assert (home / "new" / "test_scaling.py").read_text() == text


def test_init_keeps_a_gitignore(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".gitignore").write_text("mine\n")
    assert cli.main(["init"]) == 0
    assert (home / ".gitignore").read_text() == "mine\n"
    assert ".gitignore" not in capsys.readouterr().out


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code in (None, 0)
    assert capsys.readouterr().out == f"benchgate {metadata.version('pytest-benchgate')}\n"
    assert benchgate.__version__ == metadata.version("pytest-benchgate")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ver", ["verify"]),
        ("verify --sig", ["--signers"]),
        ("init --wor", ["--workload"]),
        ("init --sig", []),
        ("--ver", ["--version"]),
        ("fleet sch", ["scheduler"]),
        ("history imp", ["import"]),
        ("completion f", ["fish"]),
        ("docs read", ["read-a-verdict"]),
        ("verify lat", []),
    ],
)
def test_bash_completes_commands_and_options(
    typed: str, offered: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["completion", "bash"]) == 0
    words = ["benchgate", *typed.split()]
    asked = (
        f'COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _benchgate; echo "${{COMPREPLY[@]}}"'
    )
    script = f"{capsys.readouterr().out}\n{asked}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command_and_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("verify", "signers", "rejudge", "completion"))


def test_every_public_name_is_there_and_listed() -> None:
    assert sorted(benchgate.__all__) == sorted({*benchgate._MODULE_OF, "__version__"})
    assert all(hasattr(benchgate, name) for name in benchgate.__all__)


def test_init_reports_an_unwritable_place(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "file").write_text("")
    assert "cannot be written" in refused(capsys, "init", "file/below")
    assert refused(capsys, "init", "file") == "benchgate: file already exists; it was not changed"


def test_doctor_prints_its_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "report", lambda path, **words: f"all is well with {path}, {words}")
    assert cli.main(["doctor"]) == 0
    assert cli.main(["doctor", "--qemu", "/q"]) == 0
    said = "all is well with {}, {{'kvm_report': None}}\n"
    assert capsys.readouterr().out == said.format("None") + said.format("/q")


def test_a_benchgate_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def report(*_: object, **__: object) -> str:
        raise HostError("this machine has no CPUs")

    monkeypatch.setattr(doctor, "report", report)
    assert refused(capsys, "doctor") == "benchgate: this machine has no CPUs"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An interrupted command ignores others until its process ends, and this process goes on."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_prints_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def report(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "report", report)
    assert cli.main(["doctor"]) == 130
    assert capsys.readouterr().err == "benchgate: interrupted\n"


def test_the_cache_is_listed_and_trimmed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_bytes = cache.entry("probe", {"digest": "abc"}, _fill)
    assert cli.main(["cache"]) == 0
    first, total = capsys.readouterr().out.splitlines()
    assert first.split()[:3] == ["1.0", "MiB", "probe"]
    assert first.endswith("  the guest that times accelerators and the host's capacity (in use)")
    assert total.split()[:2] == ["1.0", "MiB"]
    assert with_bytes.is_dir()
    assert cli.main(["cache", "gc", "--keep", "5M"]) == 0
    assert capsys.readouterr().out.startswith("removed 0 folders")


@pytest.mark.parametrize(
    ("kind", "key", "said"),
    [
        ("guest", {"name": "primes", "recipe": "Recipe(...)"}, "a program of the Linux guest: primes"),
        (
            "system",
            {"name": "ours", "workload": "tasks"},
            "a system's kernel: ours, with the workload tasks",
        ),
        ("system", {"name": "kernel"}, "a system's kernel: kernel"),
        ("qemu", {"version": "10.0.2", "lock": "12ab"}, "QEMU: 10.0.2"),
        ("qemu", {"origin": "unreviewed image"}, "QEMU"),
        ("linux", {"version": "6.12\x1b[2J"}, "a Linux kernel: 6.12\\x1b[2J"),
        ("accel", {"accel": "kvm"}, "whether an accelerator works on this host: kvm"),
    ],
)
def test_the_list_of_the_cache_names_what_an_entry_is_for(
    home: Path, capsys: pytest.CaptureFixture[str], kind: str, key: dict[str, str], said: str
) -> None:
    cache.entry(kind, key, _fill)
    assert cli.main(["cache"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(f"  {said} (in use)")


def _fill(folder: Path) -> None:
    (folder / "file").write_bytes(b"x" * 2**20)


@pytest.mark.parametrize(("word", "size"), [("17", 17), ("2k", 2048), ("500M", 500 * 2**20), ("2G", 2**31)])
def test_sizes(word: str, size: int) -> None:
    assert cache_command._bytes(word) == size


@pytest.mark.parametrize("word", ["", "G", "1.5G", "-1", "2T", "many"])
def test_invalid_sizes_are_refused(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["cache", "gc", f"--keep={word}"])
    assert caught.value.code == 4
    assert "is not a size such as 500M or 2G" in capsys.readouterr().err


def test_verify_finds_an_edited_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = finished_session(home / "reports").folder
    (folder / "summary.md").write_text("# a better PASS\n")
    assert cli.main(["verify", str(folder)]) == 10
    assert "summary.md" in capsys.readouterr().out


def test_verify_refuses_another_folder(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["verify", str(home / "nothing")])
    assert code == 11
    assert "nothing" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["nothing", "results.csv"])
def test_rejudge_reports_a_missing_path(name: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert name in refused(capsys, "rejudge", str(home / name))


def test_rejudge_refuses_an_invalid_results_csv(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "results.csv").write_text("a,b\n1,2\n")
    assert "results.csv" in refused(capsys, "rejudge", str(home / "results.csv"))


@pytest.mark.parametrize("words", [[], ["fly"], ["verify"], ["cache", "burn"]])
def test_invalid_commands_print_the_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code != 0
    assert capsys.readouterr().err.startswith("usage: benchgate")


TEST_FILE = """\
import pytest

@pytest.mark.workload("primes")
def test_right(cell):
    cell.require_verified()
"""


def run(*words: str, stdout: int, **variables: str) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-m", "benchgate", *words]
    environment = {**os.environ, **variables}
    return subprocess.run(
        argv, env=environment, stdout=stdout, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["cache"], ["--help"]])
def test_a_closed_standard_output_is_not_an_error(home: Path, words: list[str], unbuffered: str) -> None:
    """Python notices it when it prints, or, with a buffer, when it ends."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = run(*words, stdout=write, PYTHONUNBUFFERED=unbuffered)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_plan_runs_pytest(home: Path) -> None:
    (home / "test_one.py").write_text(TEST_FILE)
    done = run("plan", "-p", "no:cacheprovider", "test_one.py", "--clock=wall", stdout=subprocess.PIPE)
    assert b"cell   primes-linux-smp1: " in done.stdout
    assert b"nothing was booted" in done.stdout
    assert not (home / "reports").exists()


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_plan_explains_itself(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["plan", word])
    assert caught.value.code == 0
    assert "boots nothing" in capsys.readouterr().out


def test_a_replay_without_out_gets_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier replay of the same run does not stand in its way."""
    asked: list[Path] = []

    def replayed(order: replay.ReplayRequest, _: object) -> tuple[str, bool]:
        asked.append(order.out)
        order.out.mkdir()
        return "", True

    monkeypatch.setattr(replay, "replay", replayed)
    for _ in range(3):
        assert cli.main(["replay", "reports/latest/runs/0001-x"]) == 0
    assert [path.name for path in asked] == ["replay-0001-x", "replay-0001-x-2", "replay-0001-x-3"]


STALLS = "import pathlib, time\npathlib.Path({sign!r}).touch()\nwhile True:\n    time.sleep(1)\n"


@pytest.mark.parametrize(
    ("program", "stalls", "status", "says"),
    [
        ("benchgate.cli", "difflib", 130, "benchgate: interrupted\n"),
        ("benchgate.cli", "yaml", 130, "benchgate: interrupted\n"),
        ("pytest", "yaml", 2, ""),
    ],
)
def test_an_interrupt_during_the_imports_leaves_no_traceback(
    home: Path, program: str, stalls: str, status: int, says: str
) -> None:
    """A module that never ends its import is in the place of one that is imported on the way."""
    folder, sign = home / "modules", home / "importing"
    folder.mkdir()
    (folder / f"{stalls}.py").write_text(STALLS.format(sign=str(sign)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    words = ["doctor"] if program == "benchgate.cli" else ["--plan"]
    with subprocess.Popen(
        [sys.executable, "-m", program, *words], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert wait_until(lambda: sign.exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert sign.exists(), said
    assert said == says
    assert process.returncode == status


def test_mix_choose_prints_mixes_and_says_what_is_odd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, sensitivity = paper.write(tmp_path)
    words = ["mix", "choose", "--vectors", str(vectors), "--sensitivity", str(sensitivity), "--json"]
    assert cli.main([*words, "--capacity", "disk=0.7", "--top", "2"]) == 0
    printed = capsys.readouterr()
    assert [load["mix"] for load in json.loads(printed.out)] == [
        {"game.1": 3, "webb.1": 1},
        {"game.1": 4},
    ]
    assert "v.csv:7: disk: antiv.N alone uses 80%" in printed.err


def test_mix_choose_says_which_application_has_no_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = paper.write(tmp_path, sensitivity=paper.SENSITIVITY + "webc,0.8,0.7,0.5,0.1,0.5\n")
    assert cli.main(["mix", "choose", "--vectors", str(both[0]), "--sensitivity", str(both[1])]) == 0
    assert "s.csv:5: application: webc has no input in the other table" in capsys.readouterr().err


def test_json_of_very_many_equal_mixes_is_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    vectors = "application,input,score,cpu,disk\n" + "".join(f"{text},1,1,0.02,0\n" for text in "abc")
    both = paper.write(
        tmp_path, vectors, "application,cpu,disk\n" + "".join(f"{text},1,0\n" for text in "abc")
    )
    words = ["mix", "choose", "--vectors", str(both[0]), "--sensitivity", str(both[1]), "--json"]
    assert cli.main(words) == 0
    assert [load["mix"] for load in json.loads(capfd.readouterr().out)] == [{"a.1": 50}]


def study_folder(place: Path, **capacity: Fraction) -> Path:
    """The folder that two commands leave, on a simulated system."""

    def opened(_: object) -> AbstractContextManager[mixsim.Simulated]:
        return nullcontext(mixsim.Simulated(mixsim.TRUTH))

    study = replace(
        mixsim.study(), seeds=1, limit_seeds=1, levels=(50,), resources=("cpu", "cache"), calibrate={}
    )
    study = replace(study, capacity=capacity)
    progress = Progress(StringIO(), live=False)
    steps.measure_vectors(study, place, opened, progress)
    steps.run_mixes(place, steps.MixRequest(best=1), opened, progress)
    return place


def test_mix_choose_refuses_a_score_that_does_not_rise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rising = paper.VECTORS.replace("game,N,0.75", "game,N,0.25")
    vectors, sensitivity = paper.write(tmp_path, rising)
    words = ["mix", "choose", "--vectors", str(vectors), "--sensitivity", str(sensitivity)]
    assert cli.main(words) == 4
    printed = capsys.readouterr()
    assert "v.csv:3: score: game.N uses more than game.1" in printed.err
    assert printed.out == ""


@pytest.mark.parametrize("plan", ["{}", "a study's"])
def test_a_plan_beside_a_table_does_not_make_it_a_measured_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plan: str
) -> None:
    if plan == "{}":
        (tmp_path / "plan.json").write_text(plan)
    else:
        study_folder(tmp_path)
    vectors, sensitivity = paper.write(tmp_path, paper.VECTORS.replace("game,N,0.75", "game,N,0.25"))
    assert cli.main(["mix", "choose", "--vectors", str(vectors), "--sensitivity", str(sensitivity)]) == 4
    assert "v.csv:3: score: game.N uses more than game.1" in capsys.readouterr().err


def test_the_tables_of_a_study_are_its_own_until_they_are_edited(tmp_path: Path) -> None:
    from benchgate.commands.mix import _of_a_study

    folder = study_folder(tmp_path)
    both = folder / "vectors.csv", folder / "sensitivity.csv"
    assert _of_a_study(*both)
    both[0].write_text(both[0].read_text() + "\n")
    assert not _of_a_study(*both)


def test_two_folders_of_one_study_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = study_folder(tmp_path)
    assert cli.main(["mix", "same", str(folder), str(folder)]) == 1  # the simulated runs have no clock's log
    printed = capsys.readouterr()
    assert "clock.log cannot be compared" in printed.err
    assert "vectors.csv" not in printed.err


def test_mix_of_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = study_folder(tmp_path)
    assert cli.main(["mix", "choose", "--study", str(folder)]) == 0
    assert "95%  75%    3 x prime.small 1 x walker.small" in capsys.readouterr().out
    assert cli.main(["mix", "report", str(folder)]) == 0
    assert f"report: {folder}/report.html" in capsys.readouterr().out
    assert cli.main(["mix", "run", str(folder), "--plan"]) == 0
    assert "runs alone, beside a dummy" in capsys.readouterr().out
    assert cli.main(["mix", "run", str(folder), "--plan", "--best", "2"]) == 0
    planned = capsys.readouterr().out
    assert "     0 of 1 run left: prime.small=3,walker.small=1\n     1 of 1 run left: " in planned
    assert "     1 runs left; " in planned
    assert cli.main(["mix", "run", str(folder), "--plan", "--mix", "walker.small=2"]) == 0
    assert "     1 of 1 run left: walker.small=2\n" in capsys.readouterr().out
    assert cli.main(["mix", "run", str(folder), "--plan", "--mix", "a.x=2"]) == 4
    assert "`a.x` is no input of the study" in capsys.readouterr().err


def test_mix_choose_uses_the_capacities_of_the_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["mix", "choose", "--study", str(study_folder(tmp_path, cpu=Fraction(1, 2)))]
    assert cli.main(words) == 0
    half = capsys.readouterr().out
    assert cli.main([*words, "--capacity", "cpu=1"]) == 0
    assert "95%  75%    3 x prime.small 1 x walker.small" in capsys.readouterr().out
    assert "95%" not in half


def test_mix_check_finds_a_run_without_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mix", "check", str(study_folder(tmp_path))]) == 1
    assert "alone-prime.large-s1: its files give no result: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["choose"], "give --vectors and --sensitivity, or --study"),
        (["report", "nowhere"], "nowhere is no folder; next: benchgate mix vectors STUDY.yaml --out nowhere"),
        (["run", ".", "--best", "1", "--mix", "a.b=1"], "give --mix or --best, not both"),
        (["same", ".", "nowhere"], "nowhere is no folder"),
        (["same", ".", "."], "have nothing in common; next: benchgate mix vectors"),
        (["vectors", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_a_wrong_mix_command(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mix", *words]) == 4
    assert said in capsys.readouterr().err


def test_mix_choose_refuses_a_wrong_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["mix", "choose", "--vectors", "v", "--sensitivity", "s", "--top", "0"])
    assert ended.value.code == 4
    assert "not a whole number from 1 to 100" in capsys.readouterr().err


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[exploresim.Simulated]:
    """The guest that `benchgate explore` explores."""
    guests = [exploresim.Simulated()]
    monkeypatch.setattr(guest_maker, "opened", lambda *_: exploresim.opener(guests[0]))
    return guests


EXPLORE = ["explore", "--smoke", "--system", "kernel", "--smp", "2", "--strategy", "sync", "--out", "x"]


def test_explore_prints_finds_and_exits_with_1(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*EXPLORE, "--seeds", "8", "--no-small"]) == 1
    assert "benchgate explore replay x/finds/find-1" in capsys.readouterr().out
    assert cli.main([*EXPLORE, "--seeds", "8", "--no-small", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["state"] == "complete"
    assert len(simulated[0].ran) == 9  # the second time all was there


@pytest.mark.parametrize(
    ("words", "start"), [([], "auto"), (["--start", "cold"], "cold"), (["--start=warm"], "warm")]
)
def test_explore_passes_on_where_its_runs_start(
    words: list[str], start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ExplorationRequest] = []

    def selected(request: ExplorationRequest) -> None:
        asked.append(request)
        raise UsageError("enough")

    monkeypatch.setattr(rows, "select", selected)
    assert cli.main(["explore", "tests/smp", "--plan", *words]) == 4
    assert [one.start for one in asked] == [start]


def test_explore_finds_nothing_and_exits_with_0(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*EXPLORE, "--seeds", "2"]) == 0
    assert "nothing found: 3 runs" in capsys.readouterr().out
    assert simulated[0].ran


def test_an_exploration_without_a_stall_is_no_success(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    simulated[0].unstalled = True
    assert cli.main([*EXPLORE, "--seeds", "2"]) == 5
    said = capsys.readouterr().out
    assert "nothing explored: 3 runs" in said
    assert "had a stall: nothing was explored there; next: " in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--with", "from_ns=10", "--with", "until_ns=5"], "from_ns 10 is not before until_ns 5"),
        (["--with", "depth=0"], "--with: depth 0 is not from 1 to 16"),
        (["--with", "one_in=0"], "--with: one_in 0 is not from 1 to"),
        (["--with", "shortest_ns=1000", "--with", "longest_ns=10"], "shortest_ns 1000 is more than"),
        (["--with", "one_in=5", "--with", "one_in=6"], "--with one_in=6: one_in is given twice"),
        (["--strategy", "plain", "--with", "one_in=0"], "--with: one_in 0 is not from 1 to"),
        (["--out", "taken/x"], "taken is not a folder; next: "),
        (["--out", "taken"], "taken is not a folder; next: "),
        (["--fleet", "foo"], "foo is outside this machine"),
        (["--fleet", "tcp://127.0.0.1:1", "--fleet-key", "nokey"], "--fleet-key nokey is not a file"),
    ],
)
def test_the_plan_of_an_exploration_checks_what_was_given(
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    assert said in refused(capsys, *EXPLORE, "--plan", *words)


def test_an_interrupted_exploration_says_how_to_go_on(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    simulated[0].stop_after = 3
    assert cli.main([*EXPLORE, "--seeds", "8"]) == 130
    assert "interrupted; the same command with --out" in capsys.readouterr().err


def test_the_plan_of_an_exploration_boots_nothing(
    simulated: list[exploresim.Simulated], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*EXPLORE, "--seeds", "8", "--plan"]) == 0
    assert "8 runs each: sync in turn; 9 boots" in capsys.readouterr().out
    assert simulated[0].ran == []


@pytest.mark.parametrize(
    ("option", "word", "said"),
    [
        ("--seeds", "0", "`0` is not a whole number from 1 to 1000000"),
        ("--first-seed", "1000000001", "is not a whole number from 1 to 1000000000"),
        ("--jobs", "5x", "`5x` is not a whole number from 1 to 1024"),
        *(("--slower", word, f"`{word}` is not a number above 1") for word in ("1", "fast", "nan", "inf")),
    ],
)
def test_a_number_out_of_range_is_a_usage_error(
    option: str, word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["explore", "--smoke", option, word])
    assert caught.value.code == 4
    assert f"argument {option}: " in (text := capsys.readouterr().err)
    assert said in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explore"], "name tests, such as tests/smp"),
        (["explore", "--smoke", "--strategy", "synk"], "did you mean `sync`"),
        (["explore", "replay", "nowhere"], "is no find of an exploration"),
        (["explore", "small", "nowhere"], "is no find of an exploration"),
    ],
)
def test_a_wrong_explore_command(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(capsys, *words)


def test_docs_lists_the_pages_and_prints_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["docs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line for line in lines if not line.startswith("  ")]
    assert [line for line in heads if line.endswith(":")] == [f"{part}:" for part in docs.PARTS]
    assert heads[-1] == "as a site: `./run docs` in a checkout makes build/site/index.html"
    assert "words: arm, baseline, cell" in "\n".join(lines)
    assert re.search(r"^  wire +What a guest prints", "\n".join(lines), re.M)
    assert cli.main(["docs", "wire"]) == 0
    assert capsys.readouterr().out == (data_root() / "docs" / "reference" / "wire.md").read_text()


def test_docs_says_what_a_word_means(capsys: pytest.CaptureFixture[str]) -> None:
    due = "noise floor: By how much two arms seem to differ"
    for asked in (["noise floor"], ["noise", "floor"], ["noise-floor"]):
        assert cli.main(["docs", *asked]) == 0
        assert capsys.readouterr().out.startswith(due)
    assert refused(capsys, "docs", "windo") == (
        "benchgate: there is no page and no word `windo`; did you mean `window`?"
    )


@pytest.mark.parametrize(
    ("asked", "due"),
    [
        ("speedup", "speedup: "),
        ("work_conserving", "As in: work_conserving("),
        ("workload", "As in: @pytest.mark.workload("),
        ("quick", "--quick: "),
        ("invalid", "INVALID: "),
        ("SKIP", "SKIP: "),
        ("settling", "settling: "),
    ],
)
def test_docs_says_what_a_mark_an_option_and_an_outcome_are(
    capsys: pytest.CaptureFixture[str], asked: str, due: str
) -> None:
    assert cli.main(["docs", asked]) == 0
    assert due in capsys.readouterr().out


def test_docs_suggests_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        refused(capsys, "docs", "wier")
        == "benchgate: there is no page and no word `wier`; did you mean `wire`?"
    )
    assert (
        refused(capsys, "docs", "zzz")
        == "benchgate: there is no page and no word `zzz`; `benchgate docs` lists all"
    )
