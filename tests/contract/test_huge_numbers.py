"""Another program wrote a number that leaves no room for the next: what cannot be done is said, and by its name."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import palaver


@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_session_that_has_run_out_of_numbers_says_so_and_no_server_crashed(tmp_path: Path, left: int) -> None:
    store = palaver.open(tmp_path / "talks.db")
    session = store.sessions.create("coder")
    session.commit("hi")
    db = apsw.Connection(str(tmp_path / "talks.db"))
    db.execute("UPDATE heads SET event_seq = ?", (2**63 - 1 - left,)).fetchall()
    db.close()
    said = []
    for _ in range(3):
        try:
            with session.turn("more") as turn:
                turn.append([{"type": "start"}, {"type": "text-start", "id": "t"}, {"type": "text-end", "id": "t"}])
        except palaver.PalaverError as error:
            said.append(str(error))
    try:
        store.close()
    except palaver.PalaverError as error:
        said.append(str(error))
    assert said and not [sentence for sentence in said if "the server crashed" in sentence]
    with palaver.open(tmp_path / "talks.db", readonly=True) as reader:
        assert reader.sessions.get(session.id).messages()[0]["parts"] == [{"type": "text", "text": "hi"}]
