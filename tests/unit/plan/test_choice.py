"""The systems of a session: names that differ, letters, and the words that choose files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import hooks
from benchgate.base.errors import BuildError, UsageError
from benchgate.base.snapshots import StartKind
from benchgate.plan import catalog, choice
from benchgate.plan.options import Options
from benchgate.plan.planned import GateRequest, MarkRequest
from tests.unit.plan.systemfile.test_settings import PROMPTED

PRIMES = MarkRequest("primes", {}, ())


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two kernels of one name."""
    for folder, content in (("old", b"1"), ("new", b"2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bzImage").write_bytes(content)
    (tmp_path / "other").write_bytes(b"3")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*words: str, **more: object) -> list[str]:
    return [system.name for system in choice.of_session(Options(systems=words, **more))]  # type: ignore[arg-type]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:8]


def test_a_file_names_its_system_by_its_base_name() -> None:
    assert names("linux", "linux:kernel=new/bzImage") == ["linux", "linux.kernel-bzImage"]
    assert names("linux:kernel=other", "linux:kernel=new/bzImage") == [
        "linux.kernel-other", "linux.kernel-bzImage",
    ]  # fmt: skip


def test_files_of_one_name_are_told_apart_by_their_content(here: Path) -> None:
    both = [f"linux.kernel-bzImage-{digest(one)}" for one in (b"1", b"2")]
    assert names("linux:kernel=old/bzImage", f"linux:kernel={here}/new/bzImage") == both
    (here / "new/bzImage").write_bytes(b"1")
    with pytest.raises(UsageError, match="names the same system twice"):
        names("linux:kernel=old/bzImage", "linux:kernel=new/bzImage")


def test_the_option_for_a_kernel_says_the_same_as_the_setting(here: Path) -> None:
    kernel = here / "new/bzImage"
    (one,) = choice.of_session(Options(systems=("linux",), linux_kernel=kernel))
    (two,) = choice.of_session(Options(systems=(f"linux:kernel={kernel}",)))
    assert one == two
    assert (one.boot.kernel, one.boot.is_linux) == (str(kernel), True)
    systems = choice.of_session(Options(systems=("linux:kernel=other", "kernel"), linux_kernel=kernel))
    assert [system.name for system in systems] == ["linux.kernel-other", "kernel"]


def test_the_option_is_also_for_a_yaml_that_has_no_such_setting(here: Path) -> None:
    text = "version: 1\nname: mine\nkind: qemu\nboot: {kernel: fetch:linux}\n"
    (here / "mine.yaml").write_text(text)
    (system,) = choice.of_session(Options(systems=("./mine.yaml",), linux_kernel=here / "other"))
    assert (system.name, system.boot.kernel, system.boot.is_linux) == ("mine", str(here / "other"), True)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UsageError, match=r"linux: setting kernel: there is no file /.*/gone"):
        names("linux:kernel=gone")


def test_a_mark_and_a_comparison_use_the_sessions_name_or_one_that_differs() -> None:
    options = Options(systems=("linux:kernel=old/bzImage",))
    (own,) = choice.of_session(options)
    assert choice.other("linux:kernel=old/bzImage", options) == own
    assert choice.other("linux:kernel=new/bzImage", options).name == f"linux.kernel-bzImage-{digest(b'2')}"
    request = MarkRequest("primes", {}, (), ("linux:kernel=old/bzImage", "linux:kernel=new/bzImage"))
    assert len({system.name for system in choice.systems_of(request, options)}) == 2


def test_letters_are_told_if_files_were_chosen(here: Path) -> None:
    options = Options(systems=("linux", "linux:kernel=other"))
    assert choice.told(options) == (
        "A is linux", f"B is linux.kernel-other (kernel={here}/other)",
    )  # fmt: skip
    without_files = Options(systems=("linux", "linux:arch=riscv64"))
    assert not choice.told(without_files)
    assert choice.lettered(without_files) == ("A is linux", "B is linux.arch-riscv64")


def test_a_word_of_an_ini_file_is_relative_to_that_file(here: Path) -> None:
    assert catalog.placed("linux:kernel=k/bzImage:arch=riscv64", here / "sub") == (
        f"linux:kernel={here}/sub/k/bzImage:arch=riscv64"
    )
    assert catalog.placed("kernel:sched=rr", here) == "kernel:sched=rr"
    assert catalog.placed("sub/mine.yaml", here) == f"{here}/sub/mine.yaml"


