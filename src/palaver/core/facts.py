"""The facts of a turn: what was in force when it was begun, and what became of it. Kept as one JSON text.

Which there are is written here, once. A key that this version does not know stays where it is: facts are only ever
added to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from ..base import exact_json
from ..errors import BadValue

if TYPE_CHECKING:
    from ..aisdk.folding import Fold  # which only writers load


class TurnFacts(TypedDict, total=False):
    metadata: dict[str, Any]  # what the metadata of the response starts with: model, agent, system_prompt_digest
    model: Any
    trigger: dict[str, Any] | None
    role: str  # of the agent in this turn,
    persona: str  # who it speaks as,
    workspace: str  # where it works,
    mode: str  # and how: plan, build, …
    source_event: str  # what set it off, by the name its source has for it
    settings_digest: str  # of the request's settings; `bodies` has them
    tools_digest: str  # of the definitions of its tools
    toolset_name: str
    tools_available: list[str]
    permissions_granted: list[dict[str, Any]]
    permissions_used: list[str]
    finish: str  # the reason that the stream's `finish` gave
    abort_reason: str
    unknown_chunks: list[Any]  # of its stream: kinds that made no part, as they came
    error: dict[str, Any]  # {message, code?}; in turns of before, a text
    adopted_at: int  # of rows that another program wrote: when they became a turn
    late: str  # the sealed turn that a result came too late for
    continues: str  # the turn that a compaction ended while it ran
    as_sent: Any  # the facts that came with a queued message, whatever its start added
    cancelled_at: int  # of a queued message that was taken back
    set_aside: str  # why a turn could not be sealed
    stopped: str  # why somebody else ended it


OWN = frozenset(TurnFacts.__annotations__)  # what this version knows; whatever else there is came from elsewhere
IN_MEMORY = ("abort_reason", "error")  # what its owner says of an open turn's end, until the seal writes it


def read(text: str, turn_id: str) -> TurnFacts:
    facts = exact_json.parse(text)
    if not isinstance(facts, dict):
        raise BadValue(f"the facts of turn {turn_id} are no object")
    return facts  # type: ignore[return-value]


def stored(facts: TurnFacts) -> str:
    return exact_json.encode(facts) if facts else "{}"


NAMES = ("role", "persona", "workspace", "mode", "source_event")  # facts that are text, under the same name a column
_NONE = (None,) * 11


def columns(facts: TurnFacts) -> tuple[str | None, ...]:
    """The facts that are columns of `turns`, too, in the order of the snippet `facts`."""
    if not facts:
        return _NONE
    start, error = _object(facts, "metadata"), _object(facts, "error")
    role, persona, workspace, mode, source_event = (_text(facts.get(name)) for name in NAMES)
    return (
        *(*model_columns(facts.get("model")), role, persona, workspace, mode),
        *(_text(facts.get("toolset_name")), _text(start.get("system_prompt_digest")), _text(facts.get("finish"))),
        *(_text(error.get("code")), source_event),
    )


def model_columns(model: Any) -> tuple[str | None, str | None]:
    """A model's own name and its provider's; what is unknown is NULL."""
    return (_text(model.get("model_id")), _text(model.get("provider_id"))) if isinstance(model, dict) else (None, None)


def named_columns(facts: TurnFacts) -> dict[str, str | None]:
    return dict(zip(COLUMNS, columns(facts), strict=True))


COLUMNS = (
    *("model", "provider", "role", "persona", "workspace", "mode", "toolset", "prompt_digest", "finish", "error_code"),
    "source_event",
)


def _object(facts: TurnFacts, name: str) -> dict[str, Any]:
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    """What a column of text holds; what none can is in facts_json only."""
    return value if isinstance(value, str) and value and exact_json.fits_column(value) else None


def outcome(facts: TurnFacts, status: str, fold: Fold) -> TurnFacts:
    """How a turn ended, by what its stream said: added to what its owner said, which goes first. What the stream said
    of another end is not how it ended."""
    found: TurnFacts = {} if fold.finish_reason is None else {"finish": fold.finish_reason}
    if fold.unknown:  # no part has them, and the chunks themselves are trimmed
        found["unknown_chunks"] = fold.unknown
    said, why = fold.ended or (None, None)
    if said == status == "failed":
        found["error"] = {"message": why or ""}
    elif said == status == "aborted" and why is not None:
        found["abort_reason"] = why
    return {**found, **facts} if found else facts
