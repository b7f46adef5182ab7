"""A permission is for a command, not for a shell line that begins with it; a deny is not got round by spelling."""

from __future__ import annotations

from typing import Any

import pytest

import palaver
from palaver import permissions
from palaver.permissions import Answer

from . import attempts

Rule = dict[str, Any]


def rule(action: str, pattern: str = "*", source: str = "session", permission: str = "bash") -> Rule:
    return {"permission": permission, "pattern": pattern, "action": action, "source": source}


GIT = rule("allow", "git *")
ALL = rule("allow")
NO_RM = rule("deny", "rm *")


def ask(argv: str | list[str], *rules: Rule, headless: bool = False) -> Answer:
    return permissions.evaluate("bash", rules, argv=argv, headless=headless)


# ---------------------------------------------------------------- attempts


@pytest.mark.parametrize("line", attempts.BEGINS_WITH_GIT, ids=lambda line: ascii(line[:40]))
def test_what_runs_something_else_is_not_allowed_by_a_rule_for_git(line: str) -> None:
    assert ask(line, GIT).action == "ask"
    assert ask(line, GIT, headless=True).action == "deny"


@pytest.mark.parametrize("line", attempts.ARE_GIT, ids=ascii)
def test_what_runs_only_git_is_allowed_by_a_rule_for_git(line: str) -> None:
    assert ask(line, GIT).allowed and ask(line, GIT, headless=True).allowed


@pytest.mark.parametrize("line", attempts.DENIED, ids=ascii)
def test_what_is_denied_is_denied_however_it_is_spelt(line: str) -> None:
    found = ask(line, ALL, NO_RM)
    assert (found.action, found.rule) == ("deny", NO_RM)


@pytest.mark.parametrize("line", attempts.ASKED, ids=lambda line: ascii(line[:40]))
def test_what_might_be_denied_and_cannot_be_parsed_is_asked(line: str) -> None:
    assert ask(line, ALL, NO_RM).action == "ask"
    assert ask(line, ALL, NO_RM, headless=True).action == "deny"
    assert ask(line, ALL).allowed  # without a deny, `*` fits any text


@pytest.mark.parametrize("line", attempts.ARGUMENTS, ids=ascii)
def test_arguments_are_not_commands(line: str) -> None:
    assert ask(line, ALL, NO_RM).allowed


@pytest.mark.parametrize(
    "line",
    [
        *["printf -v 'a[$(rm x)]' 1", "[ -v 'a[$(rm x)]' ]", 'test -v "a[\\$(rm x)]"', "read 'a[`rm x`]'"],
        *["declare 'a[$(rm x)]=1'", "declare -i 'x=a[b[$(rm x)]]'", "let 'a[$(rm x)]'", "unset 'a[$(rm x)]'"],
        *["builtin printf -v 'a[$(rm x)]' 1", "mapfile -C 'rm x;' -c 1 a", "compgen -W '$(rm x)'"],
    ],
)
def test_a_command_of_the_shell_that_runs_what_is_in_its_words_is_not_allowed_by_its_name(line: str) -> None:
    assert ask(line, rule("allow", f"{line.split()[0]} *")).action == "ask"
    assert ask("printf '%s costs $5' x; [ -f x ]", rule("allow", "printf *"), rule("allow", "[ *")).allowed


def test_a_value_that_bash_runs_is_not_allowed_by_a_rule_that_names_the_variable() -> None:
    assert ask("RANDOM='a[$(rm x)]'", rule("allow", "RANDOM=*")).action == "ask"
    assert ask("declare -i a; a='b[$(rm x)]'", rule("allow", "declare *"), rule("allow", "a=*")).action == "ask"
    assert ask("PRICE='$5' git log", rule("allow", "PRICE=* git *")).allowed


@pytest.mark.parametrize("line", ["eval echo *; eval echo '*'", "eval echo '*'; eval echo *", "eval echo *"])
def test_a_word_in_quotes_does_not_speak_for_the_same_word_without_them(line: str) -> None:
    assert ask(line, ALL, NO_RM).action == "ask"
    assert ask("eval echo '*'; eval echo '*'", rule("allow", "eval *"), rule("deny", "rm x")).action == "allow"


# ---------------------------------------------------------------- rules


