-- Search: what an index holds of each message, and which turns it does not hold yet. Every turn that is there begins as
-- not indexed, and so does one that a program of version 5 or 6 writes beside us; maintenance indexes them.

ALTER TABLE turns ADD COLUMN unindexed INTEGER NOT NULL DEFAULT 1;
CREATE INDEX turns_unindexed ON turns (id) WHERE unindexed > 0;

CREATE TABLE documents (
    number     INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL,
    part_id    TEXT,
    role       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    newest     INTEGER NOT NULL,
    titled     TEXT,
    checksum   INTEGER NOT NULL
);
CREATE INDEX documents_by_message ON documents (message_id);
CREATE INDEX documents_titled ON documents (titled) WHERE titled IS NOT NULL;

INSERT INTO settings VALUES ('writers_from', '5') ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- sqlite:
CREATE VIRTUAL TABLE document_words USING fts5(words, pieces, content='', contentless_delete=1, tokenize='ascii');
-- postgres:
CREATE TABLE document_words (number BIGINT NOT NULL, slice BIGINT NOT NULL, words tsvector NOT NULL, PRIMARY KEY (number, slice));
CREATE INDEX document_words_by_word ON document_words USING gin (words);
