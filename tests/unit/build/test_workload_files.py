"""Existing programs: the runner executes them and reports what they did; the archive has their files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchgate.base.cells import Mode
from benchgate.base.errors import BuildError
from benchgate.base.system.boots import BootDefinition
from benchgate.base.workload.workloads import ParamSpec, Tool, Workload
from benchgate.build import programs, workload_files
from benchgate.build.fetch.tool import LOADER, ToolFiles
from benchgate.judge import wire
from benchgate.judge.wire import Transcript
from benchgate.plan import catalog
from tests.unit.build.test_programs import parse_newc

LOADER_SCRIPT = '#!/bin/sh\n[ "$1 $2 $3" = "--argv0 prog --library-path" ] || exit 99\nshift 4\nexec "$@"\n'
"""Stands for the C library's loader."""


@pytest.fixture(autouse=True)
def root(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for the file, because the runner of each command is compiled."""
    folder = tmp_path_factory.getbasetemp() / "tool-runners"
    monkeypatch.setenv("BENCHGATE_CACHE", str(folder))


def workload(*arguments: str, files: tuple[str, ...] = ()) -> Workload:
    params = {"loops": ParamSpec("loops", 3), "word": ParamSpec("word", "x")}
    tool = Tool("pkg", "prog", arguments)
    return Workload("own", Mode.PROCESS, Path("own.yaml"), Path(), Path(), params, tool=tool, files=files)


def files(folder: Path, program: str) -> ToolFiles:
    """A package whose program is a shell script."""
    for place, text in (("lib/" + LOADER, LOADER_SCRIPT), ("bin/prog", f"#!/bin/sh\n{program}\n")):
        path = folder / place
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        path.chmod(0o755)
    return ToolFiles(folder, ())


def start(folder: Path, program: str, *arguments: str, word: str = "x") -> subprocess.CompletedProcess[bytes]:
    return execute(files(folder, program), *arguments, word=word)


def execute(tool_files: ToolFiles, *arguments: str, word: str = "x") -> subprocess.CompletedProcess[bytes]:
    words = f"workload=own mode=process workers=2 cpus=2 nonce=n loops=3 word={word}".split()
    return subprocess.run(
        [workload_files.tool_runner(workload(*arguments)), *(f"bench.{text}" for text in words)],
        env={"BENCHGATE_TOOL": str(tool_files.folder), "TMPDIR": str(tool_files.folder)},
        capture_output=True,
        timeout=60,
        check=False,
    )


def run(folder: Path, program: str, *arguments: str, word: str = "x") -> Transcript:
    done = start(folder, program, *arguments, word=word)
    assert done.returncode == 0, done.stdout
    return wire.parse(done.stdout, nonce="n")


def test_a_program_runs_between_the_marks_in_one_worker(tmp_path: Path) -> None:
    said = run(tmp_path, 'echo "$@"; echo oops >&2', "-l", "{loops}", "--cpus={cpus}/{word}", "a b")
    assert said.output == b"-l 3 --cpus=2/x a b\noops\n"
    (worker,) = said.reports
    assert dict(worker.values) == {"exit": 0, "left": 0}
    assert said.total_start <= worker.start < worker.end <= said.total_end
    assert dict(said.result) == {"printed": 25}


def test_any_byte_crosses_the_wire(tmp_path: Path) -> None:
    octal = "".join(f"\\{byte:03o}" for byte in range(256))
    said = run(tmp_path, f"printf '{octal}'; yes '@bench panic: ' | head -n 300; echo Kernel panic")
    assert said.output == bytes(range(256)) + b"@bench panic: \n" * 300 + b"Kernel panic\n"


@pytest.mark.parametrize(("program", "status"), [("exit 7", 7), ("kill -SEGV $$", 128 + 11)])
def test_the_exit_status_and_a_signal_are_reported(tmp_path: Path, program: str, status: int) -> None:
    assert run(tmp_path, program).reports[0].values["exit"] == status


def test_a_program_that_does_not_exist_says_so(tmp_path: Path) -> None:
    tool_files = files(tmp_path, "")
    (tool_files.folder / "lib" / LOADER).unlink()
    done = execute(tool_files)
    said = wire.parse(done.stdout, nonce="n")
    assert said.reports[0].values["exit"] == 127
    assert b"cannot be run: No such file or directory" in said.output


def test_a_process_that_goes_on_is_reported_and_ends_with_the_run(tmp_path: Path) -> None:
    said = run(tmp_path, "(sleep 1000 & echo $!) & sleep 1000 & echo $!")
    assert said.reports[0].values["left"] == 1
    assert [pid for pid in said.output.decode().split() if Path("/proc", pid).exists()] == []


def test_a_process_that_is_about_to_end_is_waited_for(tmp_path: Path) -> None:
    assert run(tmp_path, "sleep 0.01 & exit 0").reports[0].values == {"exit": 0, "left": 0}


def test_too_much_output_ends_the_run(tmp_path: Path) -> None:
    assert len(run(tmp_path, "head -c 65536 /dev/zero | tr '\\0' x").output) == 65536
    done = start(tmp_path, "head -c 65537 /dev/zero | tr '\\0' x")
    assert done.returncode == 1
    assert b"benchfail: the program printed more than 65536 bytes" in done.stdout


def test_it_runs_in_its_own_folder_with_few_variables(tmp_path: Path) -> None:
    said = run(tmp_path, "pwd; exec env")
    folder, *variables = said.output.decode().splitlines()
    assert folder == str(tmp_path)
    assert {"LC_ALL=C", f"TMPDIR={tmp_path}"} <= set(variables)
    assert not any(variable.startswith("BENCHGATE") for variable in variables)


def test_it_may_use_all_cpus_of_the_run(tmp_path: Path) -> None:
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    said = run(tmp_path, "grep Cpus_allowed_list /proc/self/status")
    assert said.output.decode().split()[1].replace("-", ",").split(",")[0] == cpus.split(",")[0]


def test_the_description_is_c_whatever_the_yaml_says(tmp_path: Path) -> None:
    trap = 'a"; int x = 1; // \\ ??/ %s \u00e4\x07'
    assert run(tmp_path, 'printf %s "$1"', trap).output == trap.encode()


def test_a_name_that_the_manifest_lacks_is_refused(tmp_path: Path) -> None:
    done = start(tmp_path, "true", "{missing}")
    assert b"benchfail: the program's command is too long, or has a {name}" in done.stdout
    assert done.returncode == 1


def test_a_command_that_becomes_too_long_is_refused(tmp_path: Path) -> None:
    done = start(tmp_path, "true", *["{word}" * 4] * 40, word="y" * 64)
    assert b"benchfail: the program's command is too long" in done.stdout


def test_the_archive_has_the_runner_and_what_the_program_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToolFiles, "needed", lambda *_: ("bin/prog", f"lib/{LOADER}"))
    archive = workload_files.tool_initramfs(
        workload(), files(tmp_path, "echo unlike anything else")
    ).read_bytes()
    names = [(name, mode) for name, mode, *_ in parse_newc(archive)]
    assert names[2:5] == [("tool", 0o040755), ("tool/bin", 0o040755), ("tool/lib", 0o040755)]
    assert dict(names[5:]).keys() >= {"bench", "init", "tool/bin/prog", f"tool/lib/{LOADER}"}
    assert b"echo unlike anything else" in archive


DLOPEN = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **word) {
    void *plug = dlopen("libplug.so", RTLD_NOW);
    int (*answer)(void) = plug ? (int (*)(void))dlsym(plug, "answer") : NULL;
    FILE *data = fopen(word[count - 1], "re");
    char text[16] = "";
    if (answer == NULL || data == NULL || fgets(text, sizeof text, data) == NULL)
        return 1;
    printf("%d %s\n", answer(), text);
    return 0;
}
"""


def test_a_program_opens_a_library_and_data_of_the_workload(tmp_path: Path) -> None:
    """The library is linked with the C library of this host, as a package's would be."""
    tool_files, plug = files(tmp_path / "tool", ""), tmp_path / "files"
    plug.mkdir()
    (plug / "words.txt").write_text("hello")
    for name, text, more in (
        ("prog", DLOPEN, ["-o", str(tool_files.folder / "bin" / "prog"), "-ldl"]),
        ("plug", "int answer(void) { return 42; }", ["-shared", "-fPIC", "-o", str(plug / "libplug.so")]),
    ):
        source = tmp_path / f"{name}.c"
        source.write_text(text)
        subprocess.run(["gcc", str(source), *more], check=True)
    for name in (LOADER, "libc.so.6", "libdl.so.2"):
        path = next(
            one for one in (Path("/lib64", name), Path("/lib/x86_64-linux-gnu", name)) if one.exists()
        )
        (tool_files.folder / "lib" / name).unlink(missing_ok=True)
        (tool_files.folder / "lib" / name).symlink_to(path)
    runner = workload_files.tool_runner(workload("{files}/words.txt", files=("libplug.so", "words.txt")))
    words = ["workload=own", "mode=process", "workers=1", "cpus=1", "nonce=n", "loops=3", "word=x"]
    done = subprocess.run(
        [runner, *(f"bench.{word}" for word in [*words, f"files={plug}"])],
        env={"BENCHGATE_TOOL": str(tool_files.folder), "TMPDIR": str(tmp_path)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert wire.parse(done.stdout, nonce="n").output == b"42 hello\n", done


def test_another_file_is_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToolFiles, "needed", lambda *_: ("bin/prog", f"lib/{LOADER}"))
    made = {workload_files.tool_initramfs(workload(), files(tmp_path, f"echo {n}")) for n in range(2)}
    assert len(made) == 2
    digests = [workload_files.tool_digest(workload(), files(tmp_path, f"echo {n}")) for n in range(2)]
    assert [set(digest) for digest in digests] == [{"tool:bin/prog", f"tool:lib/{LOADER}"}] * 2
    assert digests[0] != digests[1]


def test_a_scheduler_has_its_loader_and_libraries_beside_it(tmp_path: Path) -> None:
    paths = workload_files.scheduler_for_guest("/bin/sh -c exit")
    assert paths["scx/sh"] == Path("/bin/sh")
    assert paths["scx/command"].read_text().split("\n") == [
        *(f"/scx/lib/{LOADER}", "--library-path", "/scx/lib", "/scx/sh", "-c", "exit"),
        "",
    ]
    libraries = {name.removeprefix("scx/lib/"): path for name, path in paths.items() if "/lib/" in name}
    assert {LOADER, "libc.so.6"} <= libraries.keys()
    for place, path in libraries.items():
        (tmp_path / place).write_bytes(path.read_bytes())
    (tmp_path / LOADER).chmod(0o755)
    words = [str(tmp_path / LOADER), "--library-path", str(tmp_path), "/bin/sh", "-c", "exit 7"]
    assert subprocess.run(words, check=False, env={}).returncode == 7


def test_a_static_scheduler_needs_none() -> None:
    program = programs.init()
    paths = workload_files.scheduler_for_guest(str(program))
    assert paths.keys() == {"scx/init", "scx/command"}
    assert paths["scx/command"].read_text() == "/scx/init\n"


def test_no_scheduler_and_no_settings_add_no_file() -> None:
    assert workload_files.tuning_for_guest(BootDefinition()) == {}


def test_paths_of_a_scheduler_may_have_spaces(tmp_path: Path) -> None:
    """Its own, which is quoted then, and those of its libraries."""
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "a.c").write_text("int there(void) { return 0; }\n")
    (folder / "b.c").write_text("int there(void);\nint main(void) { return there(); }\n")
    for words in (
        ("-shared", "-fPIC", "-o", "libthere.so", "a.c"),
        ("-o", "scx b", "b.c", "-L.", "-lthere", f"-Wl,-rpath,{folder}"),
    ):
        subprocess.run(["cc", *words], cwd=folder, check=True)
    paths = workload_files.scheduler_for_guest(f'"{folder}/scx b" -s 5')
    assert (paths["scx/scx b"], paths["scx/lib/libthere.so"]) == (folder / "scx b", folder / "libthere.so")
    assert paths["scx/command"].read_text().split("\n")[-4:] == ["/scx/scx b", "-s", "5", ""]


def test_the_settings_of_a_guest_are_a_list_of_files() -> None:
    boot = catalog.load_system("linux:preempt=full:sysctl=kernel.printk=4 4 1 7").boot
    assert workload_files.tuning_for_guest(boot)["settings"].read_text() == (
        "preempt /sys/kernel/debug/sched/preempt\nsysctl /proc/sys/kernel/printk 4 4 1 7\n"
    )


def test_the_folder_of_a_scheduler_is_nowhere_in_the_guest(tmp_path: Path) -> None:
    """Else the digits of a row would depend on it."""
    packed = []
    for folder in (tmp_path / "a", tmp_path / "a longer one"):
        folder.mkdir()
        shutil.copy("/bin/sh", folder / "scx_mine")
        paths = workload_files.scheduler_for_guest(f'"{folder}/scx_mine" -s 5')
        packed.append({name: path.read_bytes() for name, path in paths.items()})
    assert packed[0] == packed[1]
    assert str(tmp_path).encode() not in packed[0]["scx/command"]


@pytest.fixture
def in_bpf(tmp_path: Path) -> Path:
    content = bytearray(Path("/bin/sh").read_bytes())
    content[18:20] = (247).to_bytes(2, "little")
    result = tmp_path / "mine.bpf.o"
    result.write_bytes(content)
    return result


def test_an_object_in_bpf_comes_with_the_program_that_loads_it(in_bpf: Path) -> None:
    paths = workload_files.scheduler_for_guest(str(in_bpf), Path("/bin/sh"))
    assert (paths["scx/sh"], paths["scx/mine.bpf.o"]) == (Path("/bin/sh"), in_bpf)
    assert paths["scx/command"].read_text().split("\n")[-3:] == ["/scx/sh", "/scx/mine.bpf.o", ""]
    assert "scx/lib/libc.so.6" in paths


def test_an_object_in_bpf_is_refused_where_nothing_loads_it(in_bpf: Path) -> None:
    with pytest.raises(BuildError, match=r"mine.bpf.o is an object in BPF, and only a kernel that is built"):
        workload_files.scheduler_for_guest(str(in_bpf))
    with pytest.raises(BuildError, match=r"mine.bpf.o is an object .* takes no arguments \(-s 5\): set its"):
        workload_files.scheduler_for_guest(f"{in_bpf} -s 5", Path("/bin/sh"))


def test_a_scheduler_that_cannot_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "scx.py"
    script.write_text("#!/usr/bin/python3\n")
    with pytest.raises(BuildError, match=r"scx.py is no program that can run in a guest: give an ELF file"):
        workload_files.scheduler_for_guest(str(script))
    monkeypatch.setattr(workload_files, "_LOADERS", ("/lib64/none.so",))
    with pytest.raises(
        BuildError, match=r"/bin/sh needs shared libraries, and this host has no /lib64/none.so"
    ):
        workload_files.scheduler_for_guest("/bin/sh")


def test_a_library_that_this_host_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int there(void) { return 0; }\n")
    (tmp_path / "b.c").write_text("int there(void);\nint main(void) { return there(); }\n")
    for words in (("-shared", "-o", "libthere.so", "a.c"), ("-o", "scx_b", "b.c", "-L.", "-lthere")):
        subprocess.run(["cc", *words], cwd=tmp_path, check=True)
    with pytest.raises(BuildError, match=r"scx_b cannot run here, so not in a guest either: .*libthere.so"):
        workload_files.scheduler_for_guest(str(tmp_path / "scx_b"))
