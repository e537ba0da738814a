"""A Study and its Orders as JSON, so that a study's folder needs no other file to be read again.

Takes frozen objects, or JSON that may be untrusted; gives the other. Reading fails with ValueError that names
object and key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchgate.base.cells import Params
from benchgate.base.jsonfields import Fields
from benchgate.mix.orders import Limit, Order, PartOrder
from benchgate.mix.study import Antagonists, Study, StudyInput, Sweep, kept_number


def study(value: Study) -> dict[str, object]:
    """The JSON of a study, without the text of its YAML file, which is kept beside it."""
    found = asdict(value)
    del found["text"]
    found["file"] = str(value.file)
    found["least_use"] = str(value.least_use)
    found["capacity"] = {name: str(one) for name, one in value.capacity.items()}
    found["antagonists"] = {
        name: {"whole": str(one.whole), "takes": {key: str(part) for key, part in one.takes.items()}}
        for name, one in value.antagonists.items()
    }
    found["overcommit"] = [str(one) for one in value.overcommit]
    found["inputs"] = [
        {**asdict(one), "params": dict(one.params), "units": None if one.units is None else str(one.units)}
        for one in value.inputs
    ]
    return found


def read_study(value: object) -> Study:
    fields = Fields(value, "the study")
    found = Study(
        name=fields.text("name"),
        about=fields.text("about"),
        system=fields.text("system"),
        cpus=fields.number("cpus", 1),
        machine=fields.text("machine"),
        clock=fields.text("clock"),
        resources=fields.texts("resources"),
        calibrate=_texts(fields, "calibrate"),
        antagonists=_antagonists(fields),
        inputs=tuple(map(_input, fields.take("inputs", list))),
        least=fields.number("least", 1),
        limit_ms=fields.number("limit_ms", 1),
        seeds=fields.number("seeds", 1),
        limit_seeds=fields.number("limit_seeds", 1),
        levels=fields.numbers("levels"),
        every_input=fields.flag("every_input"),
        least_use=kept_number(fields.text("least_use")),
        capacity={name: kept_number(word) for name, word in _texts(fields, "capacity").items()},
        sweep=None if fields.is_null("sweep") else _sweep(fields.take("sweep", dict)),
        scaling=fields.text("scaling"),
        overcommit=tuple(map(kept_number, fields.texts("overcommit"))),
        near=fields.number("near"),
        file=Path(fields.text("file")),
        text="",
    )
    fields.done()
    return found


def orders(found: Sequence[Order]) -> list[dict[str, object]]:
    return [asdict(one) for one in found]


def read_order(value: object) -> Order:
    fields = Fields(value, "a run of the plan")
    limit = None if fields.is_null("limit") else _limit(fields.take("limit", dict))
    parts = tuple(map(_part, fields.take("parts", list)))
    found = Order(fields.text("key"), parts, fields.number("seed"), limit)
    fields.done()
    return found


def _input(value: object) -> StudyInput:
    fields = Fields(value, "an input")
    found = StudyInput(
        application=fields.word("application"),
        input=fields.word("input"),
        workload=fields.text("workload"),
        workers=fields.number("workers", 1),
        params=_params(fields),
        score=fields.text("score"),
        units=None if fields.is_null("units") else kept_number(fields.text("units")),
        where=fields.text("where"),
    )
    fields.done()
    return found


def _params(fields: Fields) -> Params:
    inner = Fields(fields.take("params", dict), "params")
    return tuple((name, inner.take(name, int, str)) for name in inner.names())


def _antagonists(fields: Fields) -> Mapping[str, Antagonists]:
    inner = Fields(fields.take("antagonists", dict), "antagonists")
    found = {}
    for name in inner.names():
        one = Fields(inner.take(name, dict), f"antagonists of {name:.40}")
        takes = {key: kept_number(word) for key, word in _texts(one, "takes").items()}
        found[name] = Antagonists(kept_number(one.text("whole")), takes)
        one.done()
    return found


def _sweep(value: object) -> Sweep:
    fields = Fields(value, "sweep")
    found = Sweep(
        fields.text("input"), fields.numbers("cpus"), fields.text("beside"), fields.number("beside_cpus")
    )
    fields.done()
    return found


def _limit(value: object) -> Limit:
    fields = Fields(value, "limit")
    found = Limit(fields.text("resource"), fields.number("percent", 1))
    fields.done()
    return found


def _part(value: object) -> PartOrder:
    fields = Fields(value, "a part")
    found = PartOrder(
        fields.text("input"), fields.number("number"), fields.number("workers"), fields.numbers("cpus")
    )
    fields.done()
    return found


def _texts(fields: Fields, key: str) -> Mapping[str, str]:
    inner = Fields(fields.take(key, dict), key)
    return {name: inner.text(name) for name in inner.names()}
