"""`benchgate fleet`: the programs of a fleet. Each of its actions is a module of fleet_actions/.

Takes an action and its words; gives the action's exit status.
"""

from __future__ import annotations

import argparse

from benchgate.commands.fleet_actions import all_actions

NAME = "fleet"
ABOUT = "make runs on other machines: the scheduler, its workers, what they may run"


def declare(parser: argparse.ArgumentParser) -> None:
    found = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for module in all_actions():
        sub = found.add_parser(module.NAME, help=module.ABOUT, description=module.ABOUT)
        sub.set_defaults(action=module.run)
        module.declare(sub)


def run(words: argparse.Namespace) -> int:
    status: int = words.action(words)
    return status
