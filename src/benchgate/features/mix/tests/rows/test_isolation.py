"""How Linux and tern isolate the parts of a mix that fits into the machine (docs/how-to/mix.md).

Both parts have a CPU, and together use less than the last cache, so a system that isolates well costs neither
of them much.
"""

from pathlib import Path

import pytest

from benchgate.features.mix.session.isolation_mark import IsolationResult

pytestmark = pytest.mark.mixed

PAIR = str(Path(__file__).with_name("pair.yaml"))


@pytest.mark.system("linux")
@pytest.mark.isolation(PAIR, at_least=0.5)
def test_parts_that_fit_keep_half_of_their_score(isolation: IsolationResult) -> None:
    isolation.require_pass()


@pytest.mark.system("kernel")
@pytest.mark.isolation(PAIR, at_least=0.5)
def test_so_they_do_on_tern(isolation: IsolationResult) -> None:
    isolation.require_pass()


@pytest.mark.system("kernel")
@pytest.mark.isolation(PAIR, against="linux")
def test_tern_isolates_them_no_worse_than_linux(isolation: IsolationResult) -> None:
    isolation.require_pass()
