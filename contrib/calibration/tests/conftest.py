"""What these tests share with the unit tests, and their profile of Hypothesis."""

from tests.unit.conftest import tree

__all__ = ["tree"]
