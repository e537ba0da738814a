"""The correct answers of schbench: whose worker is whose, requests that add up, products of matrices, and
histograms that agree with the counts.

Takes the parameters, reports and histograms of a run; gives nothing if they are correct, else fails with
VerifyError. How many requests a thread did depends on the scheduler, so an answer is a function of that
count: after n operations a worker's matrix is A * B^n modulo 2^64, computed here by repeated squaring.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchgate import (
    OracleRun,
    ParamValue,
    VerifyError,
    Words,
    WorkerReport,
    add_up,
    expect,
    expect_histogram,
    random_numbers,
    summed,
    whole,
)

MESSENGER, WORKER, HOG = 0, 1, 2
FIRST_GOAL = 10
"""The goal that auto_rps begins with if none is given."""
_MODULUS = 2**64
_MS = 1_000_000
_FREE = ("due", "posted", "pending", "done", "timed", "inside", "woken", "sum")
"""Counts that depend on the scheduler, and what follows from them."""


# ---- what the parameters say


@dataclass(frozen=True, slots=True)
class Thread:
    role: int
    of: int
    """The messenger's number for a worker; the number of workers for a messenger."""
    goal: int = 0
    first: int = 0
    """The first worker of a messenger, counted from 0."""


@dataclass(frozen=True, slots=True)
class Plan:
    messengers: int
    workers: int
    hogs: int
    goal: int
    adapts: bool
    side: int
    operations: int
    calibrate: bool
    pipe: int
    sleeps: int
    """Both sleeps of a request. This and the rest are lengths in the guest's unit."""
    time: int
    measured: int
    interval: int
    hog_time: int
    hz: int

    @property
    def asks(self) -> bool:
        """Whether a worker gets a request, or a transfer, only when it asks for one."""
        return self.goal == 0

    @property
    def unmeasured(self) -> int:
        """The time before the measured one."""
        return self.time - self.measured

    @property
    def threads(self) -> list[Thread]:
        cuts = [self.workers * i // self.messengers for i in range(self.messengers + 1)]
        goals = [self.goal * cut // self.workers for cut in cuts]
        result = [
            Thread(MESSENGER, end - first, goals[i + 1] - goals[i], first)
            for i, (first, end) in enumerate(itertools.pairwise(cuts))
        ]
        for i, messenger in enumerate(result[:]):
            result += [Thread(WORKER, i)] * messenger.of
        return result + [Thread(HOG, 0)] * self.hogs


def plan_of(params: Mapping[str, ParamValue], run: OracleRun) -> Plan:
    hz = run.hz
    if hz is None:
        raise VerifyError("the guest did not say its hz")

    def ticks(ns: int) -> int:
        return ns * hz // 1_000_000_000

    messengers, threads = whole(params, "message_threads"), whole(params, "threads")
    time, zero = whole(params, "time_ns"), whole(params, "zero_ms") * _MS
    measured = time - whole(params, "warmup_ms") * _MS
    if zero:
        measured -= (measured - 1) // zero * zero
    adapts = whole(params, "auto_rps") > 0
    return Plan(
        messengers=messengers,
        workers=threads * messengers or run.cpus,
        hogs=whole(params, "hogs"),
        goal=whole(params, "rps") or (FIRST_GOAL if adapts else 0),
        adapts=adapts,
        side=math.isqrt(whole(params, "footprint_kb") * 1024 // 24),
        operations=whole(params, "operations"),
        calibrate=params["calibrate"] == "on",
        pipe=whole(params, "pipe"),
        sleeps=sum(ticks(whole(params, f"sleep_{when}_us") * 1000) for when in ("before", "after")),
        time=ticks(time),
        measured=ticks(measured),
        hog_time=ticks(whole(params, "hog_ms") * _MS),
        interval=ticks(whole(params, "interval_ms") * _MS),
        hz=hz,
    )


# ---- the arithmetic


@lru_cache(maxsize=256)
def _factor(side: int, doublings: int) -> Words:
    """B to the power of 2^doublings."""
    if doublings:
        half = _factor(side, doublings - 1)
        return half @ half
    result = random_numbers(0, side * side).reshape(side, side)
    above = np.triu(np.ones((side, side), dtype=bool), 1)
    result[above] &= ~np.uint64(1)
    result[np.eye(side, dtype=bool)] |= np.uint64(1)
    return result


def product(side: int, seed: int, operations: int) -> int:
    """The digest of A * B^operations, where A is filled from the seed."""
    result = random_numbers(0, side * side, seed).reshape(side, side)
    for doublings in range(operations.bit_length()):
        if operations >> doublings & 1:
            result = result @ _factor(side, doublings)
    weights = np.arange(side * side, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return int((result.ravel() * weights).sum(dtype=np.uint64))


def pages(words: int, transfers: int, offset: int) -> int:
    """The sum of the numbers in a worker's pages: page t has 2 * t + offset and the numbers that follow."""
    firsts = transfers * (transfers - 1) + offset * transfers
    return (firsts * words + transfers * (words * (words - 1) // 2)) % _MODULUS


# ---- the checks


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    plan = plan_of(params, run)
    threads = plan.threads
    if len(reports) != len(threads):
        raise VerifyError(f"there are {len(reports)} threads, expected {len(threads)}")
    for report, thread in zip(reports, threads, strict=True):
        for name in _FREE:
            if name not in report.values:
                raise VerifyError(f"worker {report.id} did not report {name}")
        _check_thread(plan, report, thread, reports)
    _check_result(plan, reports, result)
    _check_stay(plan, reports, run)
    _check_histograms(plan, reports, run)
    _check_densest(plan, run)


def _workers(plan: Plan, reports: Sequence[WorkerReport]) -> Sequence[WorkerReport]:
    return reports[plan.messengers : plan.messengers + plan.workers]


def _members(plan: Plan, reports: Sequence[WorkerReport], messenger: Thread) -> Sequence[WorkerReport]:
    first = plan.messengers + messenger.first
    return reports[first : first + messenger.of]


def _check_thread(plan: Plan, report: WorkerReport, thread: Thread, reports: Sequence[WorkerReport]) -> None:
    """Its values are right, given how many requests it had."""
    had = report.values
    right: dict[str, int] = dict.fromkeys(_FREE, 0)
    right |= {"role": thread.role, "of": thread.of, "goal": thread.goal}
    words = plan.pipe // 8
    if thread.role == HOG:
        right["done"] = had["done"]
    elif thread.role == WORKER:
        right |= {name: had[name] for name in ("done", "timed", "inside", "woken")}
        seed = report.id - plan.messengers + 1
        right["sum"] = (
            pages(words, had["done"], 2) if words else product(plan.side, seed, had["done"] * plan.operations)
        )
    else:
        mine = _members(plan, reports, thread)
        right |= {name: had[name] for name in ("due", "posted", "pending")}
        right["sum"] = sum(pages(words, worker_report.values["done"], 1) for worker_report in mine) % _MODULUS
        _check_conservation(plan, report, thread, summed(mine, "done"))
    expect(f"worker {report.id}", had, right)


def _check_conservation(plan: Plan, report: WorkerReport, thread: Thread, done: int) -> None:
    had = report.values
    who = f"wrong answer: posted by worker {report.id}"
    add_up(who, had["posted"], {"completed": done, "pending": had["pending"]})
    if had["posted"] > had["due"]:
        raise VerifyError(f"wrong answer: worker {report.id} posted more than was due")
    if plan.asks and (had["pending"] or had["posted"] < had["due"]):
        raise VerifyError(f"wrong answer: worker {report.id} left requests that a worker had asked for")
    if not plan.asks and not plan.adapts and (right := _due_in(plan.time, thread, plan)) != had["due"]:
        raise VerifyError(f"wrong answer: worker {report.id} reported due={had['due']}, expected {right}")


def _due_in(length: int, messenger: Thread, plan: Plan) -> int:
    """How many requests are due before `length`: the one with number i at i seconds / goal."""
    return -(-length * messenger.goal // plan.hz)


def _check_result(plan: Plan, reports: Sequence[WorkerReport], result: Mapping[str, int]) -> None:
    sums = {name: summed(reports, name) for name in ("due", "posted", "pending", "inside")}
    goal = result.get("goal", 0) if plan.adapts else plan.goal
    completed = summed(_workers(plan, reports), "done")
    expect("the result", result, {**sums, "completed": completed, "goal": goal, "measured": plan.measured})
    if plan.adapts and goal < 1:
        raise VerifyError("wrong answer: the goal has become 0")


def _check_stay(plan: Plan, reports: Sequence[WorkerReport], run: OracleRun) -> None:
    """Nobody leaves before the time is over, and no hog before its own: fewer threads would share the CPUs.
    The time begins when the gate opens: not before the total window, and so not long before the first worker
    begins."""
    first = min(report.start for report in reports)
    opened = first - (run.total - run.work)
    for report, thread in zip(reports, plan.threads, strict=True):
        least = min(plan.time, plan.hog_time) if thread.role == HOG else plan.time
        if report.end < opened + least:
            raise VerifyError(
                f"wrong answer: worker {report.id} left {report.end - first} {run.unit} after the first one "
                f"began, but should have stayed for {least}"
            )


# ---- histograms


def _check_histograms(plan: Plan, reports: Sequence[WorkerReport], run: OracleRun) -> None:
    for name, key in (("wakeup", "woken"), ("request", "timed")):
        counts = [report.values[key] for report in reports]
        expect_histogram(run, name, by_worker=counts, at_most=run.total)
    _check_rates(plan, reports, run)
    request = run.histograms["request"]
    if request.count and not plan.calibrate and not plan.pipe and request.min < plan.sleeps:
        raise VerifyError(f"wrong answer: a request took {request.min} {run.unit}, less than its sleeps")
    if not plan.pipe:
        for report in _workers(plan, reports):
            _check_sleeps(plan, report, run.unit)
    if plan.asks:
        for report in _workers(plan, reports):
            _check_asking(plan, report, run)
    elif summed(reports, "woken") > summed(reports, "posted"):
        raise VerifyError("wrong answer: more wake-ups than requests")
    elif not plan.adapts and not plan.calibrate:
        _check_all_timed(plan, reports)
        _check_queueing(plan, reports, run)


def _check_rates(plan: Plan, reports: Sequence[WorkerReport], run: OracleRun) -> None:
    """Each interval's value is its requests per second, rounded down."""
    intervals = plan.measured // plan.interval
    counts = [intervals] + [0] * (len(reports) - 1)
    rates = expect_histogram(run, "rps", by_worker=counts)
    inside = summed(reports, "inside")
    if rates.sum * plan.interval > inside * plan.hz:
        raise VerifyError(f"wrong answer: the intervals have more than the {inside} requests inside")
    rest = plan.measured - intervals * plan.interval
    lost = plan.workers if rest else 0  # each may have ended one in the time after the last interval
    least = (inside - lost) * plan.hz - intervals * plan.interval
    if rest < len(reports) + intervals and rates.sum * plan.interval < least:
        raise VerifyError(f"wrong answer: the intervals have less than the {inside} requests inside")


def _check_densest(plan: Plan, run: OracleRun) -> None:
    """A worker ends its requests one after the other: the next one after both sleeps and, if it had to ask
    for it, not before the shortest request has passed."""
    rates, request = run.histograms["rps"], run.histograms["request"]
    if plan.pipe or not rates.count:
        return
    apart = max(plan.sleeps, request.min if plan.asks and not plan.calibrate else 0)
    most = plan.workers * (plan.interval // apart + 1) if apart else math.inf
    if rates.max * plan.interval > most * plan.hz:
        raise VerifyError(
            f"wrong answer: an interval has {rates.max} requests per second, but a worker ends one in "
            f"{apart} {run.unit} at most, so there are at most {most} in an interval"
        )


def _check_sleeps(plan: Plan, report: WorkerReport, unit: str) -> None:
    """A worker sleeps for all of its requests, one after the other. With `calibrate` no latency contains the
    sleeps, and with a goal a wait in the queue may be as long as a sleep that was left out."""
    done, had = report.values["done"], report.end - report.start
    if done * plan.sleeps > had:
        raise VerifyError(
            f"wrong answer: worker {report.id} had {done} requests, whose sleeps alone take "
            f"{done * plan.sleeps} {unit}, in {had} of work"
        )


def _check_asking(plan: Plan, report: WorkerReport, run: OracleRun) -> None:
    """It does one request after the other, so a request differs from its wake-up only at the two ends of the
    measured time, and all of them fit into the worker's own time."""
    had = report.values
    apart = int(plan.calibrate or plan.pipe > 0)
    if abs(had["timed"] - had["inside"]) > 1 or abs(had["timed"] - had["woken"]) > apart:
        raise VerifyError(
            f"wrong answer: worker {report.id} ended {had['inside']} requests inside, timed {had['timed']} "
            f"and was woken for {had['woken']}"
        )
    took = run.by_worker["request"][report.id].sum
    if took > report.end - report.start:
        raise VerifyError(f"wrong answer: the requests of worker {report.id} took {took}, more than its time")
    if not apart:
        _check_contains_wakeups(plan, report, run)


def _check_contains_wakeups(plan: Plan, report: WorkerReport, run: OracleRun) -> None:
    """Each of its requests begins with its post, as its wake-up does, and sleeps twice after that. Whether it
    is in the measured time depends on the post, so both histograms have it or neither. So the least request,
    the largest one and their sum are each at least that of the wake-ups, and the sleeps."""
    wakeup, request = run.by_worker["wakeup"][report.id], run.by_worker["request"][report.id]
    if had := request.count:
        for what, took, least in (
            ("together", request.sum, wakeup.sum + had * plan.sleeps),
            ("at most", request.max, wakeup.max + plan.sleeps),
            ("at least", request.min, wakeup.min + plan.sleeps),
        ):
            if took < least:
                raise VerifyError(
                    f"wrong answer: the requests of worker {report.id} took {what} {took}, less than their "
                    f"wake-ups and sleeps, {least}"
                )


def _check_all_timed(plan: Plan, reports: Sequence[WorkerReport]) -> None:
    """With a goal, all that was due in the measured time was timed, unless it still waits."""
    messengers = plan.threads[: plan.messengers]
    due = sum(
        _due_in(plan.time, messenger, plan) - _due_in(plan.unmeasured, messenger, plan)
        for messenger in messengers
    )
    waiting = summed(reports, "due") - summed(reports, "posted") + summed(reports, "pending")
    timed = summed(reports, "timed")
    if not due - waiting <= timed <= due:
        raise VerifyError(
            f"wrong answer: {timed} requests were timed, but {due} were due and {waiting} still wait"
        )


def _check_queueing(plan: Plan, reports: Sequence[WorkerReport], run: OracleRun) -> None:
    """With a goal a latency begins when its request is due, which is known of each request. A worker does
    them in that order: none ends before its sleeps after the last one, or after it was due."""
    for messenger in plan.threads[: plan.messengers]:
        for place, report in enumerate(_members(plan, reports, messenger)):
            end = least = 0
            for number in range(report.values["done"]):
                due = (number * messenger.of + place) * plan.hz // messenger.goal
                end = max(end, due) + plan.sleeps
                least += end - due if due >= plan.unmeasured else 0
            took = run.by_worker["request"][report.id].sum
            if took < least:
                raise VerifyError(
                    f"wrong answer: the requests of worker {report.id} took {took} together, less than their "
                    f"sleeps and their waits for each other, {least}"
                )
