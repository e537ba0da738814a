"""Boots mixes: each is given as frozen data, and gives what each part did, or a reason.

Takes options, of which it uses those about the host, QEMU and the clock; gives a `MixAttempt` for each run,
whose folder has everything that `guest/mix_verify.py` needs to judge it again. QEMU, the clock and the disk
are prepared once. On wall time the host's measuring lock is held while the booter is open. Opening and the
first run of a system fail with HostError, LockError, FetchError, BuildError or UsageError; what goes wrong in
a guest is a reason.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from benchgate.base.cells import Lane
from benchgate.base.errors import UsageError, VerifyError
from benchgate.base.files import write_json
from benchgate.base.identity import nonce_of_seed
from benchgate.base.runs import Image, RawRun
from benchgate.base.text import visible
from benchgate.base.workload.workloads import Workload
from benchgate.build.cache_storage import Notice
from benchgate.features.mix.guest import mix_guest, mix_image
from benchgate.features.mix.guest.mix_runs import Mix, MixRun
from benchgate.features.mix.guest.mix_verify import MIX_FILE, verify_mix
from benchgate.host import lock
from benchgate.judge.oracles.oracle import require_loadable
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell
from benchgate.plan.seats import seat
from benchgate.run.argv import BootOptions
from benchgate.run.attempt import RunRequest
from benchgate.run.parallel import AttemptJob
from benchgate.session.emulators import require_saved
from benchgate.session.makers import local_runner
from benchgate.session.measuring_host import ThisHost
from benchgate.session.workbench import Workbench


@dataclass(frozen=True, slots=True)
class MixAttempt:
    raw: RawRun
    run: MixRun | None
    reason: str = ""
    """The reason why there is no result."""


class MixBooter:
    def __init__(self, options: Options, notice: Notice) -> None:
        self.options, self._notice = options, notice
        self.rule = catalog.load_policy(options.policy).void
        self._bench = Workbench(options, ThisHost(), notice)
        self._loaded: set[str] = set()
        """The workloads whose oracles can be loaded."""
        self.runner = local_runner(options, notice)
        self._stack = ExitStack()
        self._folder = Path()

    def __enter__(self) -> Self:
        self._stack.callback(self.runner.close)
        self._folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="benchgate-mix-")))
        if self.options.clock != "insn":
            wait_s = self.options.lock_wait_s
            self._stack.enter_context(lock.measuring(wait_s, notice=self._notice))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(
        self,
        mix: Mix,
        folder: Path,
        *,
        seed: int = 1,
        attempt: int = 1,
        on_phase: Callable[[str], None] = lambda _: None,
    ) -> MixAttempt:
        """One boot. `folder` exists, and nothing else uses it."""
        request = self.request(mix, folder, seed=seed, attempt=attempt)
        ((_, raw),) = self.runner.execute_all([AttemptJob(request, on_phase)], 1)
        return self.judged(raw, mix)

    def request(self, mix: Mix, folder: Path, *, seed: int = 1, attempt: int = 1) -> RunRequest:
        """What `run` executes."""
        self.require_oracles(part.workload for part in mix.parts if part.workload)
        planned = self._planned(mix)
        image = mix_image.image(mix, mix_guest.plan_text(mix), self._bench.images, self._folder)
        write_json(folder / MIX_FILE, mix.as_json())
        return self._request(mix, planned, image, folder, seed=seed, attempt=attempt)

    def judged(self, raw: RawRun, mix: Mix) -> MixAttempt:
        try:
            return MixAttempt(raw, verify_mix(raw, mix, self.rule))
        except VerifyError as error:
            return MixAttempt(raw, None, visible(str(error)))

    def at_once(self, mix: Mix) -> int:
        """How many boots such as this one may run at once: on wall time one."""
        planned = self._planned(mix)
        return self._bench.at_once(planned) if planned.seats.lane is Lane.INSN else 1

    def require_oracles(self, workloads: Iterable[Workload]) -> None:
        """UsageError if one cannot be loaded. Each is loaded once."""
        fresh = [workload for workload in workloads if workload.name not in self._loaded]
        require_loadable(fresh)
        self._loaded |= {workload.name for workload in fresh}

    def _planned(self, mix: Mix) -> PlannedCell:
        system, bench = mix_guest.system_of(mix), self._bench
        if system.emulator not in bench.emulators.qemus:
            bench.emulators.fetch([system])
            bench.choose()
        seats = seat(system, mix.program, mix.cell, bench.ground, self.options)
        if seats.skip:
            raise UsageError(f"mix on {mix.system.name}: {seats.skip}")
        planned = PlannedCell(mix.cell, system, mix.program, seats)
        require_saved([(planned, bench.emulators.qemus[system.emulator])])
        return planned

    def _request(  # noqa: PLR0913 - keyword arguments
        self, mix: Mix, planned: PlannedCell, image: Image, folder: Path, *, seed: int, attempt: int
    ) -> RunRequest:
        timed = planned.seats.lane is Lane.INSN
        nonce = nonce_of_seed(self.options.order_seed, mix.cell, seed) if timed else secrets.token_hex(8)
        boot = BootOptions(nonce, seed=seed if timed else 0, words=mix_guest.command_line(mix, nonce))
        made = self._bench.request(planned, boot, folder, image=image, attempt=attempt)
        # An emulated CPU brings the emulator's own memory, too.
        return replace(made, spec=replace(made.spec, counts_memory=planned.seats.lane is Lane.KVM))
