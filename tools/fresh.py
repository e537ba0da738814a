"""Runs the README's commands on minimal Debian systems, as root and as an ordinary user.

Three forms. Each makes its systems with mmdebstrap, from the package source that this machine's apt names,
copies the checkout into them, and prints each command's exit status and time. Exits with 1 if a status is not
the expected one, and with 5, and the reason, if this machine cannot make such systems. The systems are
removed at the end, unless --folder keeps them.

`python -m tools.fresh [--release 13] [--as user] [--gate=--quick] [--tests=PATH] [--folder DIR]`, for a
release: all commands of the README, for each release of Debian and user. An ordinary user first sees what
root must install.

`python -m tools.fresh --resolved`, before an issue is called resolved: on each release, as root, `./run
tools-for-tests`, then all of `./run tests`, then `./run compilers --install`.

`python -m tools.fresh --only 13 --tests guests`, while you work: one release, as root, and only the commands
that have words here. It says nothing of the tests that it does not run.

What the last two download (Debian's packages, pip's, benchgate's cache) stays in .nox/fresh for the next
time; the system itself is new each time.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base.errors import FetchError
from benchgate.build.fetch import sources
from benchgate.build.fetch.store import this_release

HERE = Path(__file__).parents[1]
RELEASES = {"12": "bookworm", "13": "trixie"}
RESOLVED = {"tools-for-tests": (), "tests": (), "compilers": ("--install",)}
"""The commands of the form that counts before an issue is called resolved, and their words."""
HOMES = {"root": "/root", "user": "/home/user"}
KEPT = HERE / ".nox" / "fresh"
DEBS = "/var/cache/apt/archives"
TOOLS = ("mmdebstrap", "unshare", "chroot", "mount", "git")
USAGE, NOTHING_DONE = 4, 5
REACH = ("etc/resolv.conf", "etc/hosts", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt")
"""How this machine reaches the network. A new system gets the same files, and these variables and settings
of apt."""
REACH_VARIABLES = re.compile(r"(?i:https?_proxy|no_proxy)|PIP_CERT|PIP_INDEX_URL|SSL_CERT_FILE")
REACH_SETTINGS = re.compile(r'Acquire::(?:https?::|Check-)\S+ "[^"]*";')

# Its own process and mount namespaces: no process and no mount is left when it ends. The shell stays, as the
# init that reaps orphans.
INSIDE = """\
root=$1 user=$2
shift 2
while [ "$1" != -- ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    shift 2
done
shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
chroot --userspec="$user:$user" "$root" "$@"
exit $?
"""


@dataclass(frozen=True, slots=True)
class System:
    """A minimal Debian in a folder, and the user who runs the commands there."""

    root: Path
    release: str
    user: str
    kept: Path | None = None
    """The folder that keeps its downloads for the next system; None: they are removed with it."""

    @property
    def checkout(self) -> str:
        return f"{HOMES[self.user]}/benchgate"

    @property
    def mounts(self) -> Mapping[Path, str]:
        """Folders of this machine, and the system's folders in which they appear."""
        if self.kept is None:
            return {}
        return {self.kept / "apt": DEBS, self.kept / "cache": f"{HOMES[self.user]}/.cache"}

    def run(self, words: Sequence[str], user: str) -> tuple[int, str]:
        """Runs a command in the checkout; shows and gives what it prints."""
        inside = [*environment(HOMES[user], self.checkout), *words]
        return shown([*namespace(self.root, user, self.mounts), *inside])


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and what came of it."""

    system: System
    command: str
    status: int
    expected: int
    seconds: float

    def __str__(self) -> str:
        told = f"Debian {self.system.release}, {self.system.user}: {self.command}: exit {self.status}"
        wrong = "" if self.status == self.expected else f", but {self.expected} was expected"
        return f"{told}{wrong} ({self.seconds:.0f} s)"


def commands(readme: str) -> tuple[str, ...]:
    """The words after `./run` of each command in the README's first section of commands."""
    section = readme.partition("\n## Three commands\n")[2].partition("\n## ")[0]
    return tuple(re.findall(r"^\./run (\S+)", section, re.MULTILINE))


def expected(words: Sequence[str]) -> int:
    """The exit status of success: a quick gate decides nothing."""
    return 5 if "--quick" in words else 0


def sources_for(
    codename: str, stanzas: Sequence[sources.Stanza], here: sources.Release, more: Sequence[str] = ()
) -> str:
    """A sources file for the release and `more` suites, on the mirror that this machine uses. FetchError: it
    uses none."""
    if here.family != "debian":
        raise FetchError("this machine is not a Debian, so its apt names no mirror of Debian")
    wanted = sources.release({"ID": "debian", "VERSION_CODENAME": codename})
    assert wanted is not None
    return sources.private_sources(list(stanzas), replace(wanted, suites=(codename, *more)), here)


def obstacle(user: int, which: Callable[[str], str | None]) -> str:
    """Why this machine cannot make such systems; empty if it can."""
    if user != 0:
        return "only root can mount the file systems of a new system; run this as root"
    missing = [name for name in TOOLS if which(name) is None]
    return f"install {', '.join(missing)}" if missing else ""


def namespace(root: Path, user: str, mounts: Mapping[Path, str]) -> list[str]:
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    places = [str(place) for pair in mounts.items() for place in pair]
    return [*unshare, "sh", "-euc", INSIDE, "fresh", str(root), user, *places, "--"]


def keeping(debs: Path) -> list[str]:
    """Makes mmdebstrap take packages from this folder, and leave there what it downloads."""
    return [
        "--dpkgopt=force-unsafe-io",
        "--skip=essential/unlink",
        f'--setup-hook=mkdir -p "$1"{DEBS}',
        f"--setup-hook=sync-in {shlex.quote(str(debs))} {DEBS}",
        f"--customize-hook=sync-out {DEBS} {shlex.quote(str(debs))}",
    ]


def environment(home: str, folder: str) -> list[str]:
    kept = [f"{name}={value}" for name, value in os.environ.items() if REACH_VARIABLES.fullmatch(name)]
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return ["env", "-i", f"--chdir={folder}", f"HOME={home}", f"PATH={path}", "LC_ALL=C.UTF-8", *kept]


def bootstrap(root: Path, release: str, text: str, packages: Sequence[str], options: Sequence[str]) -> None:
    """Makes a root of these packages. `text` is its sources file; `options` are more words of mmdebstrap."""
    settings = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    reach = [f"--aptopt={line}" for line in settings.splitlines() if REACH_SETTINGS.fullmatch(line)]
    words = [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={','.join(packages)}",
        *reach,
        *options,
    ]
    subprocess.run([*words, RELEASES[release], str(root), "-"], input=text, text=True, check=True)


def make(system: System, text: str, packages: Sequence[str] = ("ca-certificates",)) -> None:
    """Makes the system and copies the checkout into it."""
    print(f"fresh: making Debian {system.release} for {system.user} ...", flush=True)
    for place in (system.root.parent, *system.mounts):
        place.mkdir(parents=True, exist_ok=True)
    options = keeping(system.kept / "apt") if system.kept else []
    hook = '--customize-hook=chroot "$1" useradd --create-home user'
    bootstrap(system.root, system.release, text, packages, [*options, hook])
    for name in REACH:
        if Path("/", name).exists():
            shutil.copy(Path("/", name), system.root / name)
    copy_checkout(system.root / system.checkout.lstrip("/"))
    own = ["chown", "--recursive", f"{system.user}:{system.user}", system.checkout]
    subprocess.run(["chroot", str(system.root), *own], check=True)


def copy_checkout(to: Path) -> None:
    """The files that git knows or would add, as they are now, in a repository as a clone has one."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (HERE / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(HERE / name, to / name)
    author = ("-c", "user.name=fresh", "-c", "user.email=fresh@localhost")
    for words in (
        ("init", "--quiet"),
        ("add", "--all"),
        (*author, "commit", "--quiet", "-m", "as it is now"),
    ):
        subprocess.run(["git", *words], cwd=to, check=True)


def shown(argv: Sequence[str]) -> tuple[int, str]:
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            print(line, end="", flush=True)
            said.append(line)
    return process.returncode, "".join(said)


def wanted_of_root(said: str) -> str:
    """The command that ./run asked an ordinary user to give to root; empty if it asked for none."""
    match = re.search(r"^ {4}(apt-get update && apt-get install [^\n]*)$", said, re.MULTILINE)
    return match[1] if match else ""


def ask_root(system: System, command: str) -> list[Step]:
    """An ordinary user's first call on a bare system: it says what root must install, and root does."""
    begin = time.monotonic()
    status, said = system.run(["./run", command], "user")
    steps = [Step(system, f"./run {command}, before root installed anything", status, USAGE, since(begin))]
    begin = time.monotonic()
    installed, _ = system.run(["sh", "-euc", wanted_of_root(said) or "false"], "root")
    return [*steps, Step(system, "the command for root", installed, 0, since(begin))]


def since(begin: float) -> float:
    return time.monotonic() - begin


def try_out(system: System, more: Mapping[str, Sequence[str]]) -> list[Step]:
    """One command after the other: all of the README or, if downloads are kept, those of `more`. `more`:
    further words of each."""
    named = commands((HERE / "README.md").read_text(encoding="utf-8"))
    if system.kept:
        named = tuple(more)
    steps = []
    for name in named:
        if system.user != "root" and name in (named[0], "tools-for-tests"):
            steps += ask_root(system, name)
        words = ["./run", name, *more.get(name, ())]
        begin = time.monotonic()
        status, _ = system.run(words, system.user)
        steps.append(Step(system, shlex.join(words), status, expected(words), since(begin)))
    return steps


def tests_of(words: str) -> list[str]:
    """The words of ./run tests. The name of a folder of tests/ is a short form of its path."""
    return [f"tests/{word}" if (HERE / "tests" / word).exists() else word for word in shlex.split(words)]


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fresh", description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--release", action="append", choices=RELEASES)
    which.add_argument("--only", choices=RELEASES, help="while you work: on this release, as root")
    resolved = "before an issue is called resolved: all tests on each release, as root"
    which.add_argument("--resolved", action="store_true", help=resolved)
    parser.add_argument("--as", dest="users", action="append", choices=HOMES)
    parser.add_argument("--gate", default="", help="further words of ./run gate")
    parser.add_argument("--tests", default="", help="further words of ./run tests")
    parser.add_argument("--folder", type=Path, help="keep the systems here")
    chosen = parser.parse_args(words)
    if chosen.only and (chosen.users or not (chosen.gate or chosen.tests)):
        parser.error("--only runs as root, and needs --tests or --gate: for example --only 13 --tests guests")
    if chosen.resolved and (chosen.users or chosen.gate or chosen.tests):
        parser.error("--resolved runs as root, and all tests: leave out --as, --gate and --tests")
    return chosen


