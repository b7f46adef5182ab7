"""Search, the half that reads a store: from a query to a page of hits.

    finding ── engines ──▶ candidates of the index, in order ──┐
       │   └── tail ─────▶ what is not indexed yet ────────────┤ each: sight (who sees it), fields, match
       │                                                       ▼
       └────────────── hits (snippet, what stands around it) ──▶ page

`palaver.search` says what words a text has and what matches; `upkeep.indexing` writes the index.
"""
