"""The door for pytest: options, marks, fixtures, and when a run of pytest becomes one that uses benchgate.

Options and marks are known at once, by their tables; an installed feature that cannot be used is a
pytest.UsageError. pytest chooses its root folder again when it knows the options; that fails with one, too,
if it has read the wrong ini file. All else is imported at the first use: an option, or a function with a
fixture or a mark of ours. A run of other tests has none of these, and costs nothing. Fails as the functions
of session/pytest_hooks/pytest_run.py do, which are behind this door.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.config import findpaths

from benchgate import hooks
from benchgate.hooks import Option
from benchgate.plan import mark_table, option_table
from benchgate.session.pytest_hooks import pytest_use, xdist_partner

if TYPE_CHECKING:
    from benchgate.base.runs import Image
    from benchgate.session.pytest_hooks.pytest_session import Boots, PytestSession
    from benchgate.session.pytest_hooks.results import CellResult, VerdictResult


pytest_plugins = (*hooks.fixture_modules(hooks.shipped()),)
UNKNOWN_MARK = re.compile(r"'(\w+)' not found in `markers` configuration option")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    with _usage_errors():
        _register_options(parser)
        for place in hooks.fixture_modules(hooks.added("mark", ())):
            with hooks.told_of(place):
                pluginmanager.import_plugin(place)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    _choose_root_again(early_config, parser, args)


def pytest_configure(config: pytest.Config) -> None:
    with _usage_errors():
        lines = tuple(mark_table.lines())
    for line in lines:
        config.addinivalue_line("markers", line)
    xdist_partner.register(config, _session)
    if pytest_use.is_configured(config):
        _session(config)


def _session(config: pytest.Config) -> PytestSession:
    from benchgate.session.pytest_hooks import pytest_run

    return pytest_run.state_of(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if pytest_use.is_planned(metafunc):
        from benchgate.session.pytest_hooks import pytest_run

        pytest_run.plan_items(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,  # noqa: ARG001 - pytest gives it by this name
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """With --strict-markers an unknown mark is an error of pytest's, which does not know what was meant."""
    report = yield
    unknown = UNKNOWN_MARK.search(str(report.longrepr)) if report.failed else None
    if unknown and (near := mark_table.nearest(unknown[1])):
        report.sections.append(("benchgate", f"there is no mark `{unknown[1]}`; did you mean `{near}`?"))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection_finish(session: pytest.Session) -> Generator[None]:
    if xdist_partner.in_worker(session.config):  # before xdist tells the controller of the tests
        xdist_partner.announce(session)
    yield
    if pytest_use.has_begun(session.config) or any(map(pytest_use.is_marked, session.items)):
        from benchgate.session.pytest_hooks import pytest_run

        pytest_run.pick(session)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if pytest_use.COMPLAINT in getattr(node, "workeroutput", {}):
        from benchgate.session.pytest_hooks import pytest_run

        pytest_run.take_complaint(node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    outcome = yield
    if pytest_use.has_begun(item.config) or pytest_use.is_marked(item):
        from benchgate.session.pytest_hooks import pytest_run

        pytest_run.require_no_late_mark(item)
    return outcome


# ---- fixtures: each can be requested alone


@pytest.fixture(scope="session")
def benchgate_session(request: pytest.FixtureRequest) -> PytestSession:
    """The session of this pytest run; measuring starts with the first item that needs a result."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    return pytest_fixtures.session(request)


@pytest.fixture
def cell(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> CellResult:
    """The verified runs of a cell: `cell.require_verified()`."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    return pytest_fixtures.cell(request, benchgate_session)


@pytest.fixture
def verdict(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> VerdictResult:
    """The verdict of a gate: `verdict.require_pass()`."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    return pytest_fixtures.verdict(request, benchgate_session)


@pytest.fixture
def image(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> Image:
    """A system's image with the workload of the `workload` mark, ready to boot."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    return pytest_fixtures.image(request, benchgate_session)


@pytest.fixture
def boot(
    request: pytest.FixtureRequest,
    benchgate_session: PytestSession,
    image: Image,  # noqa: ARG001 - requested so that the image is built and the test parametrized
) -> Iterator[Boots]:
    """`boot(cpus=2)` boots the image, pinned, and gives the guest, whose `console` is pexpect;
    `boot(cpus=2, clock="insn")` on the instruction clock. It ends with the test."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    with pytest_fixtures.boots(request, benchgate_session) as start:
        yield start


# ---- options


@contextlib.contextmanager
def _usage_errors() -> Iterator[None]:
    """An installed feature that cannot be used is a sentence, for every run of pytest beside it."""
    try:
        yield
    except Exception as error:
        from benchgate.base.errors import FeatureError

        if isinstance(error, FeatureError):
            raise pytest.UsageError(str(error)) from None
        raise


def _register_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("benchgate", "benchgate: kernel benchmarks as gated tests")
    for option in option_table.known():
        group.addoption(option.flag, help=option.about, default=None, dest=option.key, **_how(option))
        parser.addini(option.key, f"as {option.flag}: {option.about}", default=None, type=_ini_type(option))


def _choose_root_again(early_config: pytest.Config, parser: pytest.Parser, args: Sequence[str]) -> None:
    """pytest chooses its root folder and ini file before it knows our options. It then takes the value in
    `--qemu VALUE` for the path of a test, and would use and write to the folder of that program. Now that the
    options are known, the root is chosen again; an ini file that was read or missed cannot be replaced."""
    flags = [option.flag for option in option_table.known() if option.kind != "flag" and option.flag in args]
    if not flags:
        return
    words = early_config.known_args_namespace
    known = {
        "inifile": words.inifilename,
        "override_ini": words.override_ini,
        "args": words.file_or_dir,
        "rootdir_cmd_arg": words.rootdir or None,
        "invocation_dir": early_config.invocation_params.dir,
    }
    takes = inspect.signature(findpaths.determine_setup).parameters  # pytest 8 has no `override_ini`
    result = findpaths.determine_setup(**{name: value for name, value in known.items() if name in takes})
    root, ini = result[0], result[1]
    if ini != early_config.inipath:
        raise pytest.UsageError(
            f"pytest took the value of {flags[0]} for the path of a test, and so used the ini file "
            f"{early_config.inipath or '(none)'} and not {ini or '(none)'}: write {flags[0]}=VALUE"
        )
    if words.confcutdir == str(early_config.rootpath):
        words.confcutdir = str(root)
    early_config._rootpath = root
    parser.extra_info["rootdir"] = str(root)


def _how(option: Option) -> dict[str, Any]:
    if option.kind == "flag":
        return {"action": "store_true"}
    how: dict[str, Any] = {"action": "append"} if option.kind == "list" else {}
    if option.choices:
        how["choices"] = option.choices
    return {**how, "metavar": option.metavar} if option.metavar else how


def _ini_type(option: Option) -> Any:
    return {"flag": "bool", "list": "args"}.get(option.kind, "string")
