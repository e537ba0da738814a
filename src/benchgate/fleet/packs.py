"""The packed runs of a session: each run is packed once, however often it is named.

A session names a run ahead in each round, with the same request, and asks for it by another request, which
has the run's own folder. `same` gives both the same text. Fails like fleet/packing.py.
"""

from __future__ import annotations

from functools import cache

from benchgate.base.files import file_digest
from benchgate.fleet.packing import Packed, Vouch, packed
from benchgate.insn.plugin import source_digest
from benchgate.run.attempt import RunRequest, words_of_run


class Packs:
    def __init__(self, vouch: Vouch) -> None:
        self._vouch = vouch
        self._digest = cache(file_digest)  # an image is not changed during a session: build/images.py checks
        self._clock = cache(source_digest)
        self._packed: dict[str, Packed] = {}
        """By `same`."""
        self._named: dict[int, tuple[RunRequest, str]] = {}
        """By identity, with its `same`. What is kept here stays alive, so no other request has its id."""
        self._named_before: dict[int, tuple[RunRequest, str]] = {}

    def begin_round(self, most: int) -> None:
        """What was not named in the round before is forgotten, and so are packed runs if they are more than
        `most`: those of rows that ended early."""
        self._named_before, self._named = self._named, {}
        if len(self._packed) > most:
            self._packed.clear()

    def same(self, request: RunRequest) -> str:
        """The same text for two requests of the same run."""
        found = self._named.get(id(request)) or self._named_before.get(id(request))
        self._named[id(request)] = found = found or (request, _same(request))
        return found[1]

    def of(self, request: RunRequest) -> Packed:
        same = self.same(request)
        if same not in self._packed:
            self._packed[same] = packed(request, self._digest, self._clock(), self._vouch)
        return self._packed[same]

    def taken(self, request: RunRequest) -> None:
        """It is not asked for again."""
        self._packed.pop(self.same(request), None)


def _same(request: RunRequest) -> str:
    spec = request.spec
    explored = "" if spec.exploration is None else spec.exploration.text
    words = words_of_run(spec.argv, request.folder)
    parts = (request.cell.id, str(request.seed), request.guest_digest, str(spec.deadlines), explored, words)
    return "\0".join(f"{len(part)} {part}" for part in parts)
