"""The conformance suite as a library: what any engine, or any other implementation, must do. It needs pytest.

    from palaver.testing import Conformance, closing

    class TestMine(Conformance):
        @pytest.fixture
        def open_store(self, tmp_path):
            yield from closing(lambda **options: palaver.open(tmp_path / "talks.db", **options))

The groups speak only the public API; each claim is one test, with its expected values written by hand.
"""

import pytest

_MODULES = (
    "errors facts grafts group hands helpers life lineage moves races search sessions siblings snapshots stopping "
    "stream tree turns unanswered usage used values waiting windows"
)
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _MODULES.split()))  # asserts that explain

from .errors import Errors  # noqa: E402
from .facts import Facts  # noqa: E402
from .grafts import Grafts  # noqa: E402
from .group import Group  # noqa: E402
from .hands import Hands, Told  # noqa: E402
from .helpers import (  # noqa: E402
    OpenStore,
    answer,
    ask,
    assistant,
    call,
    closing,
    ids_of,
    leave_waiting,
    picture,
    refused,
    say,
    tell,
    texts,
    tool_part,
    user,
)
from .life import Lives  # noqa: E402
from .lineage import Continued, Titles  # noqa: E402
from .moves import Moves  # noqa: E402
from .races import Races  # noqa: E402
from .search import Search  # noqa: E402
from .sessions import Sessions  # noqa: E402
from .siblings import Siblings  # noqa: E402
from .snapshots import Snapshots  # noqa: E402
from .stopping import Stopping  # noqa: E402
from .stream import Stream  # noqa: E402
from .tree import Ancestry, Tree  # noqa: E402
from .turns import Turns  # noqa: E402
from .unanswered import Unanswered  # noqa: E402
from .usage import Usages  # noqa: E402
from .used import Used  # noqa: E402
from .values import Values  # noqa: E402
from .waiting import Waiting  # noqa: E402
from .windows import Windows  # noqa: E402


class Conformance(
    Turns,
    Grafts,
    Stream,
    Tree,
    Ancestry,
    Siblings,
    Moves,
    Waiting,
    Unanswered,
    Usages,
    Used,
    Stopping,
    Sessions,
    Facts,
    Titles,
    Continued,
    Search,
    Lives,
    Values,
    Errors,
    Races,
    Snapshots,
    Windows,
    Hands,
    Told,
):
    """Everything. `Conformance.__bases__` are the groups, each of which may also stand alone."""


__all__ = [
    "Ancestry",
    "Conformance",
    "Continued",
    "Errors",
    "Facts",
    "Grafts",
    "Group",
    "Hands",
    "Lives",
    "Moves",
    "OpenStore",
    "Races",
    "Search",
    "Sessions",
    "Siblings",
    "Snapshots",
    "Stopping",
    "Stream",
    "Titles",
    "Told",
    "Tree",
    "Turns",
    "Usages",
    "Used",
    "Values",
    "Waiting",
    "Windows",
    "answer",
    "ask",
    "assistant",
    "call",
    "closing",
    "ids_of",
    "leave_waiting",
    "picture",
    "refused",
    "say",
    "tell",
    "texts",
    "tool_part",
    "user",
]
