"""The fixture of the mark `isolation`: gives an IsolationResult.

The solver behind it takes long to import: the first use does it. Fails as `isolation_mark` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from benchgate.features.mix.session.isolation_mark import IsolationResult
    from benchgate.session.pytest_hooks.pytest_session import PytestSession


@pytest.fixture
def isolation(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> IsolationResult:
    """How the best mix of a study isolates its parts: `isolation.require_pass()`."""
    from benchgate.features.mix.session import isolation_mark

    return isolation_mark.fixture_value(request, benchgate_session)
