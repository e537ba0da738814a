"""The files of `benchgate init`: complete, under the chosen name, and never over others."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from benchgate import VerifyError, WorkerReport, cli, hooks
from benchgate.base.errors import UsageError
from benchgate.base.paths import data_root
from benchgate.base.yaml.keys import Block, Table
from benchgate.plan import catalog, systemfile
from benchgate.plan.system_keys import SYSTEM
from benchgate.session import first_files
from benchgate.session.first_files import skeleton
from tests.unit.build.test_kernel_file import I386, IMAGE, MULTIBOOT, bz_image, elf, with_bytes

KERNEL = elf(I386, 32, body=MULTIBOOT)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In it a feature has a command that describes kernels."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hooks, "describes_kernels", lambda: ["meet"])
    return tmp_path


@pytest.fixture
def oracle(home: Path) -> ModuleType:
    first_files.write_workload(home, "mine")
    spec = importlib.util.spec_from_file_location("oracle_of_mine", home / "mine/oracle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- a workload


def test_a_workload_is_four_files_and_the_command_that_runs_them(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["init", "my bench", "--workload", "mine"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "wrote my bench/.gitignore",
        "wrote my bench/mine/mine.c",
        "wrote my bench/mine/workload.yaml",
        "wrote my bench/mine/oracle.py",
        "wrote my bench/mine/test_mine.py; run: pytest 'my bench/mine/test_mine.py'",
    ]
    workload = catalog.load_workload("my bench/mine")
    folder = home / "my bench/mine"
    assert (workload.name, workload.source, workload.oracle) == (
        "mine",
        folder / "mine.c",
        folder / "oracle.py",
    )
    assert not [path for path in folder.iterdir() if "sums" in path.read_text()]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Mine", "--workload Mine: use lower-case letters"),
        (
            "../mine",
            "--workload ../mine: use lower-case letters, digits and _, beginning with a letter; next: "
            "benchgate init .. --workload mine",
        ),
        ("", "--workload : use lower-case letters"),
        ("primes", "--workload primes: benchgate has a workload of this name"),
        ("selftest", "--workload selftest: benchgate has a workload of this name"),
    ],
)
def test_a_name_that_no_workload_can_have_is_refused(home: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        first_files.write_workload(home, name)
    assert [*home.iterdir()] == []


def test_a_folder_that_exists_is_left_as_it_is(home: Path) -> None:
    (home / "mine").mkdir()
    with pytest.raises(UsageError, match="mine already exists; it was not changed"):
        first_files.write_workload(home, "mine")
    assert [*home.rglob("*")] == [home / "mine"]


def worker(lo: int, hi: int, **values: int) -> WorkerReport:
    numbers = range(lo, hi)
    right = {"numbers": len(numbers), "sum": sum(n * n % 1009 for n in numbers)}
    return WorkerReport(int(lo > 0), 0, 0, 1, 2, {"lo": lo, "hi": hi, **right, **values})


def test_its_oracle_knows_the_answers(oracle: ModuleType) -> None:
    reports = [worker(0, 2500), worker(2500, 5000)]
    result = {"numbers": 5000, "sum": sum(report.values["sum"] for report in reports)}
    oracle.check({"numbers": 5000}, reports, result)
    with pytest.raises(VerifyError, match="the result"):
        oracle.check({"numbers": 5000}, reports, {**result, "sum": 1})


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda: [worker(0, 2500), worker(2500, 5000, sum=7)], "worker 1 reported sum=7"),
        (lambda: [worker(0, 2500), worker(2501, 5000)], "worker 1"),
        (lambda: [worker(0, 5000), worker(5000, 5000)], "unequal split"),
    ],
)
def test_its_oracle_refuses_wrong_workers(
    oracle: ModuleType, spoil: Callable[[], list[WorkerReport]], said: str
) -> None:
    result = {"numbers": 5000, "sum": worker(0, 5000).values["sum"]}
    with pytest.raises(VerifyError, match=said):
        oracle.check({"numbers": 5000}, spoil(), result)


# ---- a kernel


def test_a_kernel_gets_a_yaml_and_the_commands_that_come_next(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "build").mkdir()
    (home / "build/mine.elf").write_bytes(KERNEL)
    assert cli.main(["init", "bench", "--kernel", "build/mine.elf"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "wrote bench/mine.yaml; its comments name every key",
        "run: benchgate init bench",
        "then: pytest --plan --system bench/mine.yaml bench/test_scaling.py",
        "or let boots fill one in: benchgate meet build/mine.elf --out bench/mine-booted.yaml",
    ]
    system = systemfile.load(home / "bench/mine.yaml")
    assert (system.name, system.boot.kernel) == ("mine", "../build/mine.elf")
    assert "$schema" not in (home / "bench/mine.yaml").read_text()
    assert cli.main(["init", "bench", "--kernel", "build/mine.elf"]) == 4
    assert "bench/mine.yaml already exists; it was not changed" in capsys.readouterr().err


def test_without_such_a_feature_nothing_is_advised(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "mine.elf").write_bytes(KERNEL)
    (home / "linux").write_bytes(bz_image(0x20F, 8_000_000))
    monkeypatch.setattr(hooks, "describes_kernels", list)
    assert first_files.write_system(home, Path("mine.elf"))[-1].startswith("then: pytest --plan ")
    with pytest.raises(UsageError, match=r"linux: is a [^;]*$"):
        first_files.write_system(home, Path("linux"))


def test_a_test_that_exists_is_not_written_first(home: Path) -> None:
    (home / "mine.elf").write_bytes(KERNEL)
    first_files.write_test(Path())
    lines = first_files.write_system(Path(), Path("mine.elf"))
    assert lines[1] == "run: pytest --plan --system mine.yaml test_scaling.py"


def test_a_kernel_for_each_count_and_another_processor(home: Path) -> None:
    (home / "arm-1.img").write_bytes(with_bytes(0x38, b"ARM\x64"))
    first_files.write_system(home, Path("arm-{n}.img"))
    system = systemfile.load(home / "arm_n.yaml")
    assert (system.arch.name, system.boot.kernel) == ("aarch64", "arm-{n}.img")


def test_a_file_that_does_not_say_its_processor_is_told(home: Path) -> None:
    (home / "raw").write_bytes(b"code")
    assert "the kernel's file does not say for which processor it is: set `arch`" in (
        first_files.write_system(home, Path("raw"))
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "k.img: cannot be read: No such file"),
        (b"\x1f\x8b" + bytes(100), "unpack it first: `gunzip < k.img > kernel`"),
        (bz_image(0x20F, 8_000_000), "; next: benchgate meet k.img --out k.yaml"),
        (IMAGE + b"\0Linux version 6.12.1 (", "; next: benchgate meet k.img --out k.yaml"),
        (with_bytes(510, b"\x55\xaa"), "; next: benchgate meet k.img --out k.yaml"),
    ],
)
def test_a_file_for_which_a_feature_knows_more_is_refused(
    home: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        (home / "k.img").write_bytes(content)
    with pytest.raises(UsageError, match=re.escape(said)):
        first_files.write_system(Path(), Path("k.img"))
    assert not (home / "k.yaml").exists()


def test_in_a_checkout_the_yaml_names_its_schema(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_files, "data_root", lambda: home)
    lines = first_files._schema_line(home / "tests/kernels/mine.yaml").splitlines()
    assert lines == ["# yaml-language-server: $schema=../../fixtures/schema/system.json"]
    assert (data_root() / "fixtures/schema/system.json").is_file()
    assert first_files._schema_line(home.parent / "mine.yaml") == ""


def test_a_workload_and_a_kernel_are_two_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["init", "--workload", "mine", "--kernel", "mine.elf"])
    assert ended.value.code == 4
    assert "not allowed with argument" in capsys.readouterr().err


TEXT = skeleton("mine", "build/mine.elf", "x86_64")
PATH = Path("/bench/mine.yaml")
BLOCKS = {"deadlines", "cpus", "qemu", "console", "end"}
"""These may stand alone; `build` and `smoke` have keys that need a value, and `input` needs `ask: prompt`."""
COMMENT = re.compile(r" *# (?P<inner> *)(?P<key>[a-z_]+):(?P<value> *[^ #]*)")


def uncommented(text: str) -> str:
    """The file with its defaults as values."""
    lines, block = [], ""
    for line in text.splitlines():
        match = COMMENT.match(line)
        if match and not match["inner"]:
            block = match["key"]
        holds = match and (match["value"].strip() or block == match["key"] in BLOCKS)
        inside = match and (not match["inner"] or block in BLOCKS)
        lines.append(line.replace("# ", "", 1) if holds and inside else line)
    return "\n".join(lines)


def every_key(table: Table) -> Iterator[str]:
    for key, row in table.items():
        yield key
        if isinstance(row, Block) and len(row.forms) == 1:
            yield from every_key(row.forms[0])


def test_the_reader_accepts_it() -> None:
    system = systemfile.parse(TEXT, PATH, {})
    assert (system.name, system.arch.name, system.boot.kernel) == ("mine", "x86_64", "build/mine.elf")


def test_every_key_of_the_table_has_a_line_with_its_meaning() -> None:
    lines = [line for line in TEXT.splitlines() if not re.match(r"# [A-Z`]", line)]
    assert [re.findall(r"[a-z_]+", line)[0] for line in lines] == [*every_key(SYSTEM.forms[0])]
    assert all(re.search(r"\S +# \S", line) for line in lines)


def test_a_value_in_a_comment_is_what_holds_without_it() -> None:
    text = uncommented(TEXT)
    assert "\n  memory: 256M " in text
    assert "\n  boot_s: 60 " in text
    assert systemfile.parse(text, PATH, {}) == systemfile.parse(TEXT, PATH, {})


@pytest.mark.parametrize(("arch", "shown"), [("riscv64", "\narch: riscv64 "), ("", "\n# arch: x86_64 ")])
def test_another_processor_is_named(arch: str, shown: str) -> None:
    text = skeleton("mine", "k.elf", arch)
    assert shown in text
    assert systemfile.parse(text, PATH, {}).arch.name == (arch or "x86_64")


@pytest.mark.parametrize("kernel", ["my kernel.elf", "a: b", 'quo"te', "käse-{n}.elf"])
def test_any_path_can_be_named(kernel: str) -> None:
    assert systemfile.parse(skeleton("mine", kernel, ""), PATH, {}).boot.kernel == kernel
