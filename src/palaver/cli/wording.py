"""What the library says to a programmer, said to a person at the command line.

An error tells what to do next, and for a program that is a call: `fork(at=…)`. Here it is a command. Whatever a command
says of an error goes through `worded`; tests/cli/test_wording.py reads the library's sentences and finds those that
still name a call.
"""

from __future__ import annotations

import re

_SPACES = "`palaver space ls` lists them, `palaver space create` makes one"
_WORDS = (
    (r"call unarchive\(\) first", "`palaver archive --undo` brings it back"),
    (r"undelete\(\) brings it back", "`palaver rm --undo` brings it back"),
    (r"continue it with session\.resume\([^)]*\)", "its agent goes on with it"),
    (r"make it again with reindex\(\)", "make it again with `palaver reindex`"),
    (r"verify\(\) says", "`palaver verify` says"),
    (r"fork\(at=…\) reaches", "`palaver fork --at` reaches"),
    (r"rescue it with fork\(at='([^']*)'\)", r"rescue it with `palaver fork --at \1`"),
    (r"read messages\(\) for the ids on the path", "`palaver show --detail` has the ids on the path"),
    (r"tree\(\) has those that are", "`palaver tree` shows those that are"),
    (
        r"made by session\.fork\(\), which shares what was said; create\(\) begins with nothing",
        "made by `palaver fork`",
    ),
    (r"strays\(\) has those that are", "`palaver tree` shows those that are"),
    (r"waiting\(\) lists what waits, name the turn", "`palaver show --detail` has the calls"),
    (r"session\.live\(\) and waiting\(\) list what can be stopped", "`palaver tree` shows what is open"),
    (r"queue\(\) lists what waits", "`palaver queue` lists what waits"),
    (r"list\(\) shows what there is", "`palaver ls` shows what there is"),
    (r"; get\(\) opens it, get_or_create\(\) either way", ""),
    (r"or prune\(\) and compact\(\) first", "or `palaver compact` it first"),
    (r"compact\(\) has no", "a compaction has no"),
    (r"name a later turn as keep_from", "keep fewer, or name a later turn with --keep-from"),
    (r" \(only a sliding_window may drop turns without one\)", ""),
    (r"(such space;) open it with create=True, or list what there is", rf"\1 {_SPACES}"),
    (r"(such space;) with readonly=True none is made", rf"\1 {_SPACES}"),
    (r"; with readonly=True none is made", "; record something first, or name another with --store"),
    (r", or open it once without readonly=True", ""),
    (r"\b(\w+) writes; this store was opened with readonly=True", r"\1 writes, and this command only looks"),
    (r"with readonly=True there would never be anything to read", "there is never anything to read"),
    (r", or raise `timeout`", ""),
    (r", and `space` (.*); leave", r", and --space \1; leave"),
    (r"leave `space` out", "leave --space out"),
    (r'this store was begun with events="(\w+)"', r"this store was begun to keep other events (\1)"),
    (
        r'one that is begun with events="full" does',
        "only a store that was begun with `events` set to full does",
    ),
    (r"give a path, ':memory:' or postgresql://", "give a path, or postgresql://"),
)
_COMPILED = tuple((re.compile(said), here) for said, here in _WORDS)


def worded(sentence: str) -> str:
    """The sentence with commands in the place of calls."""
    for said, here in _COMPILED:
        sentence = said.sub(here, sentence)
    return sentence