def test_a_source_a_configuration_and_a_program_may_be_relative(here: Path) -> None:
    (here / "linux").mkdir()
    (here / "scx_a").write_bytes(b"a")
    (here / "mine.config").write_text("CONFIG_X=y\n")
    word = "linux:source=linux:config=debug+mine.config:scx=./scx_a -s 5"
    boot = catalog.load_system(word).boot
    assert (boot.source, boot.config) == (f"{here}/linux", f"debug+{here}/mine.config")
    assert boot.scheduler == f"{here}/scx_a -s 5"
    assert catalog.placed(word, here / "sub") == (
        f"linux:source={here}/sub/linux:config=debug+{here}/sub/mine.config:scx={here}/sub/scx_a -s 5"
    )


def test_programs_of_one_name_and_one_program_with_other_words_are_told_apart(here: Path) -> None:
    for name in ("old", "new"):
        (here / name / "scx_a").write_text(name)
    words = [
        f"linux:scx={one}" for one in ("old/scx_a -s 1000000000000000 -x", "new/scx_a -s 1000000000000000 -x")
    ]
    words.append("linux:scx=new/scx_a -s 1000000000000000 -y")
    assert len(set(names(*words))) == 3
    assert all(name.startswith("linux.scx-scx_a_-s_1") for name in names(*words))


@pytest.mark.parametrize("word", ["'a b/scx_a' -x 1", '"a b/scx_a" -x 1', "a b/scx_a -x 1"])
def test_a_path_of_a_program_may_have_spaces(here: Path, word: str) -> None:
    (here / "a b").mkdir()
    (here / "a b/scx_a").write_bytes(b"a")
    (system,) = choice.of_session(Options(systems=(f"linux:scx={word}",)))
    assert system.boot.scheduler == f'"{here}/a b/scx_a" -x 1'
    assert system.name == "linux.scx-scx_a_-x_1"
    assert catalog.load_system(f"linux:scx={system.boot.scheduler}") == system
    assert catalog.placed(f"linux:scx={word}", here) == f"linux:scx={system.boot.scheduler}"
    assert choice.by_content(system).name.startswith("linux.scx-scx_a_-x_1-")


