"""`benchgate bisect GOOD BAD -- pytest args`: the commit with which a verdict became FAIL.

Takes two revisions and the arguments of pytest, of which --system names the system whose source is walked,
unless a workload is named whose source is; gives the answer as text, and the exit status: 0 if one commit was
found, 5 if only skipped commits are left. PASS is good, FAIL is bad; INCONCLUSIVE, INVALID and a build that
fails are skipped. Every step is a session of its own, kept in the bisect's folder, and a bisect that was
interrupted goes on there. `git bisect` chooses the commits, in a repository of its own that borrows the
user's objects: the user's checkout, index, branches and bisect state are not touched. Fails with UsageError,
which has git's words.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base import files
from benchgate.base.errors import UsageError
from benchgate.base.snapshots import AUTO, FORK, START, StartKind
from benchgate.base.system.systems import SettingForm
from benchgate.base.text import counted, one_line, visible
from benchgate.build.revision import Repository, commit_of, exported, git, repository_of, sources_of
from benchgate.evidence.files import SESSION, read_object
from benchgate.features.bisect import state, step
from benchgate.features.bisect.state import BisectQuestion, BisectState, BisectStep, Term
from benchgate.plan import catalog
from benchgate.session.comparing import comparison

UNDECIDED = 5
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BisectRequest:
    good: str
    bad: str
    repo: Path | None
    """The repository with the revisions; None: the build's folder."""
    out: Path | None
    arguments: tuple[str, ...]
    """The arguments of pytest."""
    workload: str = ""
    """The name or path of the workload whose source is walked; empty: the system's source is."""


@dataclass(frozen=True, slots=True)
class WalkedSource:
    """What is walked, and the setting of the system that says which commit it is built from."""

    key: str
    """The setting; empty if a workload is walked."""
    before: str
    """What its value has before the commit: nothing, or the path of a Linux and an @."""
    folder: Path
    """A folder of the repository."""
    sources: tuple[Path, ...] = ()
    """The build depends on these; empty: on the whole repository."""

    @classmethod
    def of_workload(cls, name: str) -> WalkedSource:
        folder = catalog.load_workload(name).file.parent
        return cls("", "", folder, (folder,))


@dataclass(frozen=True, slots=True)
class Walk:
    """A bisect that has begun."""

    question: BisectQuestion
    source: WalkedSource
    repository: Repository
    paths: tuple[str, ...]
    """The build depends on these paths; commits that change none of them are not tested."""
    folder: Path
    say: Say

    def word(self, commit: str) -> str:
        """The word of --system that names the system of this commit."""
        if not self.source.key:
            return self.question.system
        name, chosen = catalog.split_system(self.question.system)
        values = {**chosen, self.source.key: f"{self.source.before}{commit}"}
        return ":".join([name, *(f"{key}={value}" for key, value in values.items())])

    def pair(self, commit: str) -> step.Pair:
        words = tuple(dict.fromkeys(map(self.word, (self.question.good, commit))))
        good, *other = (catalog.system_with(*catalog.split_system(word)) for word in words)
        return step.Pair(good, other[0] if other else None, words)

    def test(self, known: BisectState, commit: str) -> BisectState:
        """Gives the state with this commit's step, after it was written to disk."""
        folder = self._new_folder(len(known.steps) + 1, commit)
        with self._workload(commit, folder) as workload:
            tested = step.run(self.question, replace(self.pair(commit), workload=workload), commit, folder)
        known = known.with_step(tested)
        state.write(self.folder, known)
        self.say(f"{state.line(tested)}")
        return known

    @contextmanager
    def _workload(self, commit: str, folder: Path) -> Iterator[Path | None]:
        """The YAML of the walked workload at this commit. A copy stays with the step, for `verify`."""
        if self.source.key:
            yield None
            return
        file = Path(self.question.workload)
        with exported(sources_of(file.parent, commit), folder / "source") as place:
            shutil.copytree(place, folder / "workload")
            yield place / file.name

    def _new_folder(self, number: int, commit: str) -> Path:
        """A step that was interrupted left its folder, which is kept."""
        name = self.folder / "steps" / f"{number:02d}-{commit[:10]}"
        free = next(folder for folder in _names(name) if not folder.exists())
        free.mkdir(parents=True)
        return free


def run(order: BisectRequest, say: Say) -> tuple[str, int]:
    with ExitStack() as stack:
        walk = _begin(order, say, stack)
        known = state.read(walk.folder, walk.question)
        state.write(walk.folder, known)
        if known.steps:
            say(f"{counted(len(known.steps), 'step')} done before ({walk.folder / state.NAME}); going on")
        known = _ends(walk, known)
        while True:
            chosen = next_commit(walk.folder, walk.repository, walk.paths, known)
            if not chosen.commit:
                return _answer(walk, known, chosen), 0 if chosen.first_bad else UNDECIDED
            subject = subject_of(walk.repository, chosen.commit)
            say(f"about {chosen.left} left; testing {chosen.commit[:10]} ({subject})")
            known = walk.test(known, chosen.commit)