def test_a_list_is_one_command_whatever_is_in_its_words() -> None:
    assert ask(["git", "status; rm -rf ~"], GIT).allowed
    assert ask(["git", "$(rm x)", "|", "sh"], GIT).allowed
    assert ask(["rm", "git"], GIT).action == "ask"


def test_a_program_whose_name_begins_like_another_command_is_not_that_command() -> None:
    assert ask(["git status"], GIT).action == "ask"
    assert ask(["git /../rm", "x"], GIT).action == "ask"
    assert ask(["/opt/My Tool", "x"], rule("allow", "/opt/My Tool *")).allowed


@pytest.mark.parametrize(
    "argv", [["/bin/rm", "x"], ["sudo", "-u", "root", "rm"], ["sh", "-c", "ls; rm x"], ["env", "A=1", "rm"]], ids=str
)
def test_a_deny_reaches_what_a_list_runs(argv: list[str]) -> None:
    assert ask(argv, ALL, NO_RM).action == "deny"
    assert ask(["sh", "-c", "ls $x"], ALL, NO_RM).action == "ask"


def test_a_line_is_also_allowed_by_its_own_text() -> None:
    both = "npm run build && npm test"
    assert ask(both, rule("allow", both)).allowed
    assert ask(both + " ", rule("allow", both)).action == "ask"
    assert ask(both + "; rm x", rule("allow", both)).action == "ask"
    assert ask('echo "$HOME" > x', rule("allow", 'echo "$HOME" > x'), NO_RM).allowed
    assert ask(both, rule("allow", "npm run build && npm *")).action == "ask"  # no pattern fits two commands
    assert ask(both, ALL, rule("deny", both)).action == "deny"


def test_a_deny_of_the_manifest_goes_before_the_text_of_a_line() -> None:
    both = "npm run build && npm test"
    assert ask(both, rule("allow", both), rule("deny", "npm test", "manifest")).action == "deny"


def test_each_command_may_be_allowed_by_a_rule_of_its_own() -> None:
    line = "git status && make test"
    assert ask(line, GIT).action == "ask"
    assert ask(line, GIT, rule("allow", "make *", "project")).allowed
    assert ask(line, GIT, rule("ask", "make *", "project")).action == "ask"
    assert ask(line, GIT, rule("deny", "make *", "project")).action == "deny"


def test_a_deny_goes_before_an_ask_wherever_they_stand() -> None:
    rules = [GIT, rule("ask", "ls *"), NO_RM]
    assert ask("ls; rm x; git log", *rules).action == ask("rm x; ls; git log", *rules).action == "deny"


@pytest.mark.parametrize("wrapper", ["sudo", "sh -c", "xargs", "env X=1", "timeout 5", "eval"])
def test_a_rule_for_a_wrapper_does_not_loosen_a_deny_of_what_it_runs(wrapper: str) -> None:
    allowed = rule("allow", f"{wrapper.split()[0]} *")
    assert ask(f"{wrapper} ls", allowed, NO_RM).allowed
    assert ask(f"{wrapper} rm", allowed, NO_RM).action == "deny"
    assert ask(f"{wrapper} rm", allowed, NO_RM, headless=True).action == "deny"


def test_a_rule_that_asks_reaches_as_far_as_one_that_denies() -> None:
    asks = rule("ask", "rm *")
    assert [ask(line, ALL, asks).action for line in ("sudo /bin/rm x", "ls $(rm x)", "ls")] == ["ask", "ask", "allow"]


def test_a_deny_of_everything_else_leaves_what_is_allowed_by_its_path() -> None:
    rules = [rule("deny"), rule("allow", "/usr/bin/git *"), rule("allow", "sudo *")]
    assert ask("/usr/bin/git status", *rules).allowed and ask("sudo ls", *rules).allowed
    assert ask("git status", *rules).action == "deny"


def test_a_deny_that_is_loosened_is_not_in_force() -> None:
    loosened = rule("deny", "rm *", "project")
    for line in ("rm x", "sudo rm x", "/bin/rm x", "ls $(rm x)"):
        assert ask(line, ALL, loosened).allowed, line
        assert not ask(line, ALL, rule("deny", "rm *", "manifest")).allowed, line


