"""The fixture of the tests that compile a workload's C and run it on this host."""

from tests.nativekit import own_cache

__all__ = ["own_cache"]
