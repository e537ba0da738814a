"""What ties a run to its session: the nonce that its guest prints, and the digest of that guest.

Takes what identifies an attempt or an image; gives hex digits. Pure; does not fail. On wall time a nonce is
of one attempt of one session, so that its console fits no other attempt and no other session. On the
instruction clock the same seed of a cell has the same nonce in each session, because its console must repeat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from benchgate.base.cells import Cell

_NONCE_DIGITS = 16


def nonce_of_attempt(session: str, attempt: int) -> str:
    """On wall time. `session`: its id."""
    return nonce_of(f"{session} attempt {attempt}")


def nonce_of_seed(order_seed: int, cell: Cell, seed: int) -> str:
    """On the instruction clock. --clock both does not change it, nor any figure."""
    return nonce_of(f"{order_seed} {replace(cell, clock='').id} {seed}")


def nonce_of(text: str) -> str:
    return _sha256(text)[:_NONCE_DIGITS]


def guest_digest(files: Mapping[str, object]) -> str:
    """One digest of all files that a guest consists of, from theirs."""
    return _sha256("".join(f"{name}={value}\n" for name, value in sorted(files.items())))


def guest_of(cell: Cell, *, per_count: bool) -> str:
    """Under which name session.json has the digests of the cell's guest: its row's, or its own if each CPU
    count has a guest of its own."""
    return cell.id if per_count else cell.row


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
