"""The state machine: every verb on a real file and on the model, and both read in full after each step."""

from __future__ import annotations

from .bench import REACHED
from .moves import Moves
from .queued import Queued
from .summaries import Summaries
from .talk import Talk
from .trouble import Trouble

__all__ = ["REACHED", "Machine"]


class Machine(Moves, Queued, Summaries):
    """All rules. One under several names is drawn more often: talk is more common than trouble."""

    begin_b = begin_c = Talk.begin
    exchange_b = exchange_c = exchange_d = Talk.exchange
    ask_a_tool_b = Talk.ask_a_tool
    append_b = append_c = append_d = append_e = Talk.append
    seal_b = seal_c = seal_d = Talk.seal
    resolve_b = resolve_c = Talk.resolve
    resolve_late_b = Talk.resolve_late
    fork_b = fork_c = fork_d = Moves.fork
    rewind_b = rewind_c = Moves.rewind
    regenerate_b = Moves.regenerate
    edit_b = Moves.edit
    undo_b = Moves.undo
    redo_b = redo_c = Moves.redo
    foreign_messages_b = Trouble.foreign_messages
    enqueue_b = Queued.enqueue
    claim_b = Queued.claim
    compact_b = Summaries.compact
