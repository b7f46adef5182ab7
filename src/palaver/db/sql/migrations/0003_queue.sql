-- Messages that wait, deliveries of triggers, and tool outputs kept from models.

CREATE TABLE queue (
    session_id TEXT NOT NULL,
    id         TEXT NOT NULL,
    turn_id    TEXT NOT NULL,
    payload    BLOB NOT NULL,
    queued_at  INTEGER NOT NULL,
    claims     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, id)
) WITHOUT ROWID;

CREATE INDEX queue_by_turn ON queue (turn_id);

CREATE TABLE deliveries (
    source      TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    turn_id     TEXT NOT NULL,
    payload     BLOB NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (source, delivery_id)
) WITHOUT ROWID;

CREATE INDEX deliveries_by_session ON deliveries (session_id);

CREATE TABLE pruned (
    part_id    TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    at         INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX pruned_by_session ON pruned (session_id);
