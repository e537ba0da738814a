"""Whole sessions made in memory, with runs at one and two CPUs that verify, and what a forger does to them.

The rules that tie a run to its session are written here again, so that a mistake in base/identity.py is not
repeated.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.cells import Cell
from benchgate.base.errors import EvidenceError
from benchgate.evidence import provenance
from benchgate.evidence.chain import chain_start, chained, manifest_text
from benchgate.evidence.files import ATTEMPTS, MANIFEST, SESSION, digest_of, files_below, folder_digest
from benchgate.evidence.rows import row_of
from benchgate.evidence.session_folder import RESULTS, SessionFolder
from benchgate.plan.options import Options
from benchgate.run.record import save
from benchgate.session import publish
from benchgate.session.rejudging import rejudge
from benchgate.session.rejudging.trust import TrustedPrograms
from tests.unit.factories import POLICY
from tests.unit.plans import sweep
from tests.unit.sessions import END, INFO, new_session
from tests.wirekit import console, guest_argv, primes_run, recorded, unframed, write_affinity, write_argv

FILES = {"kernel": "b" * 64, "initrd": "c" * 64}
GUEST = hashlib.sha256("".join(f"{name}={FILES[name]}\n" for name in sorted(FILES)).encode()).hexdigest()
PLAN = sweep(2, hi=100_000)
CELLS = {planned.cell.cpus: planned.cell for planned in PLAN.cells if planned.cell.cpus <= 2}
OPTIONS = {"order_seed": 1, "runs": 5, "seeds": 5}
SLOWER_NS = (30_000, 10_000, 50_000, 20_000, 40_000)
"""What is added to the counted runs of a cell. It does not drift, so the gate passes."""
_TWO = recorded("good-linux-primes-smp2")


def nonce_of(session: str, attempt: int) -> str:
    return hashlib.sha256(f"{session} attempt {attempt}".encode()).hexdigest()[:16]


def console_of(cpus: int, nonce: str, slower_ns: int) -> bytes:
    """The recorded console, its workers and windows longer; that of one CPU has all work in one worker."""
    begin, first, second, window, result, *_ = unframed(_TWO)
    begin = begin.replace("nonce=deadbeef01", f"nonce={nonce}")
    workers = [first, second]
    if cpus == 1:
        begin = begin.replace("workers=2", "workers=1").replace("online=2", "online=1")
        totals = result.removeprefix("result ")
        workers = [f"worker id=0 cpu=0 cpu_end=0 start=2583756103 end=2598656103 lo=2 hi=100001 {totals}"]
        window = window.replace("=2592612865", "=2598656103").replace("=2594158552", "=2599656103")
    ends = {"2592612865": 2592612865 + slower_ns, "2594158552": 2594158552 + slower_ns}
    ends |= {"2598656103": 2598656103 + slower_ns, "2599656103": 2599656103 + slower_ns}
    lines = [begin, *workers, window, result, "foreign time=1000"]
    for old, new in ends.items():
        lines = [line.replace(f"={old}", f"={new}") for line in lines]
    return console(*lines)


def made(reports: Path, short_id: str = "abcdef") -> Path:
    """A sealed session as `pytest` leaves it: a warm-up and five runs of each cell, all reports."""
    session = new_session(reports, short_id)
    facts = provenance.planned([PLAN], POLICY, {CELLS[1].row: FILES})
    session.update(**facts, binding=1, options={**INFO.options, **OPTIONS})
    runs = [(cell, True, 1) for cell in CELLS.values()]
    runs += [(cell, False, number) for number in range(1, len(SLOWER_NS) + 1) for cell in CELLS.values()]
    for order, (cell, warmup, seed) in enumerate(runs, start=1):
        _add(session, facts, cell, order, warmup=warmup, seed=seed)
    session.close(END)
    view = rejudge.judge_session(session.folder)
    publish.write(session, view, Options(reports=reports, inconclusive_fails=True, keep=0), print)
    return session.folder


def _add(
    session: SessionFolder, facts: dict[str, Any], cell: Cell, order: int, *, warmup: bool, seed: int
) -> None:
    place = session.begin(cell.id)
    nonce = nonce_of(session.id, place.run)
    text = console_of(cell.cpus, nonce, SLOWER_NS[seed - 1] + place.run + 200_000 * warmup)
    raw = replace(
        primes_run(place.folder, text),
        cell=cell,
        attempt=place.run,
        order=order,
        seed=seed,
        nonce=nonce,
        warmup=warmup,
        pins=tuple(range(cell.cpus)),
        guest_digest=GUEST,
    )
    write_argv(place.folder, guest_argv(cell.cpus, nonce=nonce, cell=cell))
    write_affinity(place.folder, [[cpu] for cpu in range(cell.cpus)])
    save(raw)
    session.record(row_of(rejudge._judge(place.folder, facts, SESSION, TrustedPrograms(), POLICY.void)))


# ---- the forger


def edit_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data, indent=2) + "\n")


def run_folders(folder: Path) -> list[Path]:
    return sorted((folder / "runs").iterdir())


def renumber(run: Path, attempt: int) -> None:
    """The run becomes another attempt: in its record and in its folder's name, but not in its console."""
    edit_json(run / "run.json", lambda record: record.update(attempt=attempt, order=attempt))
    run.rename(run.with_name(f"{attempt:04d}-{run.name.partition('-')[2]}"))


