"""Breaks of the promises about permissions."""

from __future__ import annotations

from typing import Any

from ..planting import planted


def _check_rules_by(check: Any) -> None:
    """For callers of the package, and within it."""
    from palaver import permissions
    from palaver.permissions import decision

    permissions.check_rule = decision.check_rule = check


@planted
def snapshots_name_the_rules_of_now() -> None:
    """Changing a session's rules changes what its old turns were granted."""
    from palaver.core.verbs import rules
    from palaver.db.queries import Query

    write = rules._write

    def everywhere(tx: Any, *rest: Any) -> None:
        write(tx, *rest)
        tx.all_values(
            Query("planted", "UPDATE turns SET facts_json = json_remove(facts_json, '$.permissions_granted')")
        )

    rules._write = everywhere


@planted
def what_was_used_is_not_noted() -> None:
    from palaver import Turn

    Turn.used = lambda self, permission: None  # type: ignore[method-assign]


@planted
def any_field_name_will_do() -> None:
    """A rule by other names is taken, as far as it goes."""
    from palaver import permissions

    check = permissions.check_rule
    names = {"tool": "permission", "glob": "pattern", "effect": "action", "decision": "action"}

    def leniently(given: Any, source: str = "session") -> dict[str, Any]:
        return check({names.get(key, key): value for key, value in given.items()}, source)

    _check_rules_by(leniently)


@planted
def fields_of_others_are_dropped() -> None:
    from palaver import permissions

    check = permissions.check_rule
    known = ("permission", "pattern", "action", "source", "added_at")
    _check_rules_by(lambda *given: {k: v for k, v in check(*given).items() if k in known})


@planted
def a_rule_is_the_projects_by_default() -> None:
    from palaver import permissions

    check = permissions.check_rule
    _check_rules_by(lambda given, source="project": check(given, source))


@planted
def rules_of_every_scope_are_stored() -> None:
    """A rule of the host that is given to add() becomes the session's."""
    from palaver.session_rules import SessionRules

    add = SessionRules.add

    def anyway(self: Any, *given: Any, **named: Any) -> dict[str, Any]:
        return add(self, *given, **{**named, "source": "session"})

    SessionRules.add = anyway  # type: ignore[method-assign]


@planted
def a_star_does_not_stop_at_a_slash() -> None:
    from palaver.permissions import decision, globs

    decision.match_path = lambda pattern, path: globs._match(pattern, path)


@planted
def names_are_not_normalised() -> None:
    """An accent in two characters is not the accent in one."""
    from palaver.permissions import globs

    globs._normal = lambda text: text


@planted
def the_last_place_is_taken_first() -> None:
    """What lies between two stars is looked for from the end."""
    from palaver.permissions import globs

    def from_the_end(self: Any, text: str, start: int, end: int) -> int:
        places = range(end - self.width, start - 1, -1)
        return next((at for at in places if self.fits(text, at)), -1)

    globs._Piece.find = from_the_end  # type: ignore[method-assign]


@planted
def a_line_is_its_first_command() -> None:
    from palaver.permissions import shell_line

    read = shell_line.read

    def first(text: str, budget: Any = None) -> Any:
        return shell_line.Line(read(text, budget).commands[:1])

    shell_line.read = first


@planted
def redirections_are_covered() -> None:
    """`git log > x` is allowed like `git log`."""
    from palaver.permissions import shell_line

    shell_line._Reader._redirect = lambda self, *given, **named: setattr(self, "_redirection", "")  # type: ignore[method-assign]


@planted
def what_cannot_be_parsed_is_matched_as_text() -> None:
    """As it was before lines were read."""
    from palaver.permissions import shell_line

    read = shell_line.read

    def as_text(text: str, budget: Any = None) -> Any:
        line = read(text, budget)
        return line if line.unread is None else shell_line.Line([shell_line.Command([text])])

    shell_line.read = as_text


@planted
def a_deny_is_only_for_the_words_as_they_stand() -> None:
    from palaver.permissions import shell_line, wrappers

    wrappers.behind = lambda command, budget=None: shell_line.Line([])
