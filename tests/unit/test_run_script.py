"""./run on machines that lack something: fake PATH folders stand for them. Nothing here uses the network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = (
    "cat",
    "dirname",
    "env",
    "flock",
    "grep",
    "mkdir",
    "mv",
    "printf",
    "readlink",
    "rm",
    "sed",
    "sh",
    "sha256sum",
    "sleep",
)

PYTHON = """\
#!/bin/sh
# A stand-in: answers what ./run asks of a Python, and makes an environment of stand-ins.
echo "${{0##*/}} $*" >>"$LOG"
case "$*" in
*'sys.prefix'*) echo "(3, 11) $0" ;;
*'version_info'*) exit {old} ;;
*ensurepip*) exit {no_venv} ;;
'-m venv '*)
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
*'pip '*' -e '*)
    for name in pytest nox benchgate; do
        to="${{0%/*}}/$name"
        printf '#!/bin/sh\\n{{ printf %s; printf " <%%s>" "$@"; echo; }} >>"$LOG"\\n' "$name" >"$to"
        chmod +x "$to"
    done ;;
*'pip '*) exit ${{PIP_FAILS:-0}} ;;
esac
"""
COMPILER = '#!/bin/sh\ncase "$*" in *print-file-name*) echo "{library}" ;; esac\n'


@dataclass
class Machine:
    """A checkout and a PATH of one folder."""

    checkout: Path
    bin: Path
    log: Path

    def tool(self, name: str, text: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def python(self, name: str = "python3", *, old: bool = False, no_venv: bool = False) -> None:
        self.tool(name, PYTHON.format(old=int(old), no_venv=int(no_venv)))

    def compiler(self) -> None:
        library = self.bin / "libc.a"
        library.touch()
        self.tool("cc", COMPILER.format(library=library))

    def run(
        self,
        *words: str,
        cwd: Path | None = None,
        more: Mapping[str, str] | None = None,
        script: Path | None = None,
    ) -> tuple[int, str]:
        done = subprocess.run(
            [str(script or self.checkout / "run"), *words],
            cwd=cwd or self.checkout,
            env={"PATH": str(self.bin), "LOG": str(self.log), "HOME": str(self.bin), **(more or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def calls(self, word: str) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if word in line]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Complete: everything that ./run needs is there."""
    checkout, binaries = tmp_path / "a check out", tmp_path / "bin"
    checkout.mkdir()
    binaries.mkdir()
    for name in ("run", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, checkout / name)
    for name in (*TOOLS, "cp", "chmod"):
        found = shutil.which(name)
        assert found, f"this machine has no {name}"
        (binaries / name).symlink_to(found)
    made = Machine(checkout, binaries, tmp_path / "log")
    made.tool("uname", '#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo x86_64\n')
    made.tool("id", "#!/bin/sh\necho 1000\n")
    made.tool("make", "#!/bin/sh\n")
    made.python()
    made.compiler()
    return made


class TestMachine:
    @pytest.mark.parametrize(
        ("uname", "said"),
        [
            ("echo Darwin", "benchgate needs Linux, this is Darwin."),
            (
                '[ "$1" = -s ] && echo Linux || echo aarch64',
                "benchgate needs an x86_64 processor, this is aarch64.",
            ),
        ],
    )
    def test_another_system_or_processor_is_one_sentence(
        self, machine: Machine, uname: str, said: str
    ) -> None:
        machine.tool("uname", f"#!/bin/sh\n{uname}\n")
        assert machine.run("gate") == (4, f"run: {said}\n")
        assert not (machine.checkout / ".venv").exists()


