"""Runs apt with private lists, cache and settings: installs nothing, changes no system file.

Takes a private folder and the text of a sources file; gives the available packages and their files. They are
authenticated by apt or, if their digests are known beforehand, by these. The host's proxies, certificates and
keys stay in effect. Fails with FetchError.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import FetchError
from benchgate.base.files import file_digest
from benchgate.build.cache_storage import Notice, cache_root, full_disk
from benchgate.build.toolchain import environment

TOOLS = ("apt-get", "apt-cache", "dpkg", "dpkg-deb")
HELPER = Path("/usr/lib/apt/apt-helper")
"""This program downloads one address with apt's settings."""
_UPDATE_S = 300.0
_DOWNLOAD_S = 900.0
_ASK_S = 60.0
_CHANGING = ("Mirror sync in progress", "Hash Sum mismatch")
"""What apt prints if the lists of a source do not match each other."""
_PAUSES_S = (5, 15)

# Hooks would change the system's cache; translations and other metadata are not needed.
_SETTINGS = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Architectures;
#clear Acquire::IndexTargets::deb::Translations;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::CNF;
#clear Acquire::IndexTargets::deb::Contents-deb;
APT::Architecture "%s";
APT::Architectures { "%s"; };
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
APT::Get::AllowUnauthenticated "false";
Acquire::Languages "none";
Acquire::AllowInsecureRepositories "false";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
"""


@dataclass(frozen=True, slots=True)
class Package:
    """One version of one package, as the package source describes it."""

    name: str
    version: str
    sha256: str
    size_bytes: int
    depends: str = ""
    path: str = ""
    """Its file's place in the archive."""


