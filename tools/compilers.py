"""Builds tern and the clock's plugin with each C compiler that is here, and compares what must be equal.

`python -m tools.compilers [--install] [NAME ...]` takes gcc-12, gcc-13, gcc-14 and clang, or the compilers
named. With each, all profiles of tern are built, and warm.elf must be tern.elf but for the table of programs;
the plugin must compile without a warning; and a row, whose guest is always the same, must have the same
digits with each plugin, with and without a machine's memory. `--install` first gets by apt what this
distribution has. A compiler that is not here is named. Exits with 1 if something differs, and with 5 if no
compiler is here.

With `-p tools.compilers` pytest takes the plugin that $PLUGIN_CC builds.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchgate.base.errors import BuildError
from benchgate.build.toolchain import described
from benchgate.insn import plugin
from benchgate.session.exit_codes import UNDECIDED
from tools.elf_image import Image

HERE = Path(__file__).parents[1]
NAMES = ("gcc-12", "gcc-13", "gcc-14", "clang")
PROFILES = ("debug", "hardened", "balanced", "fast")
PROGRAM = "primes"
ROW = (
    "tests/smp/test_primes.py",
    "-k",
    "test_scales and smp2",
    "--system",
    "linux",
    "--clock",
    "insn",
    "--seeds",
    "1",
)
"""With one seed nothing is decided; its digits say what is asked here."""
MACHINES = ("", "desktop8")
PLUGIN_CC = "PLUGIN_CC"
NOTHING_DONE = 5
Digits = tuple[tuple[str, ...], ...]
"""Cell, seed and figure of each run."""


def pytest_configure() -> None:
    """The guest's programs keep the compiler of this host, so that only the plugin is another one."""
    chosen = described((str(shutil.which(os.environ[PLUGIN_CC])),))
    plugin.compiler = lambda: chosen  # type: ignore[attr-defined]


def differences(cold: Image, warm: Image) -> Iterator[str]:
    """What differs between tern.elf and warm.elf, other than the table of programs and the programs."""
    table, begin = cold.symbols["image_table"], cold.symbols["image_init"]
    if sorted(cold.segments) != sorted(warm.segments):
        yield f"the segments begin at {sorted(map(hex, cold.segments))} and {sorted(map(hex, warm.segments))}"
        return
    for address in cold.segments:
        was, now = cold.segments[address], warm.segments[address]
        if address <= table < address + len(was):
            was, now = was[: table - address], now[: table - address]
        if was != now:
            at = next(
                (at for at, pair in enumerate(zip(was, now, strict=False)) if pair[0] != pair[1]), len(was)
            )
            yield f"the segment at {address:#x} differs at {address + at:#x}"
    moved = [name for name, at in cold.symbols.items() if warm.symbols.get(name, at) != at]
    gone = {name for name in cold.symbols.keys() ^ warm.symbols.keys() if not name.startswith(OF_PROGRAMS)}
    for name in sorted({*moved, *gone}):
        yield f"`{name}` is at {cold.symbols.get(name, 0):#x} and {warm.symbols.get(name, 0):#x}"
    if (cold.word(table), warm.word(table)) != (begin, warm.symbols["warm_begin"]):
        yield "the first words of the tables are not image_init and warm_begin"


OF_PROGRAMS = ("from_", "to_", "name_")
"""How the local symbols of the two tables begin."""


def tern(name: str, out: Path) -> Iterator[str]:
    """Builds each profile, and compares its two kernels."""
    for profile in PROFILES:
        folder = out / name / profile
        source = HERE / "guest" / "workloads" / PROGRAM / f"{PROGRAM}.c"
        words = [
            f"PROFILE={profile}",
            f"OUT={folder}",
            f"CC={name}",
            f"WORKLOAD={PROGRAM}",
            f"SOURCE={source}",
        ]
        made = subprocess.run(
            ["make", "-s", "-C", str(HERE / "kernel"), *words], capture_output=True, text=True, check=False
        )
        if said := made.stdout + made.stderr:
            yield f"tern {profile}: {said.strip()}"
        if made.returncode == 0:
            cold, warm = (Image.read(folder / image) for image in ("tern.elf", "warm.elf"))
            yield from (f"tern {profile}: {one}" for one in differences(cold, warm))


def built_plugin(name: str) -> Iterator[str]:
    """Builds the plugin for each interface. Its flags make a warning an error."""
    environment = {**os.environ, "CC": name}
    for api in (1, 2, plugin.INLINE_API):
        code = f"from benchgate.insn.plugin import build; build({api})"
        made = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
        )
        if made.returncode:
            yield f"plugin {api}: {made.stderr.strip()}"


def digits(name: str, machine: str, reports: Path) -> Digits:
    """The figures of the row with this compiler's plugin."""
    words = [*ROW, "--reports", str(reports), "-p", "tools.compilers", "-q", "--benchmark-disable"]
    words += ["--machine", machine] if machine else []
    made = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=HERE, env={**os.environ, PLUGIN_CC: name}, check=False
    )
    if made.returncode != UNDECIDED:
        raise BuildError(f"the row with the plugin of {name} ends with status {made.returncode}")
    with (reports / "latest" / "results.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return tuple(sorted(tuple(row[column] for column in COLUMNS) for row in rows))


COLUMNS = ("system", "workload", "cpus", "run", "seed", "outcome", "work", "total")


def compared(names: Sequence[str], out: Path) -> Iterator[str]:
    """What is wrong, compiler by compiler; the row's digits are compared with those of the first one."""
    for machine in MACHINES:
        first: Digits = ()
        for name in names:
            try:
                seen = digits(name, machine, out / name / f"reports-{machine}")
            except BuildError as error:
                yield f"{name}: {error}"
                continue
            first = first or seen
            if not seen or seen != first:
                yield f"{name}: the row has the digits {seen}, and {first} with {names[0]}"


def install(names: Sequence[str]) -> None:
    """Each by itself, because a release may lack one of them."""
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], *(["install", "-y", "--no-install-recommends", name] for name in names)):
        subprocess.run([*apt, *words], env=environment, stdout=subprocess.DEVNULL, check=False)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.compilers", description=__doc__)
    parser.add_argument("--install", action="store_true", help="get the compilers by apt first; needs root")
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME")
    chosen = parser.parse_args(words)
    if chosen.install:
        install([name for name in chosen.names if shutil.which(name) is None])
    here = [name for name in chosen.names if shutil.which(name)]
    for name in chosen.names:
        told = described((str(shutil.which(name)),)).version if name in here else "absent, so not compared"
        print(f"compilers: {name}: {told}", flush=True)
    if not here:
        return NOTHING_DONE
    with tempfile.TemporaryDirectory(prefix="benchgate-compilers-") as temporary:
        out = Path(temporary)
        wrong = []
        for name in here:
            print(f"compilers: {name}: building tern and the plugin ...", flush=True)
            wrong += [f"{name}: {one}" for one in (*tern(name, out), *built_plugin(name))]
        wrong += compared(here, out)
    print("\n".join(f"compilers: {one}" for one in wrong or [f"{len(here)} compilers, all equal"]))
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
