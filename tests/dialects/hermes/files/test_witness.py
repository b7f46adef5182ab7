"""Hermes itself reads what we write, and we read what it wrote. PALAVER_HERMES names the folder of its unpacked wheel
(0.19.0); without it these tests are skipped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.dialects.hermes.exporting import export_file
from palaver.dialects.hermes.importing import import_file

from .files import content_of, held
from .talks import of_6, of_22

FOLDER = os.environ.get("PALAVER_HERMES", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="PALAVER_HERMES names no unpacked wheel of Hermes")

WRITES = """
one = db.create_session("one", "cli", model="anthropic/claude", model_config={"a": 1}, system_prompt="Be engine.")
db.append_message("one", "user", "First")
db.append_message("one", "assistant", "", tool_calls=[{"id": "c1", "type": "function",
    "function": {"name": "terminal", "arguments": '{"command":"ls"}'}}], finish_reason="tool_calls", reasoning="Hm")
db.append_message("one", "tool", "a.py", tool_name="terminal", tool_call_id="c1")
db.append_message("one", "assistant", "One file.", finish_reason="stop", reasoning_details=[{"t": "x"}])
back = db.append_message("one", "user", [{"type": "text", "text": "Look"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}])
db.append_message("one", "assistant", "A picture.", reasoning_content="seen", codex_message_items=[{"i": 1}])
db.rewind_to_message("one", back)
db.append_message("one", "user", "你好 docker", observed=True, platform_message_id="m7")
db.append_message("one", "assistant", "Hello docker.", effect_disposition="none")
db.archive_and_compact("one", [{"role": "user", "content": "Summary so far"}, {"role": "assistant", "content": "Yes."}])
db.append_message("one", "user", "And on.", api_content="And on, as sent.")
db.set_session_title("one", "The docker build")
db.update_token_counts("one", 100, 20, model="anthropic/claude", estimated_cost_usd=0.25, api_call_count=1)
db.update_token_counts("one", 7, 2, model="openai/gpt-5", billing_provider="openai", estimated_cost_usd=0.5)
db.record_auxiliary_usage("one", "vision", model="gemini", input_tokens=11, output_tokens=1)
db.end_session("one", "compression")
db.create_session("two", "telegram", user_id="u1", parent_session_id="one")
db.append_message("two", "user", "In the next session")
db.ensure_session("three")
"""


def hermes(path: Path, code: str) -> Any:
    """What Hermes' own class says of a file: the value of `out` in the end."""
    lines = ["import json, sys", f"sys.path.insert(0, {FOLDER!r})", "from pathlib import Path"]
    lines += ["from hermes_state import SessionDB", f"db = SessionDB(Path({str(path)!r}))", "out = None", code]
    lines += ["db.close()", "sys.stdout.write(json.dumps(out))"]
    env = {**os.environ, "HERMES_HOME": str(path.parent), "HOME": str(path.parent)}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


READS = """
out = {}
for row in db.search_sessions(limit=100):
    name = row["id"]
    session = db.get_session(name)
    out[name] = [{key: session[key] for key in sorted(session)},
                 [{key: m[key] for key in m if key != "id"} for m in db.get_messages(name)],
                 db.get_messages_as_conversation(name),
                 db.has_archived_messages(name)]
"""


def test_hermes_reads_what_went_out_searches_it_and_goes_on(store: palaver.Store, tmp_path: Path) -> None:
    import_file(store, of_6(tmp_path / "state.db"))
    mine = store.sessions.create("coder", title="Made here", source="web")
    mine.commit(["A question of ours", {"role": "assistant", "content": "kubernetes it is"}])
    out = tmp_path / "out" / "state.db"
    out.parent.mkdir()
    export_file(store, out)

    found = hermes(out, 'out = [db.search_messages("kubernetes"), db.get_messages_as_conversation("s1")]')
    assert [hit["session_id"] for hit in found[0]] == [mine.id]
    roles = [row["role"] for row in found[1]]
    assert roles == [row["role"] for row in content_of(tmp_path / "state.db")["messages"] if row["session_id"] == "s1"]

    hermes(
        out, f'db.append_message("s1", "user", "Hermes goes on")\ndb.append_message({mine.id!r}, "user", "Here, too")'
    )
    report = import_file(store, out)
    assert (report.problems, report.new_sessions, report.rows, report.beside) == ([], 0, 2, 0)
    assert store.sessions.get("s1").messages()[-1]["parts"][0]["text"] == "Hermes goes on"
    assert mine.messages()[-1]["parts"][0]["text"] == "Here, too"
    again = import_file(store, out)
    assert (again.rows, again.turns) == (0, 0)


@pytest.mark.parametrize("engine", ["written by Hermes", "made by hand"])
def test_what_hermes_wrote_comes_in_goes_out_and_is_the_same_to_hermes(
    store: palaver.Store, tmp_path: Path, engine: str
) -> None:
    source = tmp_path / "state.db"
    if engine == "made by hand":
        of_22(source)
    hermes(source, WRITES)
    report = import_file(store, source)
    assert report.problems == [] and not report.is_newer

    out = tmp_path / "out" / "state.db"
    out.parent.mkdir()
    export_file(store, out)
    with palaver.open(tmp_path / "other.db") as other:
        import_file(other, out)
        assert held(other) == held(store)

    before, after = hermes(source, READS), hermes(out, READS)
    assert after.keys() == before.keys()
    for name in before:
        for told in (before[name][0], after[name][0]) if engine == "made by hand" else ():
            # A default that nobody knows, and no counts; and opening a file of schema 6, Hermes marks what it takes for
            # the runs of sub-agents.
            for column in ("weather", "message_count", "tool_call_count", "model_config"):
                told.pop(column)
        assert after[name] == before[name], name
    looked_for = 'out = [hit["snippet"].strip() for hit in db.search_messages("docker")]'
    assert hermes(out, looked_for) == hermes(source, looked_for) != []
