"""The fixture of the mark `delivered`."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def delivered(request: pytest.FixtureRequest) -> Any:
    """The verdicts of the session that the mark names."""
    (file,) = request.node.get_closest_marker("delivered").args
    return json.loads(Path(file).read_text(encoding="utf-8"))
