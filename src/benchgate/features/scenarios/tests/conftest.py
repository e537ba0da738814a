"""What the unit tests share, and their profile of Hypothesis."""

from tests.unit.conftest import own_cache

__all__ = ["own_cache"]
