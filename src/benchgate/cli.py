"""The command `benchgate`: everything except running tests. Each subcommand is one function below.

Takes argv; gives an exit status: 0 done, 1 a verdict is not PASS or a replay differs, 4 usage or set-up, 14
files of the session's user must be named; of `verify` also those of evidence/check.py, and 15 if a threshold
is not that of its test. A BenchgateError is printed as one sentence.
"""

from __future__ import annotations

from benchgate.base import interrupted

with interrupted.imports(status=130):
    import argparse
    import itertools
    import os
    import re
    import subprocess
    import sys
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TYPE_CHECKING, NoReturn

    from benchgate.base.errors import BenchgateError, NeedsFilesError, UsageError
    from benchgate.base.text import visible, visible_lines

if TYPE_CHECKING:
    from benchgate.session.trust import Trusted

Command = Callable[[argparse.Namespace], int]

TEMPLATE = """\
import pytest

pytestmark = pytest.mark.smp


@pytest.mark.workload("primes")
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9)
def test_scales(verdict):
    verdict.require_pass()
"""


def main(argv: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["plan"] and given[1:] not in (["-h"], ["--help"]):
        given.insert(1, "--")  # the other words are for pytest
    status = 0
    try:
        try:
            status = _status(given)
        finally:
            if sys.stdout:  # None if it was closed from the start
                sys.stdout.flush()  # the interpreter's own flush, at its end, would report a closed pipe
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _status(given: Sequence[str]) -> int:
    try:
        words = _parser().parse_args(given)
        command: Command = words.command
        return command(words)
    except BenchgateError as error:
        print(f"benchgate: {visible_lines(str(error))}", file=sys.stderr)
        return NeedsFilesError.status if isinstance(error, NeedsFilesError) else 4
    except KeyboardInterrupt:
        print("benchgate: interrupted", file=sys.stderr)
        return 130


class _Parser(argparse.ArgumentParser):
    """Also the class of the subcommands' parsers. A usage error exits with 4, as in pytest, and not 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(4, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="benchgate",
        description="Kernel benchmarks as gated tests. `pytest` measures; this command does the rest.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: Command, about: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=about, description=about)
        sub.set_defaults(command=command)
        return sub

    doctor = add("doctor", _doctor, "show what this host can be used for")
    doctor.add_argument("--qemu", metavar="PATH", help="use this QEMU instead of the pinned one")
    doctor.add_argument("--fresh", action="store_true", help="probe the accelerators again")
    setup = add("setup", _setup, "fetch QEMU and the Linux image; afterwards no network is needed")
    setup.add_argument("--locked", action="store_true", help="reviewed versions only")
    plan = add("plan", _plan, "show what pytest would measure; boots nothing (pytest --plan)")
    plan.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="arguments of pytest")
    init = add("init", _init, "write a small test file to start from")
    init.add_argument("folder", nargs="?", default=".", help="where (default: here)")
    _add_new_system(add("new-system", _new_system, "boot an unknown kernel and write a YAML file for it"))
    verify = add("verify", _verify, "check a session folder: hashes, verifiers, statistics, verdicts")
    verify.add_argument("folder", help="reports/runs/..., or reports/latest")
    _add_trusted(verify)
    _add_tests(verify)
    rejudge = add("rejudge", _rejudge, "decide the verdicts again from the files; boots nothing")
    rejudge.add_argument("folder", help="a session folder, or a results.csv (without verdicts)")
    _add_trusted(rejudge)
    _add_tests(rejudge)
    compare = add("compare", _compare, "print the figures of two sessions or programs side by side")
    for side in ("a", "b"):
        compare.add_argument(
            side,
            metavar=side.upper(),
            help="a session's folder, FOLDER:SYSTEM, JSON of Kevlar's runner, or a file of BENCH lines",
        )
    compare.add_argument(
        "--metric", action="append", default=[], metavar="NAME", help="only this metric; repeatable"
    )
    _add_replay(add("replay", _replay, "repeat a run of the instruction clock exactly"))
    _add_cache(add("cache", _cache_list, "list the cache: QEMU, Linux image, built programs"))
    return parser


def _add_new_system(command: argparse.ArgumentParser) -> None:
    command.add_argument("kernel", help="the kernel, or a disk or CD image with its boot loader")
    command.add_argument("--out", metavar="FILE", help="the YAML file to write (default: NAME.yaml here)")
    command.add_argument("--name", help="the system's name (default: from the file's name)")
    command.add_argument("--arch", default="", help="if the file does not say it: x86_64, riscv64, aarch64")
    command.add_argument("--disk", action="append", default=[], metavar="IMAGE", help="a disk; repeatable")
    command.add_argument("--initrd", metavar="FILE", help="an initrd, or a multiboot module")
    command.add_argument("--append", default="", metavar="WORDS", help="the kernel command line")
    command.add_argument("--machine", default="", help="QEMU's machine type (default: several are tried)")
    command.add_argument("--firmware", default="", help="none, default, or a file (-bios)")
    command.add_argument("--memory", default="256M", help="memory (default: 256M)")
    command.add_argument(
        "--send", action="append", default=[], metavar="LINE", help="type this at its prompt; {workers}: CPUs"
    )
    command.add_argument("--seconds", type=float, default=60.0, help="for each boot and line (default: 60)")
    command.add_argument("--qemu", metavar="PATH", help="use this QEMU instead of the pinned one")
    command.add_argument("--force", action="store_true", help="replace the YAML file")


def _add_cache(cache: argparse.ArgumentParser) -> None:
    actions = cache.add_subparsers(title="actions", metavar="ACTION")
    gc = actions.add_parser("gc", help="remove old entries that are not in use")
    gc.add_argument("--keep", type=_bytes, default="2G", metavar="SIZE", help="size to keep (default: 2G)")
    gc.add_argument(
        "--days", type=_days, default="90", metavar="N", help="remove entries unused for N days (default: 90)"
    )
    gc.set_defaults(command=_cache_gc)


def _bytes(word: str) -> int:
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    number, unit = (word[:-1], units[word[-1:].upper()]) if word[-1:].upper() in units else (word, 1)
    if not (number.isascii() and number.isdecimal() and len(number) < 16):
        raise argparse.ArgumentTypeError(f"`{word}` is not a size such as 500M or 2G")
    return int(number) * unit


def _days(word: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", word):
        raise argparse.ArgumentTypeError(f"`{word}` is not a number of days such as 30 or 0.5")
    return float(word)


def _doctor(words: argparse.Namespace) -> int:
    from benchgate.session import doctor  # noqa: PLC0415 - a usage message does not need it

    qemu = None if words.qemu is None else Path(words.qemu).absolute()
    print(doctor.report(qemu, fresh=words.fresh))
    return 0


def _setup(words: argparse.Namespace) -> int:
    from benchgate.build.fetch import inputs  # noqa: PLC0415

    qemu, linux = inputs.prepare(locked=words.locked, notice=_say)
    labels = ", ".join(linux.labels) or "reviewed"
    _say(f"QEMU {qemu.version_text} ({qemu.origin}), Linux {linux.version} ({labels})")
    return 0


def _plan(words: argparse.Namespace) -> int:
    given = words.words[1:] if words.words[:1] == ["--"] else words.words
    return subprocess.call([sys.executable, "-m", "pytest", "--plan", *given])


def _init(words: argparse.Namespace) -> int:
    folder = Path(words.folder)
    path = folder / "test_scaling.py"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(TEMPLATE)
    except FileExistsError as error:
        raise UsageError(f"{error.filename} already exists; it was not changed") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    print(f"wrote {path}; run: pytest {path}")
    return 0


def _new_system(words: argparse.Namespace) -> int:
    from benchgate.session.first_contact import command  # noqa: PLC0415

    print(command.run(vars(words), _say, _show), end="")
    return 0


def _show(text: str) -> None:
    print(text, end="", flush=True)


def _add_workload(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--workload",
        action="append",
        default=[],
        metavar="PATH",
        help="the YAML file of your own workload, whose oracle you trust; repeatable",
    )


def _add_trusted(command: argparse.ArgumentParser) -> None:
    _add_workload(command)
    for option, what in (("--gate", "kind of gate"), ("--extra-report", "report")):
        about = f"the Python file of your own {what}, which you trust; repeatable"
        command.add_argument(option, action="append", default=[], metavar="PATH", help=about)


def _add_tests(command: argparse.ArgumentParser) -> None:
    about = "tests to compare the session's thresholds with; they are imported, not run; repeatable"
    command.add_argument("--tests", action="append", default=[], metavar="PATH", help=about)


def _trusted(words: argparse.Namespace) -> Trusted:
    from benchgate.session.trust import trusted  # noqa: PLC0415

    gates, reports = getattr(words, "gate", []), getattr(words, "extra_report", [])
    return trusted(words.workload, gates, reports)


def _add_replay(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", help="reports/runs/SESSION/runs/NNNN-...")
    command.add_argument(
        "--system", metavar="PATH", help="the YAML file of the run's system, if it is your own"
    )
    about = "show where the window's instructions went, by symbol (--attribution is the same)"
    command.add_argument("--profile", "--attribution", action="store_true", help=about)
    command.add_argument(
        "--gdb", action="store_true", help="wait for a debugger before the first instruction"
    )
    command.add_argument("--out", metavar="DIR", help="a new folder for the files (default: replay-NNNN-...)")
    _add_workload(command)


def _say(line: str) -> None:
    print(f"benchgate: {line}", file=sys.stderr, flush=True)


def _replay(words: argparse.Namespace) -> int:
    from benchgate.session import replay  # noqa: PLC0415

    order = replay.Order(
        folder=Path(words.run).absolute(),
        out=Path(words.out or _free_name(f"replay-{Path(words.run).name}")).absolute(),
        system=words.system,
        trusted=_trusted(words),
        profile=words.profile,
        gdb=words.gdb,
    )
    text, same = replay.replay(order, _say)
    print(text)
    return 0 if same else 1


def _free_name(name: str) -> str:
    """The name, or NAME-2, NAME-3 ... if an earlier replay has it."""
    names = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    return next(one for one in names if not os.path.lexists(one))


def _verify(words: argparse.Namespace) -> int:
    from benchgate.evidence import check  # noqa: PLC0415
    from benchgate.session import rejudge, remarks, thresholds  # noqa: PLC0415

    trusted = _trusted(words)
    report = check.verify_session(Path(words.folder), lambda folder: rejudge.recompute(folder, trusted))
    print(report.text)
    if report.exit_code not in (check.INTACT, check.MISMATCH):
        return report.exit_code
    differing = thresholds.of_session(Path(words.folder), words.tests)
    _print_notes(remarks.remarks(Path(words.folder), trusted, differing))
    return report.exit_code or (thresholds.STATUS if differing else 0)


def _rejudge(words: argparse.Namespace) -> int:
    from benchgate.session import rejudge, remarks, thresholds  # noqa: PLC0415

    folder, trusted = Path(words.folder), _trusted(words)
    text, code = rejudge.show(folder, trusted)
    print(text)
    _print_notes(remarks.remarks(folder, trusted, thresholds.of_session(folder, words.tests)))
    return code


def _compare(words: argparse.Namespace) -> int:
    from benchgate.session import comparison  # noqa: PLC0415

    print(comparison.text(words.a, words.b, words.metric))
    return 0


def _print_notes(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"note: {visible(line)}")


def _cache_list(_: argparse.Namespace) -> int:
    from benchgate.build import cache_storage, cache_trim  # noqa: PLC0415

    entries = cache_trim.listing()
    for one in entries:
        what = f"{one.purpose} (in use)" if one.in_use else one.purpose
        print(f"{one.size_bytes / 2**20:9.1f} MiB  {one.kind:12} {one.digest[:8]}  {what}".rstrip())
    total = sum(one.size_bytes for one in entries)
    print(
        f"{total / 2**20:9.1f} MiB  in {cache_storage.cache_root()}; `benchgate cache gc` removes old entries"
    )
    return 0


def _cache_gc(words: argparse.Namespace) -> int:
    from benchgate.build import cache_trim  # noqa: PLC0415

    gone = cache_trim.collect_garbage(keep_bytes=words.keep, max_unused_s=words.days * 86400)
    print(f"removed {len(gone)} entries, {sum(one.size_bytes for one in gone) / 2**20:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
