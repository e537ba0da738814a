"""Ties a run to its session by the nonce that its guest prints, and by the digest of that guest.

Takes what identifies an attempt or an image; gives hex digits. Pure; does not fail. On wall time each attempt
of each session has its own nonce, so that its console fits no other attempt. On the instruction clock the
same seed of a cell has the same nonce in each session, because its console must repeat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from benchgate.base.cells import Cell

_NONCE_DIGITS = 16


def nonce_of_attempt(session: str, attempt: int) -> str:
    """The nonce of an attempt on wall time. `session` is the session's id."""
    return nonce_of(f"{session} attempt {attempt}")


def nonce_of_seed(order_seed: int, cell: Cell, seed: int) -> str:
    """The nonce of a seed on the instruction clock. --clock both changes neither it nor any figure."""
    return nonce_of(f"{order_seed} {replace(cell, clock='').id} {seed}")


def nonce_of(text: str) -> str:
    return _sha256(text)[:_NONCE_DIGITS]


def guest_digest(files: Mapping[str, object]) -> str:
    """Combines the digests of all files of a guest into one."""
    return _sha256("".join(f"{name}={value}\n" for name, value in sorted(files.items())))


def guest_of(cell: Cell, *, per_count: bool) -> str:
    """The name under which session.json has the digests of the cell's guest: that of its row, or of the cell
    itself if each CPU count has a guest of its own."""
    return cell.id if per_count else cell.row


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
