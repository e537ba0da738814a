"""Makes the page of a session again, from the runs in its folder, and writes it to a file outside.

Takes a session's folder, or a results.csv without its session, and the file to write; gives that file. Fails
with EvidenceError if the session cannot be judged again, with NeedsFilesError if programs of the user are
needed, and with UsageError if the file cannot be written or would be inside the session.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.evidence.files import MANIFEST
from benchgate.render.files import report_html
from benchgate.session import rejudge
from benchgate.session.trust import Trusted

_STRANGE = re.compile(r"[^A-Za-z0-9._-]")


def write(session: Path, out: Path | None, trusted: Trusted) -> Path:
    """`out`: None for `report-SESSION.html` in the current folder."""
    if out is not None:
        _require_outside(out)
    view = rejudge.view_of_path(session, trusted, "report")
    place = out or Path(f"report-{_STRANGE.sub('_', view.id)}.html")
    _require_outside(place)
    try:
        place.write_text(report_html.render(view), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(
            f"{place} cannot be written ({error.strerror}); name another file with --out"
        ) from None
    return place


def _require_outside(place: Path) -> None:
    """A new file in a sealed session would look like tampering, so no parent folder may be one."""
    for folder in place.absolute().parents:
        if (folder / MANIFEST).is_file():
            raise UsageError(
                f"{place} is inside the sealed session {folder}: a new file there would break its seal; name "
                "a file outside with --out (the session has a report.html of its own)"
            )
