"""One exception class per stage. Each message says what is wrong, where, and what to do next.

Takes nothing, gives the classes. Whoever meets the user (pytest_plugin, cli) prints the message
without a traceback; anything that is not a BenchgateError is a defect of ours and keeps its traceback.
"""


class BenchgateError(Exception):
    """What benchgate says to its user: a sentence, never a traceback."""


class UsageError(BenchgateError):
    """An option, mark or argument that cannot be meant."""


class CatalogError(BenchgateError):
    """A YAML file that does not fit its schema; names file, line and key."""


class HostError(BenchgateError):
    """The machine lacks or refuses something that is needed."""


class LockError(BenchgateError):
    """Another session measures on this machine."""


class FetchError(BenchgateError):
    """A pinned input could not be had, or is not what its lock says."""


class BuildError(BenchgateError):
    """A guest binary, kernel, initramfs or plugin could not be built."""


class BootError(BenchgateError):
    """A machine could not be started at all (not: a guest that failed, which is a RawRun)."""


class VerifyError(BenchgateError):
    """A run that cannot become a result; the reason is the run's verdict."""


class DecideError(BenchgateError):
    """A gate asked for something that its measurements cannot answer."""


class EvidenceError(BenchgateError):
    """A session folder that is incomplete, changed, or of an unknown version."""


class RenderError(BenchgateError):
    """A report that could not be written; what was measured stays on disk."""