class TestHostPackages:
    def apt(self, machine: Machine, effect: str = "") -> None:
        machine.tool("apt-get", f'#!/bin/sh\necho "apt-get $*" >>"$LOG"\n{effect}\n')

    @pytest.mark.parametrize(
        ("lacking", "packages"),
        [
            (("python3",), "python3 python3-venv"),
            (("cc",), "gcc libc6-dev"),
            (("make",), "make"),
            (("python3", "cc", "make"), "python3 python3-venv gcc libc6-dev make"),
        ],
    )
    def test_an_ordinary_user_gets_the_exact_command(
        self, machine: Machine, lacking: tuple[str, ...], packages: str
    ) -> None:
        self.apt(machine)
        for name in lacking:
            (machine.bin / name).unlink()
        status, said = machine.run("setup")
        assert status == 4
        assert f"    apt-get update && apt-get install -y --no-install-recommends {packages}\n" in said
        assert machine.calls("apt-get") == []
        assert not (machine.checkout / ".venv").exists()

    def test_a_python_without_venv_needs_its_package(self, machine: Machine) -> None:
        self.apt(machine)
        machine.python(no_venv=True)
        status, said = machine.run("setup")
        assert (status, "--no-install-recommends python3 python3-venv\n" in said) == (4, True)

    def test_another_python_without_venv_needs_its_own_package(self, machine: Machine) -> None:
        self.apt(machine)
        machine.python(old=True)
        machine.python("python3.12", no_venv=True)
        status, said = machine.run("setup")
        assert (status, "--no-install-recommends python3.12-venv\n" in said) == (4, True)

    def test_a_compiler_without_static_library_is_none(self, machine: Machine) -> None:
        self.apt(machine)
        (machine.bin / "libc.a").unlink()
        status, said = machine.run("setup")
        assert (status, "--no-install-recommends gcc libc6-dev\n" in said) == (4, True)

    def test_root_gets_them_installed(self, machine: Machine) -> None:
        machine.tool("id", "#!/bin/sh\necho 0\n")
        (machine.bin / "make").unlink()
        self.apt(
            machine,
            f'case "$*" in *install*make) : >"{machine.bin}/make"; chmod +x "{machine.bin}/make" ;; esac',
        )
        status, said = machine.run("setup")
        assert status == 0, said
        update, install = machine.calls("apt-get")
        assert update.endswith("update")
        assert install.endswith(" make")

    def test_root_where_apt_fails_is_told(self, machine: Machine) -> None:
        machine.tool("id", "#!/bin/sh\necho 0\n")
        (machine.bin / "make").unlink()
        self.apt(machine, "echo 'E: no network' >&2; exit 100")
        status, said = machine.run("setup")
        assert (status, "E: no network" in said, "apt-get failed" in said) == (4, True, True)

    def test_an_installation_that_does_not_help_is_told(self, machine: Machine) -> None:
        machine.tool("id", "#!/bin/sh\necho 0\n")
        machine.python(old=True)
        self.apt(machine)
        status, said = machine.run("setup")
        assert status == 4
        assert "still missing after the installation: python3 python3-venv" in said
        assert "put a newer python3 on PATH" in said

    def test_another_distribution_is_told_what_to_install(self, machine: Machine) -> None:
        (machine.bin / "cc").unlink()
        status, said = machine.run("setup")
        assert status == 4
        for word in ("no apt-get", "Python 3.11 to 3.14 with venv", "C compiler", "make", "QEMU"):
            assert word in said

    def test_the_first_python_that_fits_is_taken(self, machine: Machine) -> None:
        machine.python(old=True)
        machine.python("python3.13", no_venv=True)
        machine.python("python3.11")
        status, said = machine.run("setup")
        assert status == 0, said
        (made,) = machine.calls("-m venv")
        assert made.startswith("python3.11 ")


