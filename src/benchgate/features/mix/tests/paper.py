"""Tables 3 and 4 of Kuz et al., HotOS 2011 (hypothetical data, as the paper says), as files."""

from __future__ import annotations

from pathlib import Path

VECTORS = """\
application,input,score,cpu,cache,mem,disk,network
game,1,0.25,0.25,0.25,0.25,0.1,0.1
game,N,0.75,1.0,1.0,0.5,0.5,0.5
webb,1,0.2,0.25,0.25,0.1,0.0,0.5
webb,N,0.6,1.0,1.0,0.75,0.0,0.75
antiv,1,0.6,0.1,0.1,0.1,0.6,0.0
antiv,N,0.8,0.1,0.1,0.1,0.8,0.0
"""
SENSITIVITY = """\
application,cpu,cache,mem,disk,network
game,0.8,0.8,0.6,0.4,0.1
webb,0.8,0.7,0.5,0.1,0.5
antiv,0.2,0.5,0.4,0.8,0.0
"""


def write(folder: Path, vectors: str = VECTORS, sensitivity: str = SENSITIVITY) -> tuple[Path, Path]:
    v, s = folder / "v.csv", folder / "s.csv"
    v.write_text(vectors)
    s.write_text(sensitivity)
    return v, s
