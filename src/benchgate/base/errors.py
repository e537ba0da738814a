"""One exception class per stage. Each message says what is wrong, where, and what to do next.

Takes nothing, gives the classes. pytest_plugin and cli print the message without a traceback. Any other
exception is a bug in benchgate and keeps its traceback.
"""

from benchgate.base.text import visible_lines


class BenchgateError(Exception):
    """An error that the user sees as a sentence, without a traceback. It may quote text from outside."""

    def __str__(self) -> str:
        return visible_lines(super().__str__())


class UsageError(BenchgateError):
    """An invalid option, mark or argument."""


class OptionError(UsageError):
    """An invalid value of one option. `what` is the sentence after the option's name."""

    def __init__(self, option: str, what: str) -> None:
        super().__init__(f"--{option}{what}")
        self.option, self.what = option, what


class FeatureError(UsageError):
    """A feature of an installed distribution that cannot be used."""


class CatalogError(BenchgateError):
    """An invalid YAML file; the message names file, line and key."""


class HostError(BenchgateError):
    """The host lacks or refuses something that is needed."""


class LockError(BenchgateError):
    """Another session is measuring on this host."""


class FetchError(BenchgateError):
    """A pinned input is not available, or differs from its lock file."""


class BuildError(BenchgateError):
    """A guest binary, kernel, initramfs or plugin could not be built."""


class BootError(BenchgateError):
    """A process could not be started or ended. A guest that starts and then fails is a RawRun instead."""


class VerifyError(BenchgateError):
    """A run that is not a valid result; the message says why."""


class UnusedCpuError(VerifyError):
    """A run with right answers, to which a CPU that its row counts did not contribute."""


class OracleError(VerifyError):
    """An oracle that failed on this machine, so that nothing is known of a run's answers."""


class DecideError(BenchgateError):
    """A gate cannot be decided from its measurements."""


class EvidenceError(BenchgateError):
    """A session folder that is incomplete, changed, or of an unknown version."""


class IncompleteError(EvidenceError):
    """A file of a session folder that is missing, or that ends in the middle of a line."""


class NeedsFilesError(EvidenceError):
    """A session that can only be judged or repeated with files of its user, which the caller must name."""

    status = 14
    """The exit status of the commands."""


class UnsignedError(EvidenceError):
    """A session without a signature of one of the signers that the caller named."""

    status = 16
    """The exit status of `verify`."""


class RenderError(BenchgateError):
    """A report could not be written; the measurements stay on disk."""
