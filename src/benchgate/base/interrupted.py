"""Ends a program without a traceback if Ctrl-C arrives while its modules are imported.

Takes the exit status for that case; gives a context manager for the imports. Its block fails with SystemExit.
On a busy host the imports take seconds.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def imports(status: int) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would be a traceback
        print("benchgate: interrupted", file=sys.stderr)
        raise SystemExit(status) from None
