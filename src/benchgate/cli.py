"""The command `benchgate`: everything except running tests. Its subcommands are in commands/.

Takes argv; gives an exit status: 0 done, 1 a verdict is not PASS or a replay differs, 4 usage or set-up, 14
files of the session's user must be named; of `verify` also those of evidence/check.py, and 15 if a threshold
is not that of its test. A BenchgateError is printed as one sentence. A reader that goes away, as `head` does,
changes no status; other text that cannot be written makes 4 of 0.
"""

from __future__ import annotations

from benchgate.base import interrupts

with interrupts.quiet_imports(status=130):
    import argparse
    import signal
    import sys
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    import benchgate
    from benchgate import commands
    from benchgate.base import standard_streams
    from benchgate.base.errors import BenchgateError, NeedsFilesError, UsageError
    from benchgate.base.text import suggestion, visible_lines

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["plan"] and given[1:] not in (["-h"], ["--help"]):
        given.insert(1, "--")  # the other words are for pytest
    with standard_streams.lasting() as output:
        try:
            return _told(output, _status(given))
        except SystemExit as ended:  # argparse printed a help text or a usage message
            raise SystemExit(ended.code or _told(output, 0)) from None


def _told(output: standard_streams.OutputState, status: int) -> int:
    """The status is not 0 if what the command printed could not be written."""
    sys.stdout.flush()
    if output.problem:
        print(f"benchgate: cannot write standard output: {output.problem}; its text is lost", file=sys.stderr)
    return status or (4 if output.problem else 0)


def _status(given: Sequence[str]) -> int:
    def run() -> int:
        own, after = _split(_joined(given))
        _refuse_unknown(own)
        words = _parser(next(iter(own), "")).parse_args(own, argparse.Namespace(after=after))
        command: Command = words.command
        return command(words)

    return status_of("benchgate", run)


def _refuse_unknown(given: Sequence[str]) -> None:
    """UsageError if the first word is not a command. argparse would list all of them and suggest none."""
    word = next(iter(given), "-")
    names = {one.name for one in commands.known(word)}
    if not word.startswith("-") and word not in names:
        otherwise = "`benchgate --help` lists all"
        raise UsageError(f"there is no command `{word}`; {suggestion(word, names, otherwise)}")


def _joined(given: Sequence[str]) -> Sequence[str]:
    """A command of two words is one word: its words are folders, and those of its first word are not."""
    table = commands.known(next(iter(given), ""))
    return ["-".join(given[:2]), *given[2:]] if tuple(given[:2]) in commands.two_words(table) else given


def status_of(program: str, run: Callable[[], int]) -> int:
    """The status of what a program does. A user's mistake and an interrupt are a sentence, no traceback."""
    try:
        return run()
    except BenchgateError as error:
        print(f"{program}: {visible_lines(str(error))}", file=sys.stderr)
        return NeedsFilesError.status if isinstance(error, NeedsFilesError) else 4
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would be a traceback
        print(f"{program}: interrupted", file=sys.stderr)
        return 130


def _split(given: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words of a command, and those behind `--`, if they are pytest's."""
    table = commands.known(next(iter(given), ""))
    takers = [[one.name] for one in table if one.has_pytest_words]
    if given[:1] not in takers or "--" not in given:
        return given, ()
    at = given.index("--")
    return given[:at], given[at + 1 :]


class _Parser(argparse.ArgumentParser):
    """The subcommands' parsers have this class, too. A usage error exits with 4, as in pytest, not 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(4, f"{self.prog}: error: {message}\n")


class _Version(argparse.Action):
    """Reads the version only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **words: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **words)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"benchgate {benchgate.__version__}")
        parser.exit()


def _parser(first: str) -> argparse.ArgumentParser:
    """Knows the names of all commands, and the words of the one that is the first word."""
    parser = _Parser(
        prog="benchgate",
        description="Kernel benchmarks as gated tests. `pytest` measures; this command does the rest.",
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    found = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in commands.known(first):
        sub = found.add_parser(command.name, help=command.about, description=command.about)
        if command.name == first:
            command.declare(sub)
    return parser


if __name__ == "__main__":
    sys.exit(main())