class TestEnvironment:
    def test_set_up_leaves_the_three_programs_and_fetches(self, machine: Machine) -> None:
        status, said = machine.run("setup")
        assert status == 0, said
        for name in ("pytest", "nox", "benchgate"):
            assert os.access(machine.checkout / ".venv" / "bin" / name, os.X_OK)
        assert machine.calls("-m benchgate.fetch setup")
        (locked, own) = machine.calls("pip --disable")
        assert "--require-hashes" in locked
        assert "--no-index --no-deps --no-build-isolation -e" in own

    def test_a_second_call_does_no_set_up_work(self, machine: Machine) -> None:
        machine.run("setup")
        machine.log.unlink()
        status, said = machine.run("setup")
        assert (status, said) == (0, "")
        assert machine.calls("pip") == machine.calls("venv ") == []

    @pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
    def test_a_changed_lock_or_project_updates_it(self, machine: Machine, name: str) -> None:
        machine.run("setup")
        machine.log.unlink()
        with (machine.checkout / name).open("a") as stream:
            stream.write("# changed\n")
        assert machine.run("setup")[0] == 0
        assert machine.calls("--require-hashes")
        assert machine.calls("-m venv") == []

    def test_an_interrupted_set_up_is_made_again(self, machine: Machine) -> None:
        status, said = machine.run("setup", more={"PIP_FAILS": "1"})
        assert (status, "pip failed" in said) == (4, True)
        half = machine.checkout / ".venv" / "half"
        half.touch()
        status, said = machine.run("setup")
        assert status == 0, said
        assert not half.exists()

    def test_a_moved_checkout_is_made_again(self, machine: Machine) -> None:
        machine.run("setup")
        machine.log.unlink()
        machine.checkout = machine.checkout.rename(machine.checkout.with_name("moved"))
        assert machine.run("setup")[0] == 0
        assert machine.calls("--require-hashes")

    def test_a_foreign_environment_is_not_touched(self, machine: Machine) -> None:
        (machine.checkout / ".venv").mkdir()
        status, said = machine.run("setup")
        assert (status, "was not made by ./run: move it away" in said) == (4, True)
        assert list((machine.checkout / ".venv").iterdir()) == []

    def test_two_at_once_make_it_once(self, machine: Machine) -> None:
        started = [
            subprocess.Popen(
                [str(machine.checkout / "run"), "setup"],
                env={"PATH": str(machine.bin), "LOG": str(machine.log), "HOME": str(machine.bin)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(3)
        ]
        assert [one.wait(60) for one in started] == [0, 0, 0]
        assert len(machine.calls("-m venv")) == 1


class TestSessions:
    def test_a_session_and_its_arguments_go_to_nox(self, machine: Machine, tmp_path: Path) -> None:
        status, said = machine.run("gate", "--quick", "-k", "a b", cwd=tmp_path)
        assert status == 0, said
        assert machine.calls("nox") == ["nox <--session> <gate> <--> <--quick> <-k> <a b>"]

    def test_they_may_stand_behind_two_dashes_as_for_nox(self, machine: Machine, tmp_path: Path) -> None:
        status, said = machine.run("gate", "--", "--quick", cwd=tmp_path)
        assert status == 0, said
        assert machine.calls("nox") == ["nox <--session> <gate> <--> <--quick>"]

    def test_a_link_to_it_is_it(self, machine: Machine, tmp_path: Path) -> None:
        link = tmp_path / "bench"
        link.symlink_to(machine.checkout / "run")
        assert machine.run("setup", script=link)[0] == 0
        assert (machine.checkout / ".venv").is_dir()
        assert not (tmp_path / ".venv").exists()

    def test_noxs_exit_status_is_ours(self, machine: Machine) -> None:
        machine.run("setup")
        (machine.checkout / ".venv/bin/nox").write_text("#!/bin/sh\nexit 75\n")
        assert machine.run("gate")[0] == 75

    def test_without_a_word_the_usage_is_an_error(self, machine: Machine) -> None:
        status, said = machine.run()
        assert (status, "./run setup" in said, "./run tests" in said) == (4, True, True)
        assert machine.run("--help") == (0, said)

    def test_an_unknown_option_is_an_error(self, machine: Machine) -> None:
        status, said = machine.run("--quick")
        assert (status, "`--quick` is no session" in said) == (4, True)
        assert not (machine.checkout / ".venv").exists()  # nothing is set up for a slip of the hand
