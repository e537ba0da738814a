"""The exception of the history.

Takes nothing, gives the class, and does not fail.
"""

from benchgate.base.errors import BenchgateError


class HistoryError(BenchgateError):
    """A history that cannot be opened, read or written, or that holds what benchgate never wrote."""
