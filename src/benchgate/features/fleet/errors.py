"""The exceptions of a fleet.

Takes nothing, gives the classes, and does not fail.
"""

from benchgate.base.errors import BenchgateError


class FleetError(BenchgateError):
    """A scheduler or a worker that cannot be used, or that answered what it may not answer."""


class RefusedError(FleetError):
    """Something that the operator of a worker does not allow."""
