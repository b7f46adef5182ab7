"""Sessions out of a store and into another one.

`write` and `read` move whole sessions as JSON lines, every stored byte as it is, digests included. `inspect` is one
JSON document per session for tools, `markdown` a page for people; neither is read back.

An export is text in UTF-8, one JSON object per line:

    {"palaver":"export","version":3,"schema":1}
    {"session":"ses_…"}                                     a group: all rows of one session
    {"table":"chat_sessions","id":"ses_…","agent":…}        one line per row, every column by name
    …
    {"end":"ses_…","lines":12,"sha256":"…"}                 over the exact bytes of the group's rows
    {"end":"export","sessions":1}

Columns with bytes (digest, salt, leaf, link) are lower-case hex; columns with JSON stay text, so their bytes are exact.
Nothing in the file says when it was made: the same content gives the same bytes. A session comes after those it
came from. Within a group the tables come in one order (see `tables`); messages by (created_at, id), parts by message
and index, everything else by its key.

* `owners` is never exported. An open turn is exported as it stands, its chunks too, with owner null. One that was
  streaming has no writer in the store that imports it, so that store's recovery seals it as aborted with what it had;
  one that waits goes on waiting.
* A system prompt is in every group whose messages name it, and is kept once; so are the tool definitions and settings
  (bodies) that its turns name. An id of another program (foreign_ids) is exported with the row it stands for.
* What follows from other rows (an ancestor to jump to, sums, facts as columns, the fields of compactions) is not in the
  file; the store that imports it works it out.
* Where only some sessions are chosen, the sessions that their turns and messages live in come along as *husks*
  (`{"session":"ses_…","husk":true}`): deleted sessions at revision 0 that hold just the turns and messages which the
  chosen ones reach, and the usage and items of these turns. An import of the whole session later completes a husk; a
  husk never changes a session that is there.
* An import takes a group whole or not at all, and only if every digest in it fits. A session that is there already with
  the same content is left alone; one that differs is refused and nothing is changed. So running an import again
  finishes what an interruption left.
* Items of other programs (natives) are base64 of the bytes that were given, null where they were erased; how a store
  packs them is not in the file. An import takes one only if it fits its digest, and its turn is a sealed one of the
  group.
* Version 2 had no natives. A whole session of version 2 that completes a husk leaves the husk's.
* Version 1 had no session_facts, usage and bodies, and no ended_at, end_reason and last_message_at of heads. It is read
  like the others; a session that is there counts as the same if all that the file's version can say of it is.
* A title, alias or id that was stored before there were limits may be longer than an index of Postgres can hold.
  Imported there it is cut, and the whole is in the session's metadata, under `cut_short`; `on_cut` hears of it.
"""

from .inspection import inspect
from .markdown_page import markdown
from .reader import read
from .results import Cut, NotAnExport, Progress, Refusal, Summary, Written
from .writer import write

__all__ = ["Cut", "NotAnExport", "Progress", "Refusal", "Summary", "Written", "inspect", "markdown", "read", "write"]
