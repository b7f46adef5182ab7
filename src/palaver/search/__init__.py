"""Search, the half that does no I/O: what words a text has, what a person who looks for something means, what matches.

    typed ─ query.parse ─▶ tree ─ fts5.lookup ────────────────────▶ rows of FTS5 ────┐
                            │  └─ candidates, tsquery.combine ────▶ rows of Postgres ┤ candidates
                            │                                                        ▼
    text ─ words.segment ─▶ words, pieces (slices)           match.matches, where they are not exact
                            └─────── snippet.snippet(tree, text) ──▶ what is shown of a hit

An index holds what `segment` makes of a text, and an engine gives never fewer documents than match. `matches` reads the
text alone: it decides about candidates, and about texts that are not indexed yet. All stands on `characters.fold`.
"""
