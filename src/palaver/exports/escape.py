"""Text made harmless to look at: what would move a cursor, turn the direction of writing or break a line is shown
as a sign for itself.
"""

from __future__ import annotations

import re

_LINE_END = re.compile("\r\n?")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with line ends as LF and every character that cannot be seen made visible; tabs stay."""
    return _UNSEEN.sub(_sign, _LINE_END.sub("\n", text))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟦U+{code:04X}⟧"
