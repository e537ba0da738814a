"""Which benchgate this is: one digest over its own source.

Takes nothing; gives the digest, which a session records. Fails with OSError if the package cannot be read.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchgate.base.files import tree_digest


@cache
def digest() -> str:
    return tree_digest(Path(__file__).parents[1], skip=("__pycache__",))
