"""The options of the courier, and what it does at a session's end."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchgate.base.errors import OptionError


def read(given: Mapping[str, object]) -> dict[str, object]:
    if given.get("courier") and not Path(str(given["courier"])).is_dir():
        raise OptionError("courier", f" {given['courier']}: there is no such folder")
    return {"courier": given.get("courier"), "courier_runs": given.get("courier-runs") or None}


def at_end(folder: Path, options: Any, trusted: object) -> str:
    place = options.of_features["courier"]
    if place is None:
        return "courier: nothing to copy"
    shutil.copy(folder / "verdicts.json", Path(place) / f"{folder.name}.json")
    return f"courier: verdicts copied to {place}"