def _ends(walk: Walk, known: BisectState) -> BisectState:
    """GOOD must pass and BAD must fail, or there is nothing to find."""
    ends = (walk.question.good, Term.GOOD, "GOOD"), (walk.question.bad, Term.BAD, "BAD")
    for commit, wanted, name in ends:
        measured = known.step(commit)
        if measured is None:
            walk.say(f"testing {name} {commit[:10]} ({subject_of(walk.repository, commit)})")
            known = walk.test(known, commit)
            measured = known.steps[-1]
        if measured.term is not wanted:
            raise UsageError(_wrong_end(walk, measured, name))
    return known


def _wrong_end(walk: Walk, step: BisectStep, name: str) -> str:
    wanted, why = "pass" if name == "GOOD" else "fail", state.reason(step, walk.folder)
    return (
        f"{name} {step.commit[:10]} must {wanted}, and is {step.term}: {why}; choose another commit "
        f"or threshold; its session: {walk.folder / step.session if step.session else 'none'}"
    )


def _begin(order: BisectRequest, say: Say, stack: ExitStack) -> Walk:
    word, arguments = _with_start(*_without("--system", order.arguments))
    source = WalkedSource.of_workload(order.workload) if order.workload else _walked(word)
    folder, where = source.folder, order.repo or source.folder
    repository = repository_of(folder)
    if repository_of(where).common != repository.common:
        what = order.workload or word
        raise UsageError(f"--repo {where}: {what} is built from another repository, {repository.top}")
    workload = str(catalog.load_workload(order.workload).file) if order.workload else ""
    ends = commit_of(where, order.good), commit_of(where, order.bad)
    question = BisectQuestion(*ends, word, arguments, workload)
    if question.good == question.bad:
        raise UsageError(f"{order.good} and {order.bad} are the same commit, {question.good[:10]}")
    place = order.out or Path("reports") / f"bisect-{question.good[:10]}-{question.bad[:10]}"
    kept = place.absolute()
    stack.enter_context(files.locked(kept, "bisects"))
    sources = sources_of(folder, question.good)
    paths = [sources.below(one) for one in source.sources if sources.covers(one)]
    return Walk(question, source, repository, () if "" in paths else tuple(paths), kept, say)


def _walked(word: str) -> WalkedSource:
    """A source of Linux that is a folder, else the revision of what the system's YAML builds."""
    name, chosen = catalog.split_system(word)
    system = catalog.system_with(name, chosen)
    settings = system.settings
    for key, form in settings.forms.items():
        path, commit = form.divided(settings.values[key]) if form is SettingForm.SOURCE else ("", "")
        if commit and path:
            raise UsageError(f"--system {word}: leave out {commit} in {key}=, which bisect chooses")
        if path:
            folder = (system.file.parent / path).absolute()
            return WalkedSource(key, f"{folder}@", folder)
    key = settings.revision
    if system.build is None or not key:
        raise UsageError(
            f"--system {word}: nothing says how to build a revision; name a git checkout of Linux, as in "
            "linux:source=PATH, or add to its YAML `build` and a setting such as `rev: {revision: worktree}`"
        )
    if key in chosen:
        raise UsageError(f"--system {word}: leave out {key}=, which bisect chooses")
    return WalkedSource(key, "", system.build.folder, system.build.sources)


