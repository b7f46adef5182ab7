"""Which commands a command runs besides itself, as far as its words tell: what a deny must reach.

`sudo -u root rm x` runs `rm x`, `/bin/rm x` is `rm x`, and `sh -c TEXT` runs what is in the text. The list of such
commands is short and can never be complete (`find -exec`, `python -c` …): it is there against oversight, it is no
sandbox. An option that is not known here makes the rest unreadable: it may take the next word, or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from . import shell_line
from .shell_line import Budget, Command, Line, Unreadable

_DEEPEST = 8


class _Wrapper(NamedTuple):
    """A command whose arguments are a command: the options before it."""

    flags: str = ""  # letters
    takes: str = ""  # letters of options that take a word, in the same word or the next
    long_flags: str = ""
    long_takes: str = ""
    skips: int = 0  # how many words come before the command
    sets: bool = False  # NAME=value may stand before the command
    only_tells: str = ""  # letters of options with which nothing is run


_WRAPPERS = {
    "env": _Wrapper("i0v", "uC", "ignore-environment null debug", "unset chdir", sets=True),
    "sudo": _Wrapper(
        "ABbEeHiKklNnPSsVv",
        "CDghpRrTtUu",
        "askpass background bell edit list login no-update non-interactive preserve-env preserve-groups"
        " remove-timestamp reset-timestamp set-home shell stdin validate",
        "chdir chroot close-from command-timeout group host other-user prompt role type user",
        sets=True,
    ),
    "doas": _Wrapper("Lns", "aCu"),
    "nohup": _Wrapper(),
    "nice": _Wrapper("0123456789", "n", "", "adjustment"),
    "time": _Wrapper("apqv", "fo", "append portability quiet verbose", "format output", sets=True),
    "timeout": _Wrapper("fpv", "ks", "foreground preserve-status verbose", "kill-after signal", skips=1),
    "xargs": _Wrapper(
        "0oprtx",
        "adEIJLnPRsS",
        "eof exit interactive max-lines no-run-if-empty null open-tty replace show-limits verbose",
        "arg-file delimiter max-args max-chars max-procs process-slot-var",
    ),
    "exec": _Wrapper("cl", "a"),
    "command": _Wrapper("pvV", only_tells="vV"),
    "builtin": _Wrapper(),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
    "setsid": _Wrapper("cfw", "", "ctty fork wait"),
    "stdbuf": _Wrapper("", "eio", "", "error input output"),
    "ionice": _Wrapper("t", "cn", "ignore", "class classdata"),
}
_SHELLS = {"sh", "bash", "rbash", "dash", "ash", "ksh", "mksh", "zsh"}
_OTHER_SHELLS = {"fish", "csh", "tcsh", "nu", "pwsh"}
_FLAGS_OF_BASH = {"login", "noediting", "noprofile", "norc", "posix", "restricted", "verbose"}
_MORE_OF_BASH = {"debug", "debugger", "dump-po-strings", "dump-strings", "help", "init-file", "pretty-print"}
_LONG_OF_BASH = _FLAGS_OF_BASH | _MORE_OF_BASH | {"protected", "rcfile", "version", "wordexp"}  # with one dash, too
_MORE = "\0"  # no word
_ELSEWHERE = "a shell that takes its commands from elsewhere"


def behind(command: Command, budget: Budget | None = None) -> Line:
    """What it runs besides itself, as commands; `unread` says why that may not be all."""
    found: list[Command] = []
    try:
        for each in _behind(command, budget or Budget(), _DEEPEST):
            found.append(each._replace(words=each.words[:-1]) if each.words[-1:] == [_MORE] else each)
    except Unreadable as why:
        return Line(found, str(why))
    return Line(found)


def _behind(command: Command, budget: Budget, depth: int) -> Iterator[Command]:
    if command.assignments and command.words:
        command = command._replace(assignments=())
        yield command
    if not command.words:
        return
    first, *others = command.words
    _, _, name = first.lower().rpartition("/")  # there are file systems where RM is rm
    if name and name != first:
        command = command._replace(words=[name, *others])
        yield command
    for inner in _run_by(name, command, budget):
        budget.spend()
        if not depth:
            raise Unreadable(f"commands in commands, more than {_DEEPEST} deep")
        yield inner
        yield from _behind(_fed(inner) if name == "xargs" else inner, budget, depth - 1)


def _run_by(name: str, command: Command, budget: Budget) -> Iterator[Command]:
    """The commands that this one runs itself."""
    if name in _WRAPPERS:
        yield from _wrapped(name, command, budget)
    elif name in _SHELLS:
        yield from _read(_text_of_shell(command), budget)
    elif name in _OTHER_SHELLS:
        raise Unreadable(f"what `{name}` runs")
    elif name == "eval":
        yield from _read(" ".join(_operands(command)), budget)
    elif name == "trap":
        _refuse_options_of_trap(command)
        yield from _read("".join(_operands(command, 1)), budget)
    elif name == "alias":
        for word in _operands(command):
            _, _, meaning = word.partition("=")
            yield from _read(meaning, budget)


def _read(text: str, budget: Budget) -> Iterator[Command]:
    """The commands in a text; those before an unreadable place, too."""
    line = shell_line.read(text, budget)
    yield from line.commands
    if line.unread is not None:
        raise Unreadable(f"{line.unread} of `{text[:40]}`")


def _operands(command: Command, most: int | None = None) -> Sequence[str]:
    """What stands behind the name, and behind a `--` that ends the options; of these the first so many."""
    words = command.words
    start = 2 if len(words) > 1 and words[1] == "--" else 1
    return _as_written(command, len(words) if most is None else start + most)[start:]


def _refuse_options_of_trap(command: Command) -> None:
    """With `-` alone it sets back what was set."""
    for word in command.words[1:2]:
        if word.startswith("-") and word not in ("-", "--"):
            raise Unreadable(f"`trap` with `{word[:40]}`")


def _as_written(command: Command, end: int) -> Sequence[str]:
    """Its words up to there, if a shell leaves them as they are."""
    if command.expanding is not None and command.expanding < end:
        word = command.words[command.expanding].replace(_MORE, "what xargs adds")
        raise Unreadable(f"`{word[:40]}`, which may become anything")
    return command.words[:end]


# ---------------------------------------------------------------- wrappers


def _wrapped(name: str, command: Command, budget: Budget) -> Iterator[Command]:
    words = command.words
    at = _place_of_command(name, _WRAPPERS[name], words, budget)
    _as_written(command, at + 1)
    if at < len(words):
        shell_line.check_name(words[at])
        yield Command(words[at:], expanding=None if command.expanding is None else command.expanding - at)
    elif name in ("sudo", "doas") and any("s" in word or "i" in word for word in words[1:]):
        raise Unreadable(_ELSEWHERE)
    if name == "xargs" and any(
        word[:1] == "-" and ("I" in word or "J" in word or "rep" in word) for word in words[1:at]
    ):
        raise Unreadable("what `xargs` puts in")


def _fed(command: Command) -> Command:
    """A command that `xargs` runs: more words follow, nobody knows which."""
    expanding = len(command.words) if command.expanding is None else command.expanding
    return Command([*command.words, _MORE], expanding=expanding)


def _place_of_command(name: str, wrapper: _Wrapper, words: Sequence[str], budget: Budget) -> int:
    """Where the command begins; behind the last word if there is none."""
    at, options = 1, True
    while at < len(words):
        budget.spend()
        word = words[at]
        if options and word == "--":
            options, at = False, at + 1
        elif options and word.startswith("--"):
            at += _long(name, wrapper, word)
        elif options and word.startswith("-") and (word != "-" or name == "env"):
            if any(letter in word for letter in wrapper.only_tells):
                return len(words)
            at += _letters(name, wrapper, word)
        elif wrapper.sets and "=" in word and not word.startswith("/"):
            at += 1
        else:
            break
    return min(at + wrapper.skips, len(words))


def _long(name: str, wrapper: _Wrapper, word: str) -> int:
    """How many words a long option is."""
    option, equals, _ = word[2:].partition("=")
    if option in wrapper.long_takes.split():
        return 1 if equals else 2
    if option in wrapper.long_flags.split():
        return 1
    raise Unreadable(f"`{name}` with `{word[:40]}`")


def _letters(name: str, wrapper: _Wrapper, word: str) -> int:
    """How many words a cluster of short options is."""
    for place, letter in enumerate(word[1:], 2):
        if letter in wrapper.takes:
            return 1 if place < len(word) else 2
        if letter not in wrapper.flags:
            raise Unreadable(f"`{name}` with `{word[:40]}`")
    return 1


# ---------------------------------------------------------------- shells


def _text_of_shell(command: Command) -> str:
    """The text behind `-c`; nothing if it runs a file."""
    words, at, has_text, reads = command.words, 1, False, False
    while at < len(words) and words[at][:1] in ("-", "+") and words[at] not in ("-", "--"):
        option = words[at]
        at += 1
        if option in ("--help", "--version"):
            return ""
        if option.removeprefix("--") in _FLAGS_OF_BASH:
            continue
        if option.startswith("--") or option[1:] in _LONG_OF_BASH or "o" in option[:-1].lower():
            raise Unreadable(f"a shell with `{option[:40]}`")
        has_text, reads = has_text or "c" in option, reads or "s" in option
        at += option[-1] in "oO"
    at += at < len(words) and words[at] in ("-", "--")
    if at >= len(words) or (reads and not has_text):
        raise Unreadable(_ELSEWHERE)
    operand = _as_written(command, at + 1)[at]
    return operand if has_text else ""
