"""The mark `isolation`: what it asks for, the study behind its verdict, and the value of its fixture.

Takes the mark's arguments and a session's options; gives an IsolationResult for the fixture `isolation`,
which fixture.py declares.
The study's folder is below the session's reports, one for each system, and goes on where it was. Fails with
what the steps of a study fail with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.base.snapshots import FORK
from benchgate.base.workload.workloads import UNVERIFIED
from benchgate.features.mix import isolation, studyfile
from benchgate.features.mix.isolation import IsolationVerdict
from benchgate.features.mix.session import guest_runner, steps
from benchgate.features.mix.session.steps import OpenRunner
from benchgate.features.mix.study import Study
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.session.progress import Progress
from benchgate.session.pytest_hooks.pytest_fixtures import or_exit
from benchgate.session.pytest_hooks.pytest_session import PytestSession
from benchgate.session.pytest_hooks.results import require

MARK = "isolation"
FORM = "@pytest.mark.isolation(STUDY, at_least=X) or (STUDY, against=SYSTEM)"


@dataclass(frozen=True, slots=True)
class IsolationRequest:
    study: str
    """The name of a shipped one, or a path from the current folder."""
    at_least: float | None
    against: str
    system: str = ""
    """The system that the mark `system` names; empty: the first of --system."""


@dataclass(frozen=True, slots=True)
class IsolationResult:
    """The value of the fixture `isolation`."""

    verdict: IsolationVerdict
    inconclusive_fails: bool

    def require_pass(self) -> None:
        """Passes only on PASS; SKIP skips the test with its reason."""
        require(self.verdict.outcome, self.verdict.reason, inconclusive_fails=self.inconclusive_fails)


def asked(node: pytest.Item) -> IsolationRequest:
    """A wrong mark fails the test that has it."""
    try:
        request = _asked(node.get_closest_marker(MARK))
        return replace(request, system=_system(node))
    except UsageError as error:
        pytest.fail(str(error), pytrace=False)


def _system(node: pytest.Item) -> str:
    system = node.get_closest_marker("system")
    if node.get_closest_marker("machine") is not None:
        raise UsageError("mark machine: a study has its machine in its file, so this mark has no effect here")
    if system is not None and (len(system.args) != 1 or not isinstance(system.args[0], str)):
        raise UsageError(f"mark system: {FORM} measures one system; write one test for each")
    return system.args[0] if system else ""


def _asked(mark: pytest.Mark | None) -> IsolationRequest:
    if mark is None:
        raise UsageError(f"the fixture `isolation` needs a mark: {FORM}")
    given = dict(mark.kwargs)
    least, against = given.pop("at_least", None), given.pop("against", "")
    if given or len(mark.args) != 1 or not isinstance(mark.args[0], str) or not isinstance(against, str):
        raise UsageError(f"mark isolation: expected {FORM}")
    if (least is None) == (not against):
        raise UsageError("mark isolation: give at_least or against, and not both")
    if least is not None and not (type(least) in (int, float) and 0 < least <= 1):
        raise UsageError(f"mark isolation: at_least={least!r:.40} is not a number above 0 and at most 1")
    return IsolationRequest(mark.args[0], None if least is None else float(least), against)


def measure(
    wanted: IsolationRequest, options: Options, opened: OpenRunner, progress: Progress
) -> IsolationVerdict:
    """The mix is chosen on this system, and is the same on the other one."""
    system = wanted.system or options.systems[0]
    study = replace(studyfile.load(studyfile.find(wanted.study)), system=system)
    study = studyfile.quick(study) if options.quick else study
    _refuse_unverified(study)
    mix_isolation, counts = steps.isolation_of(study, _folder(options, study), None, opened, progress)
    if wanted.at_least is not None:
        return isolation.at_least(mix_isolation, wanted.at_least)
    other = replace(study, system=wanted.against)
    beside, _ = steps.isolation_of(other, _folder(options, other), counts, opened, progress)
    return isolation.not_worse(mix_isolation, beside, wanted.against)


def _refuse_unverified(study: Study) -> None:
    for study_input in study.inputs:
        tool = catalog.load_workload(study_input.workload).tool
        if tool and not tool.verifies:
            so = "so no gate may use its figures: leave it out of this study"
            raise UsageError(f"{study_input.where}: workload: {study_input.workload} is {UNVERIFIED}, {so}")


def _folder(options: Options, study: Study) -> Path:
    system = "".join(char if char.isalnum() else "-" for char in study.system)
    return options.reports / "mixes" / f"{study.name}-{system}{'-quick' if options.quick else ''}"


def fixture_value(request: pytest.FixtureRequest, state: PytestSession) -> IsolationResult:
    wanted = asked(request.node)
    if state.options.plan:
        pytest.skip("--plan measures no study; next: benchgate mix vectors STUDY --plan")
    opened = partial(guest_runner.opened, forks=state.options.start == FORK)
    measuring = partial(measure, wanted, state.options, opened, state.progress)
    return IsolationResult(or_exit(request.config, measuring), state.options.inconclusive_fails)