def test_the_shortest_path_of_a_program_is_meant(here: Path) -> None:
    (here / "scx_a").write_bytes(b"a")
    (here / "scx_a -x").write_bytes(b"b")
    assert catalog.load_system("linux:scx=scx_a -x").boot.scheduler == f"{here}/scx_a -x"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("linux:source=gone", "setting source: there is no folder .*/gone"),
        ("linux:source=gone@v6", "setting source: there is no folder .*/gone"),
        (
            "linux:scx=gone -x",
            "setting scx: there is no file .*/gone; a path .*, and one with spaces needs quotes",
        ),
        ("linux:scx='gone -x", "setting scx: there is no file .*/'gone; a path"),
        ("linux:source=linux-source-6.12:config=./x.config", "setting config: there is no file .*/x.config"),
    ],
)
def test_what_does_not_exist_is_named(here: Path, word: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        names(word)


def test_a_kernel_that_no_feature_here_makes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where it is read: a recorded session is judged and shown without it."""
    word = "linux:source=linux-source-6.12"
    monkeypatch.setattr(hooks, "kernel_maker", {"source": dict}.get)
    assert names(word) == ["linux.source-linux-source-6.12"]
    monkeypatch.setattr(hooks, "kernel_maker", {}.get)
    with pytest.raises(BuildError, match=r"boot\.source: .* made of linux-source-6\.12, .* no feature that"):
        names(word)
    assert catalog.load_system(word).boot.source == "linux-source-6.12"


def _request(systems: tuple[str, ...], to: str = "") -> MarkRequest:
    gates = (GateRequest("ratio", "", 2, None, "work", 1.0, None, None, to=to),) if to else ()
    return MarkRequest("primes", {}, gates, systems)


@pytest.mark.parametrize(
    ("systems", "to", "start"),
    [
        (("linux",), "", "auto"),
        (("linux", "kernel"), "", "auto"),
        (("kernel",), "linux", "auto"),
        (("linux",), "kernel", "auto"),
        (("kernel",), "linux:start=cold", "cold"),
        (("linux:start=cold",), "kernel", "cold"),
        (("kernel",), "native", "cold"),
        (("linux",), "linux:arch=aarch64", "auto"),
        (("linux",), "linux:arch=riscv64", "cold"),
        ((), "B", "auto"),
    ],
)
def test_a_test_that_compares_starts_cold_unless_all_can_start_warm(
    systems: tuple[str, ...], to: str, start: str
) -> None:
    options = Options(clock="insn", start="auto", systems=("linux", "kernel"))
    assert choice.for_request(_request(systems, to), options).start == start
    asked = replace(options, start="warm")
    assert choice.for_request(_request(systems, to), asked) == asked


# ---- where runs begin


@pytest.mark.parametrize(
    ("word", "more", "found"),
    [
        ("linux", {}, "linux"),
        ("linux", {"start": "warm", "clock": "insn"}, "linux.start-warm"),
        ("linux", {"start": "auto", "clock": "insn"}, "linux.start-warm"),
        ("linux:arch=aarch64", {"start": "auto", "clock": "insn"}, "linux.arch-aarch64.start-warm"),
        ("linux:kernel=other", {"start": "auto", "clock": "insn"}, "linux.kernel-other.start-warm"),
        ("linux:start=cold", {"start": "warm", "clock": "insn"}, "linux"),
        ("linux:start=cold", {"start": "auto", "clock": "insn"}, "linux"),
        ("linux:start=warm", {"start": "cold", "clock": "insn"}, "linux.start-warm"),
        ("linux:start=warm", {"clock": "insn"}, "linux.start-warm"),
        # left cold
        ("linux", {"start": "auto", "clock": "auto"}, "linux"),
        ("linux", {"start": "auto", "clock": "wall"}, "linux"),
        ("linux", {"start": "auto", "clock": "both"}, "linux"),
        ("linux:arch=riscv64", {"start": "auto", "clock": "insn"}, "linux.arch-riscv64"),
        ("kernel", {"start": "auto", "clock": "insn"}, "kernel.start-warm"),
        ("kernel:sched=rr", {"start": "auto", "clock": "insn"}, "kernel.sched-rr.start-warm"),
        ("native", {"start": "auto", "clock": "insn"}, "native"),
    ],
)
def test_a_system_starts_where_its_setting_says_else_the_option(
    word: str, more: dict[str, object], found: str
) -> None:
    (system,) = choice.of_session(Options(systems=(word,), **more))  # type: ignore[arg-type]
    assert system.name == found
    assert (system.boot.start is StartKind.WARM) == found.endswith("start-warm")
    assert ("start" in system.settings.values) == found.endswith("start-warm")


@pytest.mark.parametrize("word", ["native", "native:start=warm"])
def test_a_system_that_cannot_start_warm_is_refused_if_it_is_asked_for(word: str) -> None:
    with pytest.raises(UsageError, match=r"cannot start warm: .*; leave out start=warm, or use --start auto"):
        names(word, clock="insn", start="warm")


@pytest.mark.parametrize(
    ("more", "left"), [("disks: [{image: d.img, format: qcow2}]", True), ("disks: [{image: d.img}]", False)]
)
def test_auto_leaves_a_system_cold_whose_disks_are_in_no_snapshot(here: Path, more: str, left: bool) -> None:
    text = PROMPTED.replace("kernel: k.elf", f"kernel: k.elf, {more}")
    (here / "mine.yaml").write_text(text)
    (result,) = names("./mine.yaml", clock="insn", start="auto")
    assert result == ("mine" if left else "mine.start-warm")


def test_cold_and_warm_stand_side_by_side_and_each_once() -> None:
    assert names("linux", "linux:start=warm", clock="insn") == ["linux", "linux.start-warm"]
    for again in (("linux", "linux:start=cold"), ("linux:start=warm", "linux:start=warm")):
        with pytest.raises(UsageError, match="names the same system twice"):
            names(*again, clock="insn")
    options = Options(systems=("linux",), clock="insn")
    (own,) = choice.of_session(options)
    assert choice.other("linux:start=cold", options) is own
    assert choice.other("linux:start=warm", options).name == "linux.start-warm"


def test_the_option_is_also_for_the_systems_of_marks_and_those_to_compare_with() -> None:
    options = Options(systems=("linux",), clock="insn", start="warm")
    assert choice.other("linux:kernel=other", options).name == "linux.kernel-other.start-warm"
    request = MarkRequest("primes", {}, (), ("linux", "linux:kernel=other", "linux:start=cold"))
    assert [system.name for system in choice.systems_of(request, options)] == [
        "linux.start-warm", "linux.kernel-other.start-warm", "linux",
    ]  # fmt: skip
