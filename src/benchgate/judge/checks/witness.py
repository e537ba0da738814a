"""Holds what a workload promises of its figures against what the machine saw.

Takes a verified run, its files, its workload and its system; gives a `WitnessedPromise` for each promise that
is made with its parameters: both sides with their values, or why the machine cannot witness it. Fails with
VerifyError, which names both sides, if the machine contradicts a promise, or if the guest does not report
what a promise is of.

Only the instruction clock sees anything. witness_names.py has the values of names.
"""

from __future__ import annotations

import bisect
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from benchgate.base.errors import VerifyError
from benchgate.base.runs import VerifiedRun
from benchgate.base.statistics.histogram import Histogram, bounds
from benchgate.base.system.systems import System
from benchgate.base.workload.witness import (
    COUNT,
    EACH,
    OF_WORKERS,
    OUTSIDE,
    RUN,
    Claim,
    ClaimTerm,
    Promise,
    WitnessedPromise,
    of_machine,
    parse,
)
from benchgate.base.workload.workloads import Workload
from benchgate.insn.counts import PROGRAMS
from benchgate.judge.checks.witness_names import RunNames
from benchgate.judge.checks.witness_threads import UnseenError
from benchgate.judge.run_files import RunFiles

_USUAL = parse(f"{OUTSIDE} <= {PROGRAMS} / 10", lambda _: COUNT)
"""Holds for a workload that says nothing of what it does before and after its work."""
_STRAY = 1
"""So many waits of each worker are not held against a histogram: a thread that moves between two vCPUs, whose
times differ by up to a step of the clock, may time less than the machine saw."""
_TELLING = 1000
"""A promise witnesses nothing that holds of so many times as much and of as little."""
_FAR = Fraction(2**64)
"""More than a machine sees of anything."""
_SHOWN = 6
"""The most decimals of a value in a sentence."""


_USUALLY = Promise(
    because="a workload does in its window what it reports; one that needs more around it says how much, by "
    f"a claim of `{OUTSIDE}`",
    when={},
    claims=(_USUAL,),
)


def witnessed(
    verified_run: VerifiedRun, files: RunFiles, workload: Workload, system: System
) -> tuple[WitnessedPromise, ...]:
    params = dict(verified_run.run.cell.params)
    made = [promise for promise in workload.promises if promise.is_made(params)]
    if verified_run.void:
        return ()
    seen = RunNames(verified_run, files, workload, system)
    if not any(OUTSIDE in promise.names for promise in made):
        _claimed(_USUALLY, seen)
    found_of = (
        (promise, _contained(promise, seen) if promise.histogram else _claimed(promise, seen))
        for promise in made
    )
    return tuple(replace(seen_of, of_threads=promise.needs_threads) for promise, seen_of in found_of)


def _claimed(promise: Promise, seen: RunNames) -> WitnessedPromise:
    reasons = []
    for claim in promise.claims:
        places = range(max(1, seen.places) if any(name.startswith(f"{EACH}.") for name in claim.names) else 1)
        try:
            by_place = [{name: seen.value(name, place) for name in claim.names} for place in places]
            _require_own(claim, by_place[0], seen)
        except UnseenError as error:
            reasons.append(str(error))
            continue
        texts = [_held(promise, claim, values, seen) for values in by_place]
        values, text = by_place[0], texts[0]
        if not _tells(claim, values, seen.workload.params):
            reasons.append(
                f"`{claim.text}` would hold of {_TELLING:,} times as much of each, and of as little: {text}"
            )
            continue
        is_known = seen.tells_results or not any(of_machine(name) for name in claim.names)
        exact = _exact(claim, seen.workload.params) if is_known else ()
        return WitnessedPromise(claim.text, promise.because, text, figures=_figures(claim), exact=exact)
    return WitnessedPromise(promise.text, promise.because, why="; ".join(dict.fromkeys(reasons)))


def _require_own(claim: Claim, values: Mapping[str, Fraction], seen: RunNames) -> None:
    """A limit is not broken by what a machine with memory counted of the kernel, too."""
    nothing = {name: Fraction(0) for name in claim.names if seen.is_of_all(name)}
    if nothing and not _holds(claim, values) and _holds(claim, {**values, **nothing}):
        raise UnseenError(f"accesses were counted of all programs and the kernel: {', '.join(nothing)}")


def _held(promise: Promise, claim: Claim, values: Mapping[str, Fraction], seen: RunNames) -> str:
    """Both sides with their values."""
    try:
        sides, holds = claim.values(values), claim.holds(values)
    except ValueError as error:
        raise VerifyError(
            f"the promise `{claim.text}` of {seen.workload.name} has no value: {error}"
        ) from None
    text = f"{_compared(claim, sides)} ({_listed(values)})"
    if not holds:
        raise VerifyError(
            f"the machine contradicts the guest: `{claim.text}` does not hold: {text}. It must, because "
            f"{promise.because}"
        )
    return text


