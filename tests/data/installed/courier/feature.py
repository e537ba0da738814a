"""What benchgate is told of the courier."""

from benchgate.hooks import Command, Feature, Option, PlainMark, RunMaker

FEATURE = Feature(
    interface=1,
    commands=(Command("courier", "list the sessions whose verdicts were copied", place="courier.command"),),
    marks=(PlainMark("delivered", "a copied session", "session", fixture="delivered"),),
    fixtures="courier.fixture",
    options=(
        Option("courier", "at its end, copy the session's verdicts to this folder", metavar="DIR"),
        Option("courier-runs", "let the courier choose who makes the runs", "flag"),
    ),
    read_options="courier.option:read",
    at_end="courier.option:at_end",
    maker=RunMaker("courier-runs", "as for pytest", who="couriers", place="courier.maker"),
)
