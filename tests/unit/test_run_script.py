"""./run on hosts that lack something, simulated by PATH folders. Nothing here uses the network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.machines import PATIENCE_S

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
# A fake Python for ./run, which makes an environment of fake programs.
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
class FakeHost:
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
            timeout=PATIENCE_S,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def calls(self, word: str) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if word in line]


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    """A host that has everything that ./run needs."""
    checkout, binaries = tmp_path / "a check out", tmp_path / "bin"
    checkout.mkdir()
    binaries.mkdir()
    for name in ("run", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, checkout / name)
    for name in (*TOOLS, "cp", "chmod"):
        result = shutil.which(name)
        assert result, f"this host has no {name}"
        (binaries / name).symlink_to(result)
    made = FakeHost(checkout, binaries, tmp_path / "log")
    made.tool("uname", '#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo x86_64\n')
    made.tool("id", "#!/bin/sh\necho 1000\n")
    made.tool("make", "#!/bin/sh\n")
    made.python()
    made.compiler()
    return made


class TestHost:
    @pytest.mark.parametrize(
        ("uname", "message"),
        [
            ("echo Darwin", "benchgate needs Linux, this is Darwin."),
            (
                '[ "$1" = -s ] && echo Linux || echo aarch64',
                "benchgate needs an x86_64 processor, this is aarch64.",
            ),
        ],
    )
    def test_another_system_or_processor_is_refused_in_one_sentence(
        self, host: FakeHost, uname: str, message: str
    ) -> None:
        host.tool("uname", f"#!/bin/sh\n{uname}\n")
        assert host.run("gate") == (4, f"run: {message}\n")
        assert not (host.checkout / ".venv").exists()


class TestHostPackages:
    def apt(self, host: FakeHost, effect: str = "") -> None:
        host.tool("apt-get", f'#!/bin/sh\necho "apt-get $*" >>"$LOG"\n{effect}\n')

    @pytest.mark.parametrize(
        ("missing", "packages"),
        [
            (("python3",), "python3 python3-venv"),
            (("cc",), "gcc libc6-dev"),
            (("make",), "make"),
            (("python3", "cc", "make"), "python3 python3-venv gcc libc6-dev make"),
        ],
    )
    def test_an_ordinary_user_gets_the_exact_command(
        self, host: FakeHost, missing: tuple[str, ...], packages: str
    ) -> None:
        self.apt(host)
        for name in missing:
            (host.bin / name).unlink()
        status, output = host.run("setup")
        assert status == 4
        assert f"    apt-get update && apt-get install -y --no-install-recommends {packages}\n" in output
        assert host.calls("apt-get") == []
        assert not (host.checkout / ".venv").exists()

    def test_a_python_without_venv_needs_its_package(self, host: FakeHost) -> None:
        self.apt(host)
        host.python(no_venv=True)
        status, output = host.run("setup")
        assert (status, "--no-install-recommends python3 python3-venv\n" in output) == (4, True)

    def test_another_python_without_venv_needs_its_own_package(self, host: FakeHost) -> None:
        self.apt(host)
        host.python(old=True)
        host.python("python3.12", no_venv=True)
        status, output = host.run("setup")
        assert (status, "--no-install-recommends python3.12-venv\n" in output) == (4, True)

    def test_a_compiler_without_static_library_needs_packages(self, host: FakeHost) -> None:
        self.apt(host)
        (host.bin / "libc.a").unlink()
        status, output = host.run("setup")
        assert (status, "--no-install-recommends gcc libc6-dev\n" in output) == (4, True)

    def test_packages_are_installed_for_root(self, host: FakeHost) -> None:
        host.tool("id", "#!/bin/sh\necho 0\n")
        (host.bin / "make").unlink()
        self.apt(
            host,
            f'case "$*" in *install*make) : >"{host.bin}/make"; chmod +x "{host.bin}/make" ;; esac',
        )
        status, output = host.run("setup")
        assert status == 0, output
        update, install = host.calls("apt-get")
        assert update.endswith("update")
        assert install.endswith(" make")

    def test_a_failure_of_apt_is_reported_to_root(self, host: FakeHost) -> None:
        host.tool("id", "#!/bin/sh\necho 0\n")
        (host.bin / "make").unlink()
        self.apt(host, "echo 'E: no network' >&2; exit 100")
        status, output = host.run("setup")
        assert (status, "E: no network" in output, "apt-get failed" in output) == (4, True, True)

    def test_an_installation_that_does_not_help_is_reported(self, host: FakeHost) -> None:
        host.tool("id", "#!/bin/sh\necho 0\n")
        host.python(old=True)
        self.apt(host)
        status, output = host.run("setup")
        assert status == 4
        assert "still missing after the installation: python3 python3-venv" in output
        assert "put a newer python3 on PATH" in output

    def test_on_another_distribution_the_requirements_are_listed(self, host: FakeHost) -> None:
        (host.bin / "cc").unlink()
        status, output = host.run("setup")
        assert status == 4
        for word in ("no apt-get", "Python 3.11 to 3.14 with venv", "C compiler", "make", "QEMU"):
            assert word in output

    def test_the_first_suitable_python_is_used(self, host: FakeHost) -> None:
        host.python(old=True)
        host.python("python3.13", no_venv=True)
        host.python("python3.11")
        status, output = host.run("setup")
        assert status == 0, output
        (made,) = host.calls("-m venv")
        assert made.startswith("python3.11 ")


class TestEnvironment:
    def test_setup_installs_three_programs_and_fetches(self, host: FakeHost) -> None:
        status, output = host.run("setup")
        assert status == 0, output
        for name in ("pytest", "nox", "benchgate"):
            assert os.access(host.checkout / ".venv" / "bin" / name, os.X_OK)
        assert host.calls("benchgate <setup>")
        (locked, own) = host.calls("pip --disable")
        assert "--require-hashes" in locked
        assert "--no-index --no-deps --no-build-isolation -e" in own

    def test_a_second_setup_does_nothing(self, host: FakeHost) -> None:
        host.run("setup")
        host.log.unlink()
        status, output = host.run("setup")
        assert (status, output) == (0, "")
        assert host.calls("pip") == host.calls("venv ") == []

    @pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
    def test_a_changed_lock_or_project_updates_the_environment(self, host: FakeHost, name: str) -> None:
        host.run("setup")
        host.log.unlink()
        with (host.checkout / name).open("a") as stream:
            stream.write("# changed\n")
        assert host.run("setup")[0] == 0
        assert host.calls("--require-hashes")
        assert host.calls("-m venv") == []

    def test_an_interrupted_setup_is_repeated(self, host: FakeHost) -> None:
        status, output = host.run("setup", more={"PIP_FAILS": "1"})
        assert (status, "pip failed" in output) == (4, True)
        half = host.checkout / ".venv" / "half"
        half.touch()
        status, output = host.run("setup")
        assert status == 0, output
        assert not half.exists()

    def test_a_moved_checkout_is_set_up_again(self, host: FakeHost) -> None:
        host.run("setup")
        host.log.unlink()
        host.checkout = host.checkout.rename(host.checkout.with_name("moved"))
        assert host.run("setup")[0] == 0
        assert host.calls("--require-hashes")

    def test_a_foreign_environment_is_not_touched(self, host: FakeHost) -> None:
        (host.checkout / ".venv").mkdir()
        status, output = host.run("setup")
        assert (status, "was not made by ./run: move it away" in output) == (4, True)
        assert list((host.checkout / ".venv").iterdir()) == []

    def test_concurrent_setups_make_one_environment(self, host: FakeHost) -> None:
        started = [
            subprocess.Popen(
                [str(host.checkout / "run"), "setup"],
                env={"PATH": str(host.bin), "LOG": str(host.log), "HOME": str(host.bin)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(3)
        ]
        assert [one.wait(PATIENCE_S) for one in started] == [0, 0, 0]
        assert len(host.calls("-m venv")) == 1


class TestSessions:
    def test_a_session_and_its_arguments_are_passed_to_nox(self, host: FakeHost, tmp_path: Path) -> None:
        status, output = host.run("gate", "--quick", "-k", "a b", cwd=tmp_path)
        assert status == 0, output
        assert host.calls("nox") == ["nox <--session> <gate> <--> <--quick> <-k> <a b>"]

    def test_arguments_may_follow_two_dashes_as_for_nox(self, host: FakeHost, tmp_path: Path) -> None:
        status, output = host.run("gate", "--", "--quick", cwd=tmp_path)
        assert status == 0, output
        assert host.calls("nox") == ["nox <--session> <gate> <--> <--quick>"]

    def test_run_can_be_started_through_a_link(self, host: FakeHost, tmp_path: Path) -> None:
        link = tmp_path / "bench"
        link.symlink_to(host.checkout / "run")
        assert host.run("setup", script=link)[0] == 0
        assert (host.checkout / ".venv").is_dir()
        assert not (tmp_path / ".venv").exists()

    def test_the_exit_status_is_that_of_nox(self, host: FakeHost) -> None:
        host.run("setup")
        (host.checkout / ".venv/bin/nox").write_text("#!/bin/sh\nexit 75\n")
        assert host.run("gate")[0] == 75

    def test_without_arguments_the_usage_is_an_error(self, host: FakeHost) -> None:
        status, output = host.run()
        assert (status, "./run setup" in output, "./run tests" in output) == (4, True, True)
        assert host.run("--help") == (0, output)

    def test_an_unknown_option_is_an_error(self, host: FakeHost) -> None:
        status, output = host.run("--quick")
        assert (status, "`--quick` is not a session" in output) == (4, True)
        assert not (host.checkout / ".venv").exists()  # a typing error starts no setup