def test_a_rule_may_name_an_assignment() -> None:
    assert ask("CI=1 git status", rule("allow", "CI=1 git *")).allowed
    assert ask("CI=2 git status", rule("allow", "CI=1 git *")).action == "ask"


def test_a_deny_is_no_weaker_than_it_was_for_what_cannot_be_parsed() -> None:
    assert ask("echo $(rm -rf /)", ALL, rule("deny", "*rm -rf*")).action == "deny"


# ---------------------------------------------------------------- reasons


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("git status; rm -rf ~", "`rm -rf ~`"),
        ("git log | sh", "`sh`"),
        ("git log > x", "a redirection of `x`"),
        ("git $(rm x)", "cannot be parsed: `$` at character 5"),
        ("git 'a", "a quote that is not closed at character 5"),
        ("if git; then git; fi", "`if` in the place of a command"),
    ],
)
def test_the_reason_says_which_command_decided(line: str, said: str) -> None:
    assert said in ask(line, GIT).reason and said in ask(line, GIT, headless=True).reason


def test_the_reason_says_where_a_denied_command_hides() -> None:
    assert "`rm x` in `sudo rm x`" in ask("ls; sudo rm x", ALL, NO_RM).reason
    assert "cannot be parsed" in ask("ls $x", ALL, NO_RM).reason
    assert "each of its 2 commands" in ask("git status; git log", GIT).reason


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("git status", "`git status` is allowed by the rule bash `git *` (session)"),
        (["git", "a b"], "`git 'a b'` is allowed by the rule bash `git *` (session)"),
        ("CI='a b' rm x; git log", "`CI='a b' rm x`"),
        ("rm x", "`rm x` is denied by the rule bash `rm *` (project)"),
        ("sudo rm 'a b'", "`rm 'a b'` in `sudo rm 'a b'` is denied by the rule bash `rm *` (project)"),
        ("ls x", "`ls x` is to be asked about by the rule bash `ls *` (session)"),
        ("mv x y", "`mv x y` is denied by the rule bash `mv *` (manifest), and nothing can loosen that"),
        ("git log ~ *; rm ~ '*.txt'", "`rm ~ *.txt` is denied"),
    ],
)
def test_the_reason_says_both_the_command_and_the_rule(line: str | list[str], said: str) -> None:
    rules = [GIT, rule("deny", "rm *", "project"), rule("ask", "ls *"), rule("deny", "mv *", "manifest")]
    assert said in ask(line, *rules, rule("ask", "CI=*")).reason


def test_the_reason_for_a_path_a_host_and_a_capability_says_the_rule() -> None:
    said = [permissions.evaluate("bash", [ALL], **about).reason for about in ({"path": "/a"}, {"host": "b.org"}, {})]
    by = "is allowed by the rule bash `*` (session)"
    assert said == [f"`/a` {by}", f"`b.org` {by}", f"it {by}"]


@pytest.mark.parametrize("line", ["npm run build && npm test", 'echo "$HOME" > x'])
def test_the_reason_says_that_a_rule_names_the_whole_line(line: str) -> None:
    for action, said in [("allow", "allowed"), ("deny", "denied")]:
        reason = ask(line, rule(action, line)).reason
        assert reason == f"the whole line is {said} by the rule bash `{line}` (session)"


def test_a_reason_cannot_act_on_the_terminal() -> None:
    for argv in (["git", "\x1b[2J\u202e", "x\ny"], "git \x1b[2J\u202e 'x\ny'"):
        for answer in (ask(argv, GIT), ask(argv), ask(argv, NO_RM, ALL), ask(argv, rule("deny", "git \x1b*"))):
            assert answer.reason.isprintable(), ascii(answer.reason)
    assert "\\u{1b}[2J\\u{202e}" in ask(["git", "\x1b[2J\u202e"], GIT).reason


# ---------------------------------------------------------------- through a session


def test_a_session_answers_in_the_same_way(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    session.permissions.add("bash", "git *")
    evaluate = session.permissions.evaluate
    assert evaluate("bash", argv="git status").allowed
    assert evaluate("bash", argv="git status; rm -rf ~").action == "ask"
    assert evaluate("bash", argv="git log | sh", headless=True).action == "deny"
    denied = [{"permission": "bash", "pattern": "git push*", "action": "deny"}]
    assert evaluate("bash", argv="git status && sudo git push", manifest=denied).action == "deny"
