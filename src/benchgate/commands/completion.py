"""`benchgate completion bash|zsh|fish`: a script that completes commands and options, made from the parsers.

Takes the name of a shell; prints the script. Other words are completed as files. Does not fail.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

BASH = """\
_benchgate() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words=
    if [ "$COMP_CWORD" -eq 1 ]; then words="{commands}"; else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
        case $word in -*) ;; *) words= ;; esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _benchgate benchgate
"""


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help='for example: eval "$(... bash)"')


def run(words: argparse.Namespace) -> int:
    found = options_of(words.parser)
    print(_fish(found) if words.shell == "fish" else _bash(found, zsh=words.shell == "zsh"), end="")
    return 0


def options_of(parser: argparse.ArgumentParser) -> Mapping[str, tuple[str, ...]]:
    """The long options of each command."""
    (commands,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    every = commands.choices
    return {
        name: tuple(word for one in sub._actions for word in one.option_strings if word.startswith("--"))
        for name, sub in every.items()
        if name.partition("-")[0] not in every or "-" not in name  # `history-import` is typed as two words
    }


def _bash(found: Mapping[str, tuple[str, ...]], *, zsh: bool) -> str:
    cases = "\n".join(
        f'            {name}) words="{" ".join(options)}" ;;' for name, options in found.items()
    )
    first = "autoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return first + BASH.format(commands=" ".join((*found, "--help", "--version")), cases=cases)


def _fish(found: Mapping[str, tuple[str, ...]]) -> str:
    lines = [f"complete -c benchgate -n __fish_use_subcommand -f -a '{' '.join(found)}'"]
    lines += [
        f"complete -c benchgate -n '__fish_seen_subcommand_from {name}' -l {option.removeprefix('--')}"
        for name, options in found.items()
        for option in options
    ]
    return "\n".join(lines) + "\n"
