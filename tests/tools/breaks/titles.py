"""Breaks of the promises about titles, and about what is over."""

from __future__ import annotations

from typing import Any

from ..planting import planted


def _patch(name: str, was: str, becomes: str) -> None:
    """A statement says something else."""
    from palaver.db.queries import Q, Query

    query = getattr(Q, name)
    assert was in query.text, (name, was)
    Q.__dict__[name] = Query(name, query.text.replace(was, becomes))


@planted
def titles_are_compared_as_text() -> None:
    """ "X #9" comes after "X #10"."""
    _patch("highest_of_lineage", "ORDER BY length(h.title) DESC, ", "ORDER BY ")


@planted
def a_title_is_a_pattern() -> None:
    """What a title has of % and _ stands for anything."""
    _patch("newest_titled", "h.title = :title", "h.title LIKE :title")


@planted
def deleted_titles_count() -> None:
    """A number that was given once is never given again."""
    _patch("highest_of_lineage", " AND h.deleted_at IS NULL", "")


@planted
def lists_forget_who_ended() -> None:
    """`ended` is not looked at."""
    from palaver.core.read import session_list

    page = session_list.page

    def careless(tx: Any, wanted: Any, after: Any) -> Any:
        return page(tx, wanted._replace(which=wanted.which._replace(ended=False)), after)

    session_list.page = careless


@planted
def the_very_day_is_older() -> None:
    """What was said exactly so long ago is taken, too."""
    from palaver.core.read import session_list

    page = session_list.page

    def greedy(tx: Any, wanted: Any, after: Any) -> Any:
        since = wanted.which.idle_since
        if since is not None:
            wanted = wanted._replace(which=wanted.which._replace(idle_since=since + 1))
        return page(tx, wanted, after)

    session_list.page = greedy


@planted
def the_oldest_goes_on() -> None:
    """Of several that continue a session the first is its tip."""
    _patch("continuations_of", "ORDER BY s.created_at, h.session_id", "ORDER BY s.created_at DESC, h.session_id DESC")