def words_of(chosen: argparse.Namespace) -> dict[str, Sequence[str]]:
    """The commands that have words here, and those words."""
    if chosen.resolved:
        return dict(RESOLVED)
    given = {"gate": shlex.split(chosen.gate), "tests": tests_of(chosen.tests)}
    return {name: words for name, words in given.items() if words}


def systems(chosen: argparse.Namespace, folder: Path) -> list[System]:
    if chosen.only or chosen.resolved:
        return [
            System(folder / f"debian-{release}", release, "root", KEPT / f"debian-{release}")
            for release in ([chosen.only] if chosen.only else RELEASES)
        ]
    return [
        System(folder / f"debian-{release}-{user}", release, user)
        for release in chosen.release or RELEASES
        for user in chosen.users or HOMES
    ]


def main(words: Sequence[str]) -> int:
    chosen = arguments(words)
    more = words_of(chosen)
    try:
        texts = {value: sources_for(name, sources.read(), this_release()) for value, name in RELEASES.items()}
    except FetchError as error:
        problem = str(error)
    else:
        problem = obstacle(os.geteuid(), shutil.which)
    if problem:
        print(f"fresh: skipped: {problem}", file=sys.stderr)
        return NOTHING_DONE
    steps = []
    with tempfile.TemporaryDirectory(prefix="benchgate-fresh-") as temporary:
        for system in systems(chosen, (chosen.folder or Path(temporary)).absolute()):
            make(system, texts[system.release])
            steps += try_out(system, more)
    print("\n".join(f"fresh: {step}" for step in steps))
    return int(any(step.status != step.expected for step in steps))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
