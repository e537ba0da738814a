"""memory.csv: one line for each run, phase and CPU, with the columns of its schema."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from benchgate.render.files import memory_csv
from tests.unit.factories import view
from tests.unit.judge.accounts.test_memory_books import books
from tests.unit.memory_logs import LOG

SCHEMA = Path(__file__).parents[4] / "reports" / "schema" / "memory-1.json"


def test_each_phase_and_cpu_has_its_line(tmp_path: Path) -> None:
    text = memory_csv.render(view(books=(books(tmp_path, LOG, 2, 10_000),)))
    assert text is not None
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [(line["phase"], line["cpu"]) for line in lines] == [
        *(("boot", "0"), ("boot", "1")),
        *(("window", "0"), ("window", "1")),
    ]
    first, second = lines[2:]
    assert (first["machine"], first["executed_ns"], first["stalled_ns"]) == ("toy2", "6000", "1900")
    assert (second["transfer_cluster"], second["stall_transfer_cluster_ns"]) == ("40", "3000")
    assert (first["out_of_order"], first["out_of_order_worst_ns"], first["out_of_order_line"]) == (
        *("3", "120"),
        "1f40",
    )
    assert (second["out_of_order"], second["out_of_order_line"]) == ("", "")


def test_the_schema_names_each_column_in_order() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))["items"]
    assert tuple(schema["required"]) == tuple(schema["properties"]) == tuple(memory_csv.COLUMNS)
