"""Guest programs and archives: built once per set of inputs; errors name the command and the log."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from pathlib import Path

import pytest

from benchgate.base.cells import Mode
from benchgate.base.errors import BuildError
from benchgate.base.workload.workloads import Workload
from benchgate.build import cache_trim, programs, toolchain
from tests.machines import wait_until

SMALL = """
#include "bench.h"
static const char *const none[] = {0};
static const char *prepare(struct bench_job *job) { (void)job; return 0; }
static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)worker, (void)slot;
}
static unsigned result(struct bench_job *job, struct bench_field *fields) {
    (void)job, (void)fields; return 0;
}
const struct bench_workload bench_workload = {
    .name = "small", .mode = BENCH_PROCESS, .param_names = none, .task_names = none, .value_names = none,
    .prepare = prepare, .work = work, .result = result};
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("BENCHGATE_CACHE", str(folder))
    return folder


def workload(folder: Path, text: str = SMALL) -> Workload:
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "small.c"
    source.write_text(text)
    return Workload("small", Mode.PROCESS, folder / "small.yaml", source, folder / "oracle.py", {})


class TestGuestProgram:
    def test_a_users_source_becomes_a_static_program(self, tmp_path: Path) -> None:
        program = programs.guest_program(workload(tmp_path / "my own"))
        assert program.read_bytes()[:4] == b"\x7fELF"
        assert os.access(program, os.X_OK)
        dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True)
        assert "NEEDED" not in dynamic.stdout
        assert sorted(path.name for path in program.parent.iterdir()) == ["bench"]

    def test_the_second_call_builds_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        first = programs.guest_program(workload(tmp_path / "a"))
        monkeypatch.setattr(toolchain, "run_all", None)
        assert programs.guest_program(workload(tmp_path / "b")) == first

    def test_equal_sources_in_different_folders_give_equal_bytes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = programs.guest_program(workload(tmp_path / "a")).read_bytes()
        monkeypatch.setenv("BENCHGATE_CACHE", str(tmp_path / "other" / "cache"))
        assert programs.guest_program(workload(tmp_path / "else" / "where")).read_bytes() == first

    def test_another_source_is_another_program(self, tmp_path: Path) -> None:
        first = programs.guest_program(workload(tmp_path / "a"))
        assert programs.guest_program(workload(tmp_path / "a", SMALL + "\n// more\n")) != first

    def test_a_header_beside_the_source_is_an_input(self, tmp_path: Path) -> None:
        with_header = '#include "part.h"\n' + SMALL
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "part.h").write_text("#define ANSWER 1\n")
        first = programs.guest_program(workload(tmp_path / "a", with_header))
        (tmp_path / "a" / "part.h").write_text("#define ANSWER 2\n")
        assert programs.guest_program(workload(tmp_path / "a", with_header)) != first

    def test_an_error_shows_the_compilers_first_lines_and_the_log(self, tmp_path: Path, root: Path) -> None:
        with pytest.raises(BuildError) as caught:
            programs.guest_program(
                workload(tmp_path / "a", SMALL.replace("return 0; }", "return oops; }", 1))
            )
        message = str(caught.value)
        assert message.startswith("building small: `")
        assert "oops" in message
        log = re.search(r"\(complete log: (.*)\)", message)
        assert log
        assert "oops" in Path(log[1]).read_text()
        assert list((root / "guest").iterdir()) == []

    def test_a_warning_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(BuildError, match="unused"):
            programs.guest_program(workload(tmp_path / "a", SMALL + "static int unused;\n"))

    def test_a_missing_source_is_reported(self, tmp_path: Path) -> None:
        missing = Workload("small", Mode.PROCESS, tmp_path, tmp_path / "none.c", tmp_path / "oracle.py", {})
        with pytest.raises(BuildError, match=r"there is no source file .*none\.c"):
            programs.guest_program(missing)