def _with_start(given: Sequence[str], arguments: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The system, with the start that --start chooses as a setting, which is part of its name; and the other
    arguments."""
    word = _only_system(given)
    start, others = _without("--start", arguments)
    if not start or start[-1] not in (*StartKind, AUTO, FORK):  # pytest refuses another
        return word, arguments
    system = catalog.load_system(word, start=start[-1])
    if system.boot.start is StartKind.WARM and START not in catalog.split_system(word)[1]:
        word = f"{word}:{START}={StartKind.WARM}"
    return word, arguments if start[-1] == FORK else others


def _without(option: str, arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The values of an option, and the other arguments."""
    values: list[str] = []
    others: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == option:
            values.append(next(words, ""))
        elif word.startswith(f"{option}="):
            values.append(word.partition("=")[2])
        else:
            others.append(word)
    return values, tuple(others)


def _only_system(systems: Sequence[str]) -> str:
    if len(systems) != 1 or not systems[0]:
        raise UsageError(
            "bisect walks the source of one system: give pytest's --system once after `--`, as in "
            "`benchgate bisect v1.0 HEAD -- tests/smp --system bench/mine.yaml`"
        )
    return systems[0]


def _names(name: Path) -> Sequence[Path]:
    return [name, *(name.with_name(f"{name.name}-{number}") for number in range(2, 1000))]


def _answer(walk: Walk, known: BisectState, choice: BisectChoice) -> str:
    folder, question, of = walk.folder, walk.question, walk.repository
    lines = _found(of, choice.first_bad) if choice.first_bad else _among(of, known, choice)
    step = known.step(choice.first_bad) or _earliest_bad(known, choice)
    if step is not None:
        lines += ["", state.reason(step, folder), *_against_good(folder, step)]
    skipped = [skip for skip in known.steps if skip.term is Term.SKIP]
    if skipped:
        lines += ["", "skipped:", *(f"  {state.line(skip)}" for skip in skipped)]
    places = f"{folder / state.LOG}, {folder / 'steps'}"
    lines += ["", f"{len(known.steps)} steps, each with its session: {places}"]
    walked = f"{question.workload} on {question.system}" if question.workload else question.system
    lines.append(f"from GOOD {question.good[:10]} to BAD {question.bad[:10]} of {walked}")
    return "\n".join(map(visible, lines))


def _found(repository: Repository, commit: str) -> list[str]:
    done = git(repository.top, "log", "-1", "--format=%an, %ad", "--date=short", commit)
    return [
        f"the first bad commit is {commit[:10]}: {subject_of(repository, commit)}",
        f"  {done.stdout.strip()}; git -C {repository.top} show {commit[:10]}",
    ]


def _among(repository: Repository, known: BisectState, choice: BisectChoice) -> list[str]:
    lines = ["the first bad commit is one of these, and the others of them could not be judged:"]
    for commit in choice.among:
        step, subject = known.step(commit), subject_of(repository, commit)
        lines.append(f"  {commit[:10]} {step.term if step else 'not tested'}: {subject}")
    return lines


def _earliest_bad(known: BisectState, choice: BisectChoice) -> BisectStep | None:
    """Gives the first commit that was seen to be bad, among those of which one is the first bad one."""
    steps = map(known.step, choice.among)
    return next((step for step in steps if step is not None and step.term is Term.BAD), None)


def _against_good(folder: Path, step: BisectStep) -> list[str]:
    """Both were measured in one session: A is GOOD."""
    session = folder / step.session
    letters = read_object(session, SESSION).get("letters", {})
    if not step.session or not isinstance(letters, dict) or not {"A", "B"} <= letters.keys():
        return []
    try:
        table = comparison.text(f"{session}:{letters['A']}", f"{session}:{letters['B']}")
    except UsageError as error:
        return [f"its figures have no counterpart in GOOD: {error}"]
    return ["", f"GOOD (A) and {step.commit[:10]} (B), measured in one session:", *table.split("\n")]


# ---- which commit is next


_FOLDER = "history.git"
_FOUND = re.compile(r"^([0-9a-f]{40,64}) is the first bad commit$", re.MULTILINE)
_LEFT = re.compile(r"roughly ([0-9]+) steps?")
_ONLY_SKIPPED = 2
"""The status of `git bisect` if all commits that could be the first bad one were skipped."""
_COMMIT = re.compile(r"^[0-9a-f]{40,64}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BisectChoice:
    """The next thing is a commit to test, the first bad commit, or the commits among which it is."""

    commit: str = ""
    left: int = 0
    """About how many steps there are, with this one."""
    first_bad: str = ""
    among: tuple[str, ...] = ()


def next_commit(
    folder: Path, repository: Repository, paths: Sequence[str], so_far: BisectState
) -> BisectChoice:
    """Begins anew and repeats all steps, so that it does not matter how the last call ended."""
    place = _repository(folder / _FOLDER, repository, so_far)
    ends = so_far.question.bad, so_far.question.good
    said = _bisect(place, "start", "--no-checkout", *ends, "--", *paths)
    for made in so_far.steps:
        if made.commit not in ends and not (said.first_bad or said.among):
            said = _bisect(place, str(made.term), made.commit)
    return said


def subject_of(repository: Repository, commit: str) -> str:
    done = git(repository.top, "log", "-1", "--format=%s", commit)
    return one_line(done.stdout)


def _repository(place: Path, repository: Repository, so_far: BisectState) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    done = git(place.parent, "init", "--quiet", "--bare", str(place))
    if done.returncode:
        raise UsageError(f"git cannot make {place}: {one_line(done.stderr)}")
    (place / "objects/info/alternates").write_text(f"{repository.common / 'objects'}\n", encoding="utf-8")
    if (repository.common / "shallow").is_file():
        shutil.copyfile(repository.common / "shallow", place / "shallow")
    _ = git(place, "update-ref", "--no-deref", "HEAD", so_far.question.bad)  # `git bisect start` wants a HEAD
    return place


def _bisect(place: Path, *words: str) -> BisectChoice:
    done = git(place, "bisect", *words)
    if first_bad := _FOUND.search(done.stdout):
        return BisectChoice(first_bad=first_bad[1])
    if done.returncode == _ONLY_SKIPPED:
        return BisectChoice(among=tuple(_COMMIT.findall(done.stdout)))
    chosen = git(place, "rev-parse", "--verify", "--quiet", "BISECT_HEAD")
    if done.returncode or chosen.returncode:
        said = one_line(done.stderr or done.stdout, 400)
        raise UsageError(f"git bisect {words[0]}: {said}")
    left = _LEFT.search(done.stdout)
    return BisectChoice(chosen.stdout.strip(), 1 + int(left[1]) if left else 1)
