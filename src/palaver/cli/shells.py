"""The scripts by which shells complete our command lines, and what they are told.

A title may be of several words, or of characters that a shell acts on, so what is offered is quoted: zsh and fish do so
by themselves, bash does it in our script (as the word was begun: with a quote, or with backslashes). An offer is one
line. What cannot stand inside a quote that is open is not offered there.
"""

from __future__ import annotations

from typing import Any

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

VARIABLE = "_PALAVER_COMPLETE"
SHELLS = ("bash", "zsh", "fish")

_BASH = r"""%(complete_func)s() {
    local IFS=$'\n' offer word=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    while IFS= read -r offer; do
        [[ -n $offer ]] || continue
        case $word in
            \'*) [[ $offer == *\'* ]] || COMPREPLY+=("$offer") ;;
            \"*) [[ $offer == *[\"\$\`\\!]* ]] || COMPREPLY+=("$offer") ;;
            *) printf -v offer %%q "$offer" && COMPREPLY+=("$offer") ;;
        esac
    done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_FISH = """function %(complete_func)s
    env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) %(prog_name)s
end
complete --command %(prog_name)s --no-files --arguments "(%(complete_func)s)"
"""


class Bash(BashComplete):
    source_template = _BASH

    def source(self) -> str:
        return ShellComplete.source(self)  # bash's own would first run bash, to look at its version

    def format_completion(self, item: CompletionItem[Any]) -> str:
        return str(item.value)


class Fish(FishComplete):
    source_template = _FISH

    def format_completion(self, item: CompletionItem[Any]) -> str:
        return f"{item.value}\t{item.help}" if item.help else str(item.value)


def register() -> None:
    """When a shell asks, these answer."""
    for shell in (Bash, Fish):
        add_completion_class(shell)


def script(root: Any, shell: str) -> str:
    made: type[ShellComplete] = {"bash": Bash, "zsh": ZshComplete, "fish": Fish}[shell]
    return made(root, {}, "palaver", VARIABLE).source()
