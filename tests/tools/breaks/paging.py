"""A break of promise 77: the list that should stand still follows updates."""

from base64 import urlsafe_b64encode as b64encode

from palaver.core.read import session_list
from palaver.db.queries import Q

from ..planting import planted


@planted
def cursors_follow_updates() -> None:
    """Rows jump to the front when they are touched, past a reader who pages towards them."""
    query = Q.list_created
    query.text = query.text.replace("s.created_at", "s.updated_at")
    session_list._cursor = lambda last, wanted: b64encode(f"created {last.updated_at} {last.id}".encode()).decode()
