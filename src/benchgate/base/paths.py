"""Finds guest/, kernel/, fixtures/, docs/ and reports/schema/ inside the wheel, or in the checkout.

Takes nothing, gives one folder. Fails with HostError if neither place contains them (a broken install).
"""

from __future__ import annotations

from pathlib import Path

from benchgate.base.errors import HostError

_LANDMARK = Path("guest", "bench.h")
"""The header that every workload includes; the folder that contains it contains the rest."""


def data_root() -> Path:
    """The folder that holds guest/, kernel/, fixtures/, docs/ and reports/schema/."""
    here = Path(__file__).resolve().parents[1]
    return _first_with_landmark((here / "data", here.parents[1]))


def _first_with_landmark(candidates: tuple[Path, ...]) -> Path:
    for folder in candidates:
        if (folder / _LANDMARK).is_file():
            return folder
    tried = " or ".join(str(folder / _LANDMARK) for folder in candidates)
    raise HostError(f"benchgate's own files are missing: no {tried}; reinstall pytest-benchgate")
