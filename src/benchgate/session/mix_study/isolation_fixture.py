"""The value of the fixture `isolation`, which pytest_plugin.py declares.

Takes the request of the fixture and the session; gives an IsolationResult. Apart from the other fixtures,
because the solver takes long to import.
"""

from __future__ import annotations

import pytest

from benchgate.session.mix_study import guest_runner, isolation_mark
from benchgate.session.mix_study.isolation_mark import IsolationResult
from benchgate.session.pytest_hooks.pytest_fixtures import or_exit
from benchgate.session.pytest_hooks.pytest_session import PytestSession


def value(request: pytest.FixtureRequest, state: PytestSession) -> IsolationResult:
    asked = isolation_mark.asked(request.node)
    if state.options.plan:
        pytest.skip("--plan measures no study; next: benchgate mix vectors STUDY --plan")
    found: IsolationResult = or_exit(
        request.config,
        lambda: isolation_mark.measure(asked, state.options, guest_runner.opened, state.progress),
    )
    return found
