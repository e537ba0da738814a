"""The command `benchgate`: its subcommands, and that every error is one sentence with exit status 4."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import benchgate
from benchgate import cli, hooks
from benchgate.base.errors import HostError
from benchgate.base.paths import data_root
from benchgate.build import cache
from benchgate.commands import cache as cache_command
from benchgate.commands import docs
from benchgate.hooks import Feature
from benchgate.session import doctor, replay
from tests.machines import PATIENCE_S, wait_until
from tests.unit.machines import DUO
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


@pytest.mark.parametrize(
    ("typed", "due"),
    [
        ("verfy", "there is no command `verfy`; did you mean `verify`?"),
        ("xxxx", "there is no command `xxxx`; `benchgate --help` lists all"),
        ("explore", "name tests, such as tests/smp, or "),
        ("mix choose", "give --vectors and --sensitivity, or --study"),
        (
            "new-system mine.yaml",
            "mine.yaml: is a YAML file, and no kernel; to measure the system that it may ",
        ),
        ("threads absent", "There is no such folder; those of runs are reports/runs/SESSION/runs/*"),
        ("baseline accept absent", "absent is not a folder; name a session under reports/runs/"),
    ],
)
def test_a_mistake_is_one_sentence_that_says_what_to_do(
    typed: str, due: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, *typed.split())
    assert due in said
    assert "benchgate: benchgate" not in said


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


def test_features_add_public_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hasattr(benchgate, "thousand")
    row = Feature(exports={"thousand": "benchgate.judge.oracles.answers:total"})
    monkeypatch.setattr(hooks, "shipped", lambda: {"x": row})
    assert getattr(benchgate, "thousand") is benchgate.total  # noqa: B009 - no type checker knows it


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


@pytest.mark.parametrize("words", [[], ["verify"], ["cache", "burn"]])
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


def test_docs_lists_the_pages_and_prints_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["docs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line for line in lines if not line.startswith("  ")]
    assert [line for line in heads if line.endswith(":")] == [f"{part}:" for part in docs.PARTS]
    assert heads[-1] == "as a site: `./run docs` in a checkout makes build/site/index.html"
    assert re.search(r"^words: arm, (baseline, )?cell, ", "\n".join(lines), re.M)
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
    assert "pages that have it: `benchgate docs wall-time`, " in refused(capsys, "docs", "KVM")
    assert (
        refused(capsys, "docs", "zzz")
        == "benchgate: there is no page and no word `zzz`; `benchgate docs` lists all"
    )


def test_machine_shows_a_shipped_machine_and_the_ideal_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["machine", "show", "desktop8"]) == 0
    assert capsys.readouterr().out.startswith("machine    desktop8: ")
    assert cli.main(["machine", "show", "ideal"]) == 0
    assert capsys.readouterr().out == "ideal: no memory system; one instruction takes 1 ns\n"
    assert "absent" in refused(capsys, "machine", "show", "absent")


def test_machine_check_names_file_line_and_key_of_a_contradiction(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["machine", "check", str(data_root() / "fixtures/machines/desktop8.yaml")]) == 0
    assert capsys.readouterr().out.endswith("desktop8.yaml is good\n")
    (home / "bad.yaml").write_text(DUO.replace("local_ns: 50", "local_ns: 2"))
    said = refused(capsys, "machine", "check", "bad.yaml")
    assert said.startswith("benchgate: bad.yaml:14: memory.local_ns: is 2, less than the 11")