class Apt:
    """One private client. It reads the index when it first needs it."""

    def __init__(self, folder: Path, sources: str, notice: Notice, architecture: str) -> None:
        if re.search(r'["\n\\]', str(folder)):
            raise FetchError(f"apt cannot use the folder {folder}: set BENCHGATE_CACHE to a plain path")
        self._folder = folder
        self._archives = " ".join(re.findall(r"(?m)^Uris:(.*)$", sources)).split()
        self._updated = False
        self.notice = notice
        self._settings = folder / "apt.conf"
        for name in ("state", "lists/partial", "cache/archives/partial", "debs"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()  # no installed packages: the host's versions must not matter
        (folder / "private.sources").write_text(sources)
        places = {
            "Dir::Etc::sourcelist": "private.sources",
            "Dir::State": "state",
            "Dir::State::lists": "lists",
            "Dir::State::status": "status",
            "Dir::Cache": "cache",
            # Container images turn these two off, and then each query would parse all lists again.
            "Dir::Cache::pkgcache": "pkgcache.bin",
            "Dir::Cache::srcpkgcache": "srcpkgcache.bin",
        }
        paths = {name: place if place.endswith(".bin") else folder / place for name, place in places.items()}
        lines = [f'{name} "{path}";\n' for name, path in paths.items()]
        self._settings.write_text(_SETTINGS % (architecture, architecture) + "".join(lines))

    def update(self) -> None:
        """Reads the index, and reads a source again that changed meanwhile."""
        self.notice("reading this host's package source ...")
        argv = ("apt-get", "-qq", "update")
        done = self._ask(argv, _UPDATE_S)
        for pause_s in _PAUSES_S:
            if not (done.returncode and any(word in done.stderr for word in _CHANGING)):
                break
            self.notice(f"the package source is being changed; reading it again in {pause_s} s ...")
            time.sleep(pause_s)
            done = self._ask(argv, _UPDATE_S)
        _check(done)
        self._updated = True

    def versions(self, name: str) -> tuple[Package, ...]:
        """All available versions of one package, newest first."""
        return self._show(name, "--all-versions")

    def candidate(self, name: str) -> Package | None:
        """The version that apt would install, which is from backports only if there is no other."""
        return next(iter(self._show(name, "--no-all-versions")), None)

    def newer_or_equal(self, version: str, other: str) -> bool:
        argv = ("dpkg", "--compare-versions", version, "ge", other)
        return subprocess.run(argv, timeout=_ASK_S, check=False, capture_output=True).returncode == 0

    def obtain(self, packages: Sequence[Package]) -> bool:
        """Downloads packages from their places in the archive, for `download` to give; False if the archive
        lacks one. No index is needed, because their digests are known."""
        return HELPER.is_file() and all(self._kept(package) or self._obtain(package) for package in packages)

    def _obtain(self, package: Package) -> bool:
        path = self._incoming() / package.path.rpartition("/")[2]
        for archive in self._archives:
            address = f"{archive.rstrip('/')}/{package.path}"
            argv = (str(HELPER), "download-file", address, str(path), f"SHA256:{package.sha256}")
            if self._ask(argv, _DOWNLOAD_S).returncode == 0 and file_digest(path) == package.sha256:
                self._keep(path, package)
                return True
            path.unlink(missing_ok=True)
        return False

    def download(self, packages: Sequence[Package]) -> list[Path]:
        """The package files; the digest of each has been checked."""
        missing = [package for package in packages if not self._kept(package)]
        if missing:
            self._need_index()
            words = [f"{package.name}={package.version}" for package in missing]
            self._run(("apt-get", "-qq", "download", *words), _DOWNLOAD_S, self._incoming())
            for one in missing:
                self._accept(one)
        return [next(self._place(package).iterdir()) for package in packages]

    def _incoming(self) -> Path:
        folder = self._folder / "incoming"
        folder.mkdir(exist_ok=True)
        return folder

    def _place(self, package: Package) -> Path:
        return self._folder / "debs" / package.sha256

    def _kept(self, package: Package) -> bool:
        return self._place(package).is_dir()

    def _keep(self, path: Path, package: Package) -> None:
        folder = self._place(package)
        folder.mkdir()
        path.rename(folder / path.name)

    def _accept(self, package: Package) -> None:
        for path in self._incoming().glob(f"{package.name}_*.deb"):
            if file_digest(path) != package.sha256:
                raise FetchError(
                    f"{path.name} does not match its SHA-256 {package.sha256[:16]}...: the package source "
                    "is broken, or the file was changed in transit; check the network and the source"
                )
            self._keep(path, package)
            return
        raise FetchError(f"apt downloaded no file for {package.name} {package.version}: run this again")

    def _need_index(self) -> None:
        if not self._updated:
            self.update()

    def _show(self, name: str, which: str) -> tuple[Package, ...]:
        self._need_index()
        done = self._ask(("apt-cache", "show", which, name), _ASK_S)
        return parse_packages(done.stdout) if done.returncode == 0 else ()

    def _run(self, argv: tuple[str, ...], timeout_s: float, folder: Path | None = None) -> None:
        _check(self._ask(argv, timeout_s, folder))

    def _ask(
        self, argv: tuple[str, ...], timeout_s: float, folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                (argv[0], "-c", str(self._settings), *argv[1:]),
                cwd=folder or self._folder,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=timeout_s,
                env=environment(),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            late = f"did not end within {timeout_s:.0f} s: run this again"
            raise FetchError(f"`{argv[0]} {argv[-1]}` {late}") from error


def _check(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith(("E:", "W:"))]
        why = errors[0][2:].strip() if errors else f"status {done.returncode}"
        if full := full_disk(cache_root(), done.stderr):
            raise FetchError(f"apt could not write its files: {full}")
        advice = "check the network and `apt-get update`, or give --qemu PATH and --linux-kernel PATH"
        raise FetchError(f"apt could not read this host's package source: {why[:300]}; {advice}")


def available() -> bool:
    return all(shutil.which(tool) for tool in TOOLS)


def parse_packages(text: str) -> tuple[Package, ...]:
    """Parses `apt-cache show`: one stanza per version. A stanza without a digest cannot be downloaded."""
    packages = []
    for block in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z0-9-]+): (.*)$", block, flags=re.MULTILINE))
        if {"Package", "Version", "SHA256", "Size"} <= fields.keys():
            depends = ", ".join(filter(None, (fields.get("Pre-Depends"), fields.get("Depends"))))
            size = int(fields["Size"]) if fields["Size"].isdecimal() else 0
            about = fields["Package"], fields["Version"], fields["SHA256"], size, depends
            packages.append(Package(*about, fields.get("Filename", "")))
    return tuple(packages)