def _tells(claim: Claim, values: Mapping[str, Fraction], params: Container[str]) -> bool:
    """Whether the claim says something of a figure in this run: it would not hold if one of its names were so
    many times as much, or as little. One that limits what the machine saw, by what was asked for alone, says
    so much however far away it is."""
    if not _figures(claim):
        return True
    seen = [name for name in claim.names if of_machine(name)]
    is_asked = all(name in params or name in RUN for name in claim.names if name not in seen)
    if is_asked and not all(_holds(claim, {**values, name: _FAR}) for name in seen):
        return True
    others = (
        {**values, name: other}
        for name, value in values.items()
        for other in (value * _TELLING or Fraction(_TELLING), value / _TELLING)
    )
    return not all(_holds(claim, other) for other in others)


def _holds(claim: Claim, values: Mapping[str, Fraction]) -> bool:
    try:
        return claim.holds(values)
    except ValueError:  # a division by zero, or too large a number
        return False


def _compared(claim: Claim, sides: Sequence[Fraction]) -> str:
    words = [_number(sides[0])]
    for sign, side in zip(claim.signs, sides[1:], strict=True):
        words += [sign, _number(side)]
    return " ".join(words)


def _listed(values: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def _number(value: Fraction) -> str:
    if value.denominator == 1:
        return f"{value.numerator:,}"
    return f"{float(value):,.{_SHOWN}f}".rstrip("0")


def _figures(claim: Claim) -> tuple[str, ...]:
    return tuple(_what(name) for name in claim.names if not of_machine(name))


def _exact(claim: Claim, params: Container[str]) -> tuple[str, ...]:
    """What the guest reports and the claim says is equal to what the machine itself has: to calls that
    succeeded, to what it measured, to what the kernel did, or to what was asked for. A call that was made may
    have failed."""
    if claim.signs != ("==",):
        return ()
    pairs = (claim.sides, claim.sides[::-1])
    return tuple(
        _what(side.word)
        for side, other in pairs
        if _is_of_all(side) and other.names() and all(_is_of_results(name, params) for name in other.names())
    )


def _is_of_all(side: ClaimTerm) -> bool:
    """Whether the side is one figure of the guest, of all its workers together."""
    is_plain = not side.parts and side.number is None and not of_machine(side.word)
    return is_plain and not side.word.startswith(("most.", "least.", "each."))


def _is_of_results(name: str, params: Container[str]) -> bool:
    if name in params or name == "cpus":
        return True
    return bool(of_machine(name)) and not name.removeprefix("total.").startswith(("syscalls", "bytes."))


def _what(name: str) -> str:
    first, _, rest = name.partition(".")
    return rest if first in OF_WORKERS else name


# ---- histograms, bucket by bucket


def _contained(promise: Promise, seen: RunNames) -> WitnessedPromise:
    """Each length that the machine saw of the workers who report the histogram is in it, as itself or as a
    longer one: from each bucket on the guest has at least as many values. Which thread a worker is need not
    be known: of all threads those count that have the fewest."""
    name = promise.histogram
    try:
        seen.require_clock()
        tick, reporters, waits = seen.ns_of_tick, len(seen.reporters(name)), seen.waits(promise)
    except UnseenError as error:
        return WitnessedPromise(promise.text, promise.because, why=str(error))
    histogram = seen.histogram(name)
    if wrong := _not_in(histogram, waits, reporters, tick):
        raise VerifyError(
            f"the machine contradicts the guest: in {name}, {wrong}. It must contain them, because "
            f"{promise.because}"
        )
    known = sum(sorted(map(len, waits))[:reporters])
    text = f"{histogram.count:,} values contain the {known:,} {promise.sees} of the thread view"
    return WitnessedPromise(promise.text, promise.because, seen=text, figures=(name,))


def _not_in(histogram: Histogram, waits: Sequence[Sequence[int]], reporters: int, tick: Fraction) -> str:
    """Which of these lengths, in ns and by thread, the histogram cannot contain; empty: it contains all."""
    left = histogram.count
    for bucket, count in [(-1, 0), *histogram.buckets.items()]:
        left -= count
        most = 0 if bucket < 0 else (bounds(bucket)[1] + 1) * tick
        longer = sum(sorted(len(wait) - bisect.bisect_right(wait, most) for wait in waits)[:reporters])
        if longer > left + _STRAY * reporters:
            return (
                f"{left:,} of {histogram.count:,} values are longer than {_number(Fraction(most))} ns, but "
                f"the machine saw {longer:,} waits of these workers that were"
            )
    return ""
