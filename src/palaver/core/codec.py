"""The one way between a part as a reader sees it and the text its row holds. They are the same today.

Whoever writes a part's row asks `stored`, whoever shows one asks `shown`; so what is kept elsewhere one day (bytes too
large for a row) is put there and brought back here, and nowhere else. Digests cover the stored text.
"""

from __future__ import annotations


def stored(part: str) -> str:
    """The JSON text of a part as its row holds it."""
    return part


def shown(parts: str) -> str:
    """Stored JSON text, of one part or of several with commas between them, as readers see it."""
    return parts
