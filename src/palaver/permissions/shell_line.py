"""A shell line, read into its simple commands. Small and on the safe side: what it does not know it does not guess.

It knows words, quotes, backslashes, `;` `&` `&&` `||` `|` `|&`, newlines, `( )`, comments, assignments, redirections,
as POSIX sh and bash agree on them. Anything else (`$`, backquotes, here-documents, braces, keywords, `!`, a glob in the
place of a command …) makes the line unreadable from there on, and so does a place that the two shells read differently.

Each piece is looked at once. A line of more than 1,000 is unreadable as well; plain words in a row are one piece.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

MOST = 1_000

_SPACES = r"\n-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # blanks to some
_SPECIAL = _SPACES + r""";&|()<>'"\\$`{}!"""
_PLAIN = rf"[^ \t{_SPECIAL}]"  # globs too, a tilde, and `#` where no word begins
_DOUBLE = r'"(?:[^"\\$`!]++|\\[\s\S]|!(?=[ \t\n"]))*+'  # without its end; an interactive bash takes `!x` for history
_TOKEN = re.compile(
    rf"""
    (?P<blank>        [ \t]++ )
  | (?P<continued>    \\\n )
  | (?P<comment>      \#[^\n]*+ )
  | (?P<redirection>  [0-9]? (?: >> | >\| | >& | <> | <& | > | <(?!<) ) | &>>? )
  | (?P<number>       [0-9]++ (?=[<>]) )                    # one descriptor in bash; in dash not
  | (?P<run>          [^\#{_SPECIAL}]+ (?: (?<=[ \t]) | (?=[;&|)\n]|\Z) ) )    # plain words and blanks
  | (?P<word>         (?: {_PLAIN}++ | '[^']*+' | {_DOUBLE}" | \\[^\n] ){{1,{MOST}}}+ )
  | (?P<join>         && | \|\| | \|& | \| )
  | (?P<end>          ; | & )
  | (?P<newline>      \n )
  | (?P<open>         \( (?!\() )                           # `((` may be arithmetic
  | (?P<close>        \) )
    """,
    re.VERBOSE,
)
_PIECE = re.compile(rf"""{_PLAIN}+|'[^']*'|{_DOUBLE}"|\\.""", re.DOTALL)
_HALF_QUOTED = re.compile(_DOUBLE)
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_GLOB = re.compile(r"[*?]|\[(?=[^ \t])")
_EXPANDS = re.compile(rf"(?<![^ \t])~|{_GLOB.pattern}")
_DESCRIPTOR = re.compile(r"[0-9]+|-")
_KEYWORDS = {
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select",
    "function", "coproc", "[[", "]]", "let", "mapfile", "readarray", "compgen",
}  # fmt: skip
# Commands of bash that may take a word for a name with a subscript, and run what is in it: `printf -v 'a[$(rm x)]' 1`.
_TAKES_NAMES = {
    "printf", "test", "[", "read", "unset", "export", "readonly", "declare", "typeset", "local", "getopts", "wait",
    "builtin", "command", "time",
}  # fmt: skip
_NO_NAME = re.compile(r"[*?\[\s=]|^[~^%]")  # `%1` is a job, `^a^b` history
# Control characters, halves of characters, and three that patterns take for ASCII (; ` K) where a shell does not.
_STRANGE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\u037e\u1fef\u212a]")


class Command(NamedTuple):
    """A simple command; quotes are gone. `expanding` is the place of the first word that a shell would expand."""

    words: Sequence[str]
    assignments: Sequence[str] = ()
    files: Sequence[str] = ()  # what it reads or writes by a redirection, apart from /dev/null
    expanding: int | None = None

    @property
    def text(self) -> str:
        return " ".join((*self.assignments, *self.words))


class Line(NamedTuple):
    """What was read. `unread` says why it went no further; None: this is all of it."""

    commands: Sequence[Command]
    unread: str | None = None


class Unreadable(Exception):
    """It goes on with something that is not read here."""