def test_a_compiled_file_is_kept_until_an_input_or_a_flag_changes(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text('#include "a.h"\nint a = A;\n')
    (tmp_path / "a.h").write_text("#define A 1\n")

    def made(*flags: str) -> Path:
        return programs.compiled("small", "a.o", tmp_path, ["a.c", "a.h"], ["-c", *flags])

    first = made()
    assert first.read_bytes()[:4] == b"\x7fELF"
    assert made() == first
    assert made("-O2") != first
    (tmp_path / "a.h").write_text("#define A 2\n")
    assert made() != first


class TestCompiler:
    def test_without_a_compiler_the_error_names_the_packages(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("CC", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(BuildError, match=r"no C compiler \(cc, gcc, clang\) is on PATH; .*install"):
            toolchain.compiler()

    def test_a_missing_compiler_in_cc_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CC", "no-such-cc -m64")
        with pytest.raises(BuildError, match="CC names `no-such-cc -m64`"):
            toolchain.compiler()

    def test_an_unclosed_quote_in_cc_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CC", "gcc 'x")
        with pytest.raises(BuildError, match="CC is `gcc 'x`, which cannot be parsed: No closing quotation"):
            toolchain.compiler()

    def test_without_a_static_library_the_error_names_the_packages(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake = tmp_path / "cc"
        fake.write_text("#!/bin/sh\necho libc.a\n")  # what gcc prints if it does not find the file
        fake.chmod(0o755)
        monkeypatch.setenv("CC", str(fake))
        with pytest.raises(BuildError, match=r"no static C library \(libc\.a\); .*install"):
            toolchain.compiler()

    def test_flags_in_cc_are_part_of_the_identity(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CC", raising=False)
        plain = toolchain.compiler()
        monkeypatch.setenv("CC", "cc -O1")
        assert toolchain.compiler().argv[1:] == ("-O1",)
        assert toolchain.compiler().identity != plain.identity


def parse_newc(archive: bytes) -> list[tuple[str, int, tuple[int, int], bytes, int]]:
    """An independent reader: name, mode, device, content and time, in the archive's order."""
    result: list[tuple[str, int, tuple[int, int], bytes, int]] = []
    at = 0
    while True:
        head = archive[at : at + 110]
        assert head[:6] == b"070701"
        numbers = [int(head[i : i + 8], 16) for i in range(6, 110, 8)]
        name = archive[at + 110 : at + 110 + numbers[11] - 1].decode()
        begin = at + (110 + numbers[11] + 3) // 4 * 4
        if name == "TRAILER!!!":
            return result
        content = archive[begin : begin + numbers[6]]
        result.append((name, numbers[1], (numbers[9], numbers[10]), content, numbers[5]))
        at = begin + (numbers[6] + 3) // 4 * 4


class TestInitramfs:
    def test_the_archive_contains_init_bench_and_the_console(self) -> None:
        read = parse_newc(programs.initramfs({"init": b"\x7fELF1", "bench": b"\x7fELF2345"}))
        assert read == [
            ("dev", 0o040755, (0, 0), b"", 0),
            ("dev/console", 0o020600, (5, 1), b"", 0),
            ("bench", 0o100755, (0, 0), b"\x7fELF2345", 0),
            ("init", 0o100755, (0, 0), b"\x7fELF1", 0),
        ]

    def test_the_order_of_the_programs_does_not_matter(self) -> None:
        assert programs.initramfs({"a": b"1", "b": b"2"}) == programs.initramfs({"b": b"2", "a": b"1"})

    def test_the_archive_of_a_program_is_kept(self, tmp_path: Path) -> None:
        program = tmp_path / "bench"
        program.write_bytes(b"\x7fELF program")
        archive = programs.linux_initramfs(program)
        contents = {name: content for name, _, _, content, _ in parse_newc(archive.read_bytes())}
        assert contents["bench"] == b"\x7fELF program"
        # e_type of the ELF header: 2 is an executable
        assert struct.unpack_from("<H", contents["init"], 16) == (2,)
        assert programs.linux_initramfs(program) == archive


class TestRunBuild:
    def kernel(self, folder: Path) -> Path:
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "main.c").write_text("int x;\n")
        return folder

    def test_out_is_the_returned_folder(self, tmp_path: Path) -> None:
        folder = self.kernel(tmp_path / "a kernel")
        made = programs.run_build([["cp", "src/main.c", "{out}/kernel.elf"]], folder, [folder], name="mine")
        assert (made / "kernel.elf").read_text() == "int x;\n"

    def test_a_build_runs_again_only_if_sources_or_commands_change(self, tmp_path: Path) -> None:
        folder = self.kernel(tmp_path / "kernel")
        commands = [
            ["sh", "-c", f'echo ran >> "{tmp_path}/log"; cp src/main.c "$1"', "-", "{out}/kernel.elf"]
        ]

        def ran() -> int:
            programs.run_build(commands, folder, [folder / "src"], name="mine")
            return (tmp_path / "log").read_text().count("ran")

        assert (ran(), ran()) == (1, 1)
        (folder / "README").write_text("not a source")
        assert ran() == 1
        (folder / "src" / "main.c").write_text("int y;\n")
        assert ran() == 2

    def test_the_programs_of_a_mix_are_built_first_into_one_folder(self, tmp_path: Path) -> None:
        folder = self.kernel(tmp_path / "kernel")
        parts = []
        for name in ("a", "b"):
            (tmp_path / f"{name}.c").write_text(f"int {name};\n")
            parts.append(Workload(name, Mode.THREAD, tmp_path / name, tmp_path / f"{name}.c", Path(), {}))
        build, part = (
            [["sh", "-c", "cat {out}/*.o > {out}/kernel.elf"]],
            [["cp", "{source}", "{out}/{workload}.o"]],
        )

        def made() -> Path:
            return programs.run_build(build, folder, [folder], name="mine", parts=parts, part=part)

        first = made()
        assert (first / "kernel.elf").read_text() == "int a;\nint b;\n"
        assert made() == first
        (tmp_path / "b.c").write_text("int c;\n")
        assert (made() / "kernel.elf").read_text() == "int a;\nint c;\n"

    def test_a_failed_command_is_reported_and_leaves_no_folder(self, tmp_path: Path, root: Path) -> None:
        folder = self.kernel(tmp_path / "kernel")
        commands = [["sh", "-c", "echo half > $0/kernel.elf; printf 'ld: bad \\033[31m\\n'; exit 3", "{out}"]]
        with pytest.raises(BuildError, match=r"`sh` failed with status 3:\n  ld: bad \\x1b\[31m\n"):
            programs.run_build(commands, folder, [folder], name="mine")
        assert list((root / "system").iterdir()) == []

    def test_a_missing_command_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/usr/bin:/bin")  # an unsearchable folder would give EACCES
        folder = self.kernel(tmp_path / "kernel")
        with pytest.raises(BuildError, match="cannot execute no-such-make: No such file"):
            programs.run_build([["no-such-make"]], folder, [folder], name="mine")

    def test_a_build_that_writes_nothing_is_refused(self, tmp_path: Path) -> None:
        folder = self.kernel(tmp_path / "kernel")
        with pytest.raises(BuildError, match=r"wrote nothing into \{out\}"):
            programs.run_build([["true"]], folder, [folder], name="mine")

    def test_a_missing_source_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(BuildError, match=r"there is no source .*nowhere"):
            programs.run_build([["true"]], tmp_path, [tmp_path / "nowhere"], name="mine")

    def test_a_fifo_among_the_sources_is_reported(self, tmp_path: Path) -> None:
        folder = tmp_path / "src"
        folder.mkdir()
        os.mkfifo(folder / "pipe")
        with pytest.raises(BuildError, match=r"source .*/src/pipe cannot be read: it is not a regular file"):
            programs.run_build([["true"]], folder, [folder], name="mine")

    def test_a_build_that_hangs_is_killed_with_all_its_processes(self, tmp_path: Path) -> None:
        folder = self.kernel(tmp_path / "kernel")
        script = 'sleep 6000 & echo $! >"$0"; wait'
        command = ["/bin/sh", "-c", script, str(tmp_path / "pid")]
        with pytest.raises(BuildError, match="did not end within 1 s"):
            programs.run_build([command], folder, [folder], name="mine", timeout_s=1.0)
        child = Path("/proc", (tmp_path / "pid").read_text().strip(), "cmdline")
        # Its new parent needs a moment to reap it.
        assert wait_until(lambda: not child.exists() or not child.read_bytes())

    def test_settings_of_an_outer_make_are_removed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MAKEFLAGS", "-n")
        folder = self.kernel(tmp_path / "kernel")
        made = programs.run_build(
            [["sh", "-c", 'echo "x$MAKEFLAGS" > "$0/env"', "{out}"]], folder, [folder], name="mine"
        )
        assert (made / "env").read_text() == "x\n"


def test_one_log_of_a_failed_build_is_kept_per_name(tmp_path: Path, root: Path) -> None:
    for _ in range(3):
        with pytest.raises(BuildError):
            programs.run_build([["false"]], tmp_path, [], name="mine")
    assert [path.name for path in (root / "logs").iterdir()] == ["build-mine.log"]
    assert cache_trim.listing() == ()


# ---- sources that only some workloads need


def test_only_the_program_of_a_workload_that_needs_a_service_has_its_sources() -> None:
    """A changed byte of a program changes the figures of its guest."""
    recipe = programs.Recipe(
        sources=(("a.c", ("-O2",)),),
        link=("-static",),
        services={"disk": (("disk.c", ("-O1",)),), "network": (("network.c", ("-O1",)),)},
    )
    assert recipe.serving(()) == recipe
    assert recipe.serving(("park", "files")) == recipe
    on_disk = recipe.serving(("files", "disk"))
    assert on_disk.sources == (
        ("a.c", ("-O2", "-DBENCH_NEEDS_DISK")),
        ("disk.c", ("-O1", "-DBENCH_NEEDS_DISK")),
    )
    flags = ("-DBENCH_NEEDS_DISK", "-DBENCH_NEEDS_NETWORK")
    assert recipe.serving(("network", "disk")).sources[-1] == ("network.c", ("-O1", *flags))


def test_pid_1_with_settings_or_a_scheduler_is_another_program_of_the_same_source() -> None:
    plain, other = programs.init(), programs.init(first=programs.TUNED_INIT)
    assert b"sched_ext" in other.read_bytes()
    assert b"sched_ext" not in plain.read_bytes()
