"""The shipped scenarios (`nox -s scenarios`), each with the gates of its file."""

import pytest

from benchgate import scenario_tests

pytestmark = pytest.mark.scenarios

globals().update(scenario_tests())
