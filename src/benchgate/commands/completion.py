"""`benchgate completion bash|zsh|fish`: a script made from the parsers, for commands, actions and options.

Takes the name of a shell; prints the script. Other words are completed as files. Does not fail.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchgate import commands
from benchgate.hooks import Command

BASH = """\
_benchgate() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} options= actions= words=
    if [ "$COMP_CWORD" -eq 1 ]; then words="{commands}"; else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
        if [ "$COMP_CWORD" -eq 2 ]; then words=$actions; fi
        case $word in -*) words=$options ;; esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _benchgate benchgate
"""


@dataclass(frozen=True, slots=True)
class OfferedWords:
    """What a command offers after its name."""

    options: tuple[str, ...]
    actions: tuple[str, ...]
    """What its first argument can be, if that is one of few."""


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help='for example: eval "$(... bash)"')


def run(words: argparse.Namespace) -> int:
    offered = offered_words()
    print(_fish(offered) if words.shell == "fish" else _bash(offered, zsh=words.shell == "zsh"), end="")
    return 0


def offered_words() -> Mapping[str, OfferedWords]:
    """By the command's first word."""
    table = commands.known()
    result = {command.name: _offered(command) for command in table if not command.second}
    for command in table:
        if command.second:
            first = command.name.removesuffix(f"-{command.second}")
            result[first] = replace(result[first], actions=(*result[first].actions, command.second))
    return result


def _offered(command: Command) -> OfferedWords:
    parser = argparse.ArgumentParser()
    command.declare(parser)
    options = [word for action in parser._actions for word in action.option_strings if word.startswith("--")]
    positional = [action for action in parser._actions if not action.option_strings]
    choices = [str(choice) for action in positional for choice in action.choices or ()]
    pages = command.module().names() if command.name == "docs" else ()
    return OfferedWords(tuple(options), (*choices, *pages))


def _bash(offered: Mapping[str, OfferedWords], *, zsh: bool) -> str:
    cases = "\n".join(
        f'            {name}) options="{" ".join(words.options)}" actions="{" ".join(words.actions)}" ;;'
        for name, words in offered.items()
    )
    first = "autoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return first + BASH.format(commands=" ".join((*offered, "--help", "--version")), cases=cases)


def _fish(offered: Mapping[str, OfferedWords]) -> str:
    lines = [f"complete -c benchgate -n __fish_use_subcommand -f -a '{' '.join(offered)}'"]
    for name, words in offered.items():
        when = f"complete -c benchgate -n '__fish_seen_subcommand_from {name}'"
        lines += [f"{when} -l {option.removeprefix('--')}" for option in words.options]
        lines += [f"{when} -a '{' '.join(words.actions)}'"] if words.actions else []
    return "\n".join(lines) + "\n"
