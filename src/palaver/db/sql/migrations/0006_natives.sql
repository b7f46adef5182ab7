-- Items of other programs, as they were given: what came in from elsewhere is known again by them.

CREATE TABLE natives (
    turn_id    TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    origin     TEXT NOT NULL,
    item       TEXT NOT NULL,
    digest     BLOB NOT NULL,
    body       BLOB,
    codec      TEXT,
    file       TEXT,
    place      INTEGER,
    PRIMARY KEY (turn_id, seq)
) WITHOUT ROWID;
CREATE INDEX natives_by_item ON natives (session_id, origin, item);

INSERT INTO settings VALUES ('writers_from', '5') ON CONFLICT (name) DO UPDATE SET value = excluded.value;