def renumber_all(folder: Path) -> None:
    """The attempts become 1, 2, 3 ... again, and the counted runs of each cell have the seeds 1, 2, 3 ..."""
    for number, run in enumerate(run_folders(folder), start=1):
        if run.name[:4] != f"{number:04d}":
            renumber(run, number)
    seeds: dict[str, int] = {}
    for run in run_folders(folder):
        record = json.loads((run / "run.json").read_text())
        if not record["warmup"]:
            name = run.name.partition("-")[2]
            seeds[name] = seeds.get(name, 0) + 1
            edit_json(run / "run.json", lambda data, seed=seeds[name]: data.update(seed=seed))  # type: ignore[misc]


def seal_again(folder: Path) -> None:
    """A manifest that fits the changed files."""
    names = [name for name in files_below(folder) if name != MANIFEST]
    (folder / MANIFEST).write_text(manifest_text({name: digest_of(folder, name) for name in names}))


def chain_again(folder: Path) -> None:
    """A whole new chain for the folders that are there, with the outcomes of results.csv."""
    rows = (folder / RESULTS).read_text().splitlines()[1:]
    outcomes = {int(row.split(",")[8]): row.split(",")[11] for row in rows}
    session = json.loads((folder / SESSION).read_text())["id"]
    previous, lines = chain_start(session), []
    for run in run_folders(folder):
        number, name = int(run.name[:4]), f"runs/{run.name}"
        link = chained(previous, number, name, outcomes.get(number, "ok"), folder_digest(folder, name))
        lines.append(link.line())
        previous = link.chain
    (folder / ATTEMPTS).write_text("".join(lines))
    edit_json(folder / SESSION, lambda facts: facts.update(chain=previous))


def report_again(folder: Path) -> bool:
    """Every report made again from the forged runs, by benchgate without the check that hinders the forger.
    False if the runs cannot be judged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rejudge, "check_binding", lambda *_, **__: None)
        try:
            texts = rejudge.recompute(folder)
        except EvidenceError:
            return False
    for name, text in texts.items():
        (folder / name).write_text(text)
    return True


def forge(folder: Path) -> None:
    """All that hashes, chain and reports can show fits the changed runs again."""
    report_again(folder)
    chain_again(folder)
    seal_again(folder)


def replaced_everywhere(folder: Path, old: str, new: str, spared: tuple[str, ...]) -> int:
    """Replaces a number in each file but the raw logs; gives how many files had it."""
    count = 0
    for name in files_below(folder):
        path = folder / name
        data = path.read_bytes()
        if path.name not in spared and old.encode() in data:
            path.write_bytes(data.replace(old.encode(), new.encode()))
            count += 1
    return count


def copied(folder: Path, to: Path) -> Path:
    """A copy under the same session's name."""
    return Path(shutil.copytree(folder, to / folder.name))
