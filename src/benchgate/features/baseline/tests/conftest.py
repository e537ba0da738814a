"""What the unit tests share, and pytest in pytest."""

from tests.plugin.conftest import rig
from tests.unit.conftest import own_cache

__all__ = ["own_cache", "rig"]