class Budget:
    """How many pieces may still be looked at: of a line, and of what its commands run."""

    def __init__(self) -> None:
        self._left = MOST

    def spend(self, pieces: int = 1) -> None:
        self._left -= pieces
        if self._left < 0:
            raise Unreadable(f"more than {MOST:,} pieces")


def read(text: str, budget: Budget | None = None) -> Line:
    """The simple commands of a line, in the order they stand there."""
    reader = _Reader(text, budget or Budget())
    try:
        reader.run()
    except Unreadable as why:
        return Line([*reader.commands, *reader.begun()], str(why))
    return Line(reader.commands)


def check_name(word: str) -> None:
    """Refuse what stands in the place of a command and is no name, or may become another."""
    if not word or word in _KEYWORDS or (word != "[" and _NO_NAME.search(word)):
        raise Unreadable(f"`{word[:40]}` in the place of a command")


class _Reader:
    """One pass over a line, token by token."""

    def __init__(self, text: str, budget: Budget) -> None:
        self.commands: list[Command] = []
        self._text = text
        self._at = 0
        self._budget = budget
        self._depth = 0  # groups that are open
        self._needs_command = False  # behind `&&`, `|`, `(` …
        self._begin()

    def _begin(self, *, group: bool = False) -> None:
        self._words: list[str] = []
        self._assignments: list[str] = []
        self._files: list[str] = []
        self._expanding: int | None = None
        self._redirection = ""  # an operator whose target comes next
        self._started = group
        self._takes_no_words = group  # nor behind `&>`, where dash begins another command
        self._word_end = -1

    def run(self) -> None:
        strange = _STRANGE.search(self._text)
        if strange is not None:
            self._at = strange.start()
            self._refuse(ascii(strange[0]))
        while self._at < len(self._text):
            token = _TOKEN.match(self._text, self._at)
            if token is None or token.lastgroup is None:
                self._refuse_rest()
            if token.lastgroup not in ("blank", "comment"):
                self._budget.spend()
                self._take(token.lastgroup, token[0])
            self._at = token.end()
        if self._redirection or self._depth or (self._needs_command and not self._started):
            raise Unreadable("it ends too early")
        self._finish()

    def begun(self) -> list[Command]:
        """The command that was being read, with the words that are complete."""
        words = self._words[:-1] if self._word_end == self._at else self._words
        return [Command(words, self._assignments, self._files, self._expanding)] if words else []

    # ------------------------------------------------------------ tokens

    def _take(self, kind: str, token: str) -> None:
        if self._redirection and kind not in ("run", "word", "continued"):
            self._refuse(f"`{self._redirection}` without a target")
        if kind == "run":
            self._take_run(token)
        elif kind == "word":
            self._take_word(token)
        elif kind == "continued":
            self._refuse_inside_word()
        elif kind == "redirection":
            if token[0] == "&" and not self._started:
                self._refuse(f"`{token}` without a command before it")  # dash reads the `&` by itself
            self._redirection, self._started = token, True
        elif kind == "newline":
            if self._started:
                self._finish()
        elif kind == "open":
            self._open_group()
        elif kind == "close":
            self._close_group()
        elif kind == "number":
            self._refuse("a number of several digits before a redirection")
        else:
            self._end_command(token, joins=kind == "join")

    def _take_run(self, run: str) -> None:
        """Plain words. Arguments that stay as they are go in together."""
        words, used, stays = run.split(), 0, _EXPANDS.search(run) is None
        while used < len(words) and not (stays and self._words and not self._redirection):
            self._budget.spend(1 if used else 0)
            self._add(words[used], words[used], expands=_EXPANDS.search(words[used]) is not None)
            used += 1
        if used < len(words):
            self._add_arguments(words[used:])

    def _take_word(self, word: str) -> None:
        pieces = _PIECE.findall(word)
        self._budget.spend(len(pieces) - 1)
        plain = "".join(piece for piece in pieces if piece[0] not in "'\"\\")
        expands = word[0] == "~" or _GLOB.search(plain) is not None
        self._add("".join(map(_unquote, pieces)), word, expands=expands)
        self._word_end = self._at + len(word)

    def _add(self, word: str, source: str, *, expands: bool) -> None:
        """A word where anything may stand: a target, an assignment, the name of a command, an argument."""
        self._started = True
        if self._redirection:
            self._redirect(word, source, expands=expands)
        elif not self._words and _ASSIGNS.match(source):
            self._refuse_behind_end()
            self._assignments.append(word)
        else:
            if not self._words:
                check_name(word)
            if expands and self._expanding is None:
                self._expanding = len(self._words)
            self._add_arguments([word])

    def _add_arguments(self, words: list[str]) -> None:
        self._refuse_behind_end()
        self._words += words

    def _redirect(self, target: str, source: str, *, expands: bool) -> None:
        operator, self._redirection = self._redirection.lstrip("0123456789"), ""
        if operator.endswith("&") and source[0] == "-" and source != "-":
            self._refuse("`>&-` with something behind it")  # bash has done with `-`, and begins another word
        if operator.startswith("&"):
            self._takes_no_words = True
        if operator in (">&", "<&") and _DESCRIPTOR.fullmatch(target):
            return
        if operator == "<&":
            self._refuse("`<&` without a descriptor")
        if target != "/dev/null" or expands:
            self._files.append(target)

    # ------------------------------------------------------------ where commands begin and end

    def _end_command(self, operator: str, *, joins: bool) -> None:
        if not self._started:
            self._refuse(f"`{operator}` without a command before it")
        self._finish()
        self._needs_command = joins

    def _finish(self) -> None:
        if self._words and self._words[0] in _TAKES_NAMES and any(map(_may_run, self._words)):
            raise Unreadable(f"a subscript that `{self._words[0]}` may run")
        if any(map(_may_run, self._assignments)):  # bash reckons with the value of RANDOM, and after `declare -i`
            raise Unreadable("a subscript in an assignment that may be run")
        if self._words or self._assignments or self._files:
            self.commands.append(Command(self._words, self._assignments, self._files, self._expanding))
        self._needs_command = False
        self._begin()

    def _open_group(self) -> None:
        if self._started:
            self._refuse("`(`")
        self._depth += 1
        self._needs_command = True

    def _close_group(self) -> None:
        if not self._depth or (self._needs_command and not self._started):
            self._refuse("`)`")
        self._finish()
        self._depth -= 1
        self._begin(group=True)

    # ------------------------------------------------------------ what is not read

    def _refuse_inside_word(self) -> None:
        """A backslash before a newline joins what is on both sides; next to a blank that makes no difference."""
        if self._text[self._at - 1 : self._at] not in (" ", "\t") or self._word_end == self._at:
            self._refuse("a line that goes on without a blank")

    def _refuse_behind_end(self) -> None:
        if self._takes_no_words:
            self._refuse("a word behind `)` or `&>`")

    def _refuse_rest(self) -> NoReturn:
        """Say what it is that no token begins with; in double quotes, what they cannot hold."""
        at = self._at
        half = _HALF_QUOTED.match(self._text, at)
        if half is not None:
            at = half.end()
        if at == len(self._text) or self._text[at] == "'":
            raise Unreadable(f"a quote that is not closed at character {self._at + 1}")
        raise Unreadable(f"`{self._text[at]}` at character {at + 1}")

    def _refuse(self, what: str) -> NoReturn:
        raise Unreadable(f"{what} at character {self._at + 1}")


def _unquote(piece: str) -> str:
    """A piece of a word, as the shell takes it."""
    if piece[0] == "'":
        return piece[1:-1]
    if piece[0] == '"':
        return _unescape(piece[1:-1])
    return piece[1] if piece[0] == "\\" else piece


def _unescape(text: str) -> str:
    """Inside double quotes: a backslash means something before these five. NUL, which no line has, marks a pair."""
    text = text.replace(r"\\", "\0")
    text = text.replace(r"\"", '"').replace(r"\$", "$").replace(r"\`", "`").replace("\\\n", "")
    return text.replace("\0", "\\")


def _may_run(word: str) -> bool:
    """Whether it may be a name with a subscript in which something is to be run."""
    return "[" in word and ("$" in word or "`" in word)
