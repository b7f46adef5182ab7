-- Search: the documents, their words, and what is not indexed yet.

-- snippet: document
d.number, d.message_id, d.part_id, d.role, d.at, d.newest, d.titled, d.checksum

-- snippet: message
m.id, m.session_id, m.role, m.metadata_json, m.created_at

-- snippet: those
-- Several ids for one statement: see core/search/ahead.py.
:id_a, :id_b, :id_c, :id_d, :id_e, :id_f, :id_g, :id_h, :id_i, :id_j, :id_k, :id_l, :id_m,
:id_n, :id_o, :id_p, :id_q, :id_r, :id_s, :id_t, :id_u, :id_v, :id_w, :id_x, :id_y

-- snippet: turn_to_index
SELECT t.id, t.session_id, t.status, t.sealed_at, t.unindexed FROM turns t

-- name: turns_to_index
-- Those that the index does not hold as they are, and that nobody writes now, in the order of their ids.
{turn_to_index}
 WHERE t.unindexed > 0 AND (t.sealed_at IS NOT NULL OR (t.status = 'waiting' AND t.unindexed = 1))
 ORDER BY t.id LIMIT :limit;

-- name: turns_to_index_again
-- All that nobody writes now, after one.
{turn_to_index}
 WHERE t.id > :after AND (t.sealed_at IS NOT NULL OR t.status = 'waiting') ORDER BY t.id LIMIT :limit;

-- name: indexed_turns
{turn_to_index} WHERE t.id >= :after AND t.unindexed = 0 ORDER BY t.id LIMIT :limit;

-- name: turn_to_index
{turn_to_index} WHERE t.id = :turn;

-- name: newest_unindexed
-- The tail of the index: also those that are being written.
{turn_to_index} WHERE t.unindexed > 0 AND NOT (t.unindexed = 2 AND t.status = 'waiting') ORDER BY t.id DESC LIMIT :limit;

-- name: count_indexable
-- plan: free
SELECT count(*) AS turns FROM turns;

-- name: count_indexable_up_to
-- plan: free
SELECT count(*) AS turns FROM turns WHERE id <= :turn;

-- name: count_unindexed
-- plan: free
SELECT count(*) AS turns FROM turns WHERE unindexed > 0;

-- name: set_indexed
UPDATE turns SET unindexed = :mark WHERE id = :turn;

-- name: unindex_titled
-- The title of a session is in the documents of what it begins with.
UPDATE turns SET unindexed = 1 WHERE id IN (
    SELECT e.turn_id FROM documents d JOIN turn_entries e ON e.ref = d.message_id AND e.kind = 'message'
     WHERE d.titled = :session);

-- name: messages_of_turn
-- Those that it lists, in their order; and whether a message is the first of its session's own, in it or in another
-- turn: then it has the session's title.
SELECT {message}, EXISTS (
    SELECT 1 FROM turn_entries l JOIN turns t ON t.id = l.turn_id LEFT JOIN turns p ON p.id = t.parent_id
     WHERE l.ref = m.id AND l.kind = 'message' AND t.session_id = m.session_id
       AND (p.id IS NULL OR p.session_id <> t.session_id)
       AND NOT EXISTS (
           SELECT 1 FROM turn_entries b JOIN chat_messages o ON o.id = b.ref
            WHERE b.turn_id = l.turn_id AND b.kind || '' = 'message' AND b.seq < l.seq AND o.session_id = m.session_id)
       ) AS begins
  FROM turn_entries e JOIN chat_messages m ON m.id = e.ref
 WHERE e.turn_id = :turn AND e.kind = 'message' ORDER BY e.seq;

-- name: unindexed_turn
-- One that lists a message and that the index does not hold as it is.
SELECT t.id FROM turn_entries e JOIN turns t ON t.id = e.turn_id
 WHERE e.ref = :message AND e.kind = 'message' AND t.unindexed > 0 LIMIT 1;

-- name: title_of_session
SELECT title FROM heads WHERE session_id = :session;

-- The state of the index: how often it was written, and how far it is being made again.

-- name: index_state
SELECT name, value FROM settings WHERE name IN ('search', 'search_mark', 'search_looked');

-- name: hold_index
-- Of several who index, one goes on. No row: somebody else does, or nobody ever did.
-- sqlite:
SELECT value FROM settings WHERE name = 'search';
-- postgres:
SELECT value FROM settings WHERE name = 'search' FOR UPDATE SKIP LOCKED;

-- name: index_moved
INSERT INTO settings (name, value) VALUES ('search', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(settings.value AS INTEGER) + 1 AS TEXT);

-- name: set_index_mark
INSERT INTO settings (name, value) VALUES ('search_mark', :mark) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: set_index_looked
INSERT INTO settings (name, value) VALUES ('search_looked', :looked) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: drop_index_mark
DELETE FROM settings WHERE name = 'search_mark';

-- Documents.

-- name: last_document
SELECT number, newest FROM documents ORDER BY number DESC LIMIT 1;

-- name: documents_of_message
SELECT {document} FROM documents d WHERE d.message_id = :message ORDER BY d.number;

-- name: documents_of_messages
-- Of several at once, where each question would be a round trip.
-- postgres:
SELECT {document} FROM documents d WHERE d.message_id = ANY (CAST(:messages AS TEXT[])) ORDER BY d.number;

-- name: put_document
INSERT INTO documents (number, message_id, part_id, role, at, newest, titled, checksum)
VALUES (:number, :message, :part, :role, :at, :newest, :titled, :checksum);

-- name: drop_document
DELETE FROM documents WHERE number = :number;

-- name: drop_documents
DELETE FROM documents;

-- name: documents_beside_messages
-- With the row that each is of, for verify.
SELECT {document}, m.id AS message FROM documents d LEFT JOIN chat_messages m ON m.id = d.message_id
 WHERE d.number > :after ORDER BY d.number LIMIT :limit;

-- name: refs_of_turns
-- The messages that turns list, in their order.
SELECT e.turn_id, e.ref FROM turn_entries e WHERE e.turn_id IN ({those}) AND e.kind = 'message' ORDER BY e.turn_id, e.seq;

-- name: messages_to_show
SELECT {message} FROM chat_messages m WHERE m.id IN ({those});

-- snippet: part
p.message_id, p.id, p.type, p.tool_state,
CASE WHEN octet_length(p.data_json) <= :most THEN p.data_json END AS data_json,
CASE WHEN octet_length(p.data_json) > :most THEN substr(p.data_json, 1, CAST(:beginning AS INT)) END AS beginning

-- name: parts_to_search
-- Of what is very large, only the beginning is read.
SELECT {part} FROM chat_parts p WHERE p.message_id = :message ORDER BY p."index", p.id;

-- name: parts_of_those
SELECT {part} FROM chat_parts p WHERE p.message_id IN ({those}) ORDER BY p.message_id, p."index", p.id;

-- name: sessions_to_show
-- Sessions as a search sees them.
SELECT s.id, s.agent, s.workspace_root, s.archived_at, h.deleted_at, h.title, h.turn_id
  FROM chat_sessions s LEFT JOIN heads h ON h.session_id = s.id WHERE s.id IN ({those});

-- name: sources_of_sessions
SELECT f.session_id, f.value FROM session_facts f WHERE f.session_id IN ({those}) AND f.name = 'source';

-- name: places_to_show
-- The turns that list each message, the shallowest first.
SELECT e.ref AS message_id, e.turn_id, t.parent_id, t.depth, t.sealed_at, t.status, t.provider, t.model
  FROM turn_entries e JOIN turns t ON t.id = e.turn_id WHERE e.ref IN ({those}) AND e.kind = 'message'
 ORDER BY t.depth, t.id;

-- name: following
-- The message that came next in the session of each.
SELECT m.id AS message_id, (SELECT n.id FROM chat_messages n WHERE n.session_id = m.session_id AND n.created_at > m.created_at
                             ORDER BY n.created_at LIMIT 1) AS following
  FROM chat_messages m WHERE m.id IN ({those});

-- name: forks_to_show
-- The forks of a session, those that were deleted too: a fork of theirs may be alive.
SELECT h.session_id FROM heads h WHERE h.origin_id = :session AND h.relation = 'fork' ORDER BY h.session_id;

-- name: message_at
-- SQLite only: which message has this number.
-- sqlite:
SELECT m.id FROM chat_messages m WHERE m.rowid = :number;

-- name: newest_arrival
-- The message row that came last, by its number.
-- sqlite:
SELECT max(m.rowid) AS mark, m.id AS guard FROM chat_messages m;

-- name: loose_since
-- What another program wrote of the rows that came since.
-- sqlite:
SELECT m.id FROM chat_messages m WHERE m.rowid > :mark AND {is_loose} ORDER BY m.rowid DESC LIMIT :limit;

-- name: loose_among
-- Of several, those that are another program's.
SELECT {message} FROM chat_messages m WHERE m.id IN ({those}) AND {is_loose};

-- name: loose_everywhere
-- plan: free
-- sqlite:
SELECT {message} FROM chat_messages m WHERE m.rowid > -4611686018427387904 AND {is_loose} ORDER BY m.rowid DESC LIMIT :limit;
-- postgres:
SELECT {message} FROM chat_messages m WHERE {is_loose} ORDER BY m.created_at DESC LIMIT :limit;

-- Words, on SQLite.

-- name: put_words
-- sqlite:
INSERT INTO document_words (rowid, words, pieces) VALUES (:number, :words, :pieces);

-- name: drop_words
-- sqlite:
DELETE FROM document_words WHERE rowid = :number;
-- postgres:
DELETE FROM document_words WHERE number = :number;

-- name: clear_words
-- postgres:
DELETE FROM document_words;

-- A table of words is made anew, also where it is damaged: SQLite drops one that it can read the settings of.

-- name: make_words_settings
-- sqlite:
CREATE TABLE IF NOT EXISTS document_words_config (k PRIMARY KEY, v) WITHOUT ROWID;

-- name: put_words_settings
-- sqlite:
INSERT INTO document_words_config (k, v) VALUES ('version', 4) ON CONFLICT (k) DO UPDATE SET v = 4;

-- name: drop_words_table
-- sqlite:
DROP TABLE document_words;

-- name: make_words_table
-- sqlite:
CREATE VIRTUAL TABLE document_words USING fts5(words, pieces, content='', contentless_delete=1, tokenize='ascii');

-- name: merge_words
-- Write so many pages of what is merged; fewer than none: begin to make one segment of all.
-- sqlite:
INSERT INTO document_words (document_words, rank) VALUES ('merge', :pages);

-- name: flush_words
-- FTS5 writes its pages with the commit, or now.
-- sqlite:
INSERT INTO document_words (document_words) VALUES ('flush');

-- name: rows_changed
-- By this connection, ever: less than two more after a merge, and there was nothing to merge.
-- sqlite:
SELECT total_changes() AS rows;

-- name: words_standing
-- What must agree where an index is whole: the last number of both, and that pages of words (from 11 on) are found; and
-- whether somebody who looked closely has told that it is damaged.
-- sqlite:
SELECT (SELECT max(number) FROM documents) AS last, (SELECT max(id) FROM document_words_docsize) AS indexed,
       NOT EXISTS (SELECT 1 FROM document_words_data WHERE id > 10) OR EXISTS (SELECT 1 FROM document_words_idx)
           AS has_pages, (SELECT value FROM settings WHERE name = 'search_damaged') AS told;
-- postgres:
SELECT (SELECT max(number) FROM documents) AS last, (SELECT max(number) FROM document_words) AS indexed, 1 AS has_pages,
       NULL AS told;

-- name: tell_damaged
INSERT INTO settings (name, value) VALUES ('search_damaged', :why) ON CONFLICT (name) DO NOTHING;

-- name: tell_no_damage
DELETE FROM settings WHERE name = 'search_damaged';

-- name: words_segments
-- How many pages each segment of FTS5 has, about.
-- sqlite:
SELECT segid AS segment, count(*) AS pages FROM document_words_idx GROUP BY segid;

-- The rows that make up the index of words, by pieces and all of them: see core/search/sums.py.

-- name: index_sums
SELECT value FROM settings WHERE name = 'search_sums';

-- name: set_index_sums
INSERT INTO settings (name, value) VALUES ('search_sums', :sums) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: words_pages
-- sqlite:
SELECT id, block FROM document_words_data WHERE id BETWEEN :first AND :last;

-- name: all_words_pages
-- sqlite:
SELECT id, block FROM document_words_data;

-- name: words_terms
-- sqlite:
SELECT segid, term, pgno FROM document_words_idx WHERE segid = :segment;

-- name: all_words_terms
-- sqlite:
SELECT segid, term, pgno FROM document_words_idx;

-- name: words_sizes
-- sqlite:
SELECT id, sz, origin FROM document_words_docsize WHERE id BETWEEN :first AND :last;

-- name: all_words_sizes
-- sqlite:
SELECT id, sz, origin FROM document_words_docsize;

-- name: words_settings
-- sqlite:
SELECT k, v FROM document_words_config;

-- name: documents_between
SELECT {document} FROM documents d WHERE d.number BETWEEN :first AND :last;

-- name: all_documents
-- plan: free
SELECT {document} FROM documents d;

-- name: ranked_words
-- The best first; a lower score is better.
-- sqlite:
SELECT {document}, f.score FROM (
    SELECT rowid AS number, rank AS score FROM document_words
     WHERE document_words MATCH :match AND (rank > :score OR (rank = :score AND rowid > :number))
     ORDER BY rank, rowid LIMIT :limit) f
  LEFT JOIN documents d ON d.number = f.number
 ORDER BY f.score, f.number;

-- name: newest_words
-- From a number downwards.
-- sqlite:
SELECT {document} FROM document_words w LEFT JOIN documents d ON d.number = w.rowid
 WHERE w.document_words MATCH :match AND w.rowid < :below ORDER BY w.rowid DESC LIMIT :limit;

-- name: newest_documents
SELECT {document} FROM documents d WHERE d.number < :below ORDER BY d.number DESC LIMIT :limit;

-- name: count_words
-- Goes through all that begins so.
-- sqlite:
SELECT count(*) FROM document_words WHERE document_words MATCH :match;

-- name: one_with_words
-- Whether a word is anywhere.
-- sqlite:
SELECT rowid AS number FROM document_words WHERE document_words MATCH :match LIMIT 1;

-- Words, on Postgres.

-- name: put_slice
-- postgres:
INSERT INTO document_words (number, slice, words) VALUES (:number, :slice, CAST(:words AS tsvector));

-- name: numbers_of_words
-- plan: free
-- postgres:
SELECT DISTINCT number FROM document_words WHERE words @@ CAST(:wanted AS tsquery);

-- name: ranked_slices
-- A rank has few digits; compared with all of them, it is the one that a cursor has.
-- plan: free
-- postgres:
SELECT {document}, f.score FROM (
    SELECT w.number, -max(CAST(ts_rank(w.words, CAST(:wanted AS tsquery)) AS DOUBLE PRECISION)) AS score
      FROM document_words w
     WHERE w.words @@ CAST(:wanted AS tsquery) AND (:numbers = '' OR w.number = ANY (CAST(:numbers AS BIGINT[])))
     GROUP BY w.number) f
  JOIN documents d ON d.number = f.number
 WHERE f.score > :score OR (f.score = :score AND f.number > :number)
 ORDER BY f.score, f.number LIMIT :limit;

-- name: documents_of_numbers
-- postgres:
SELECT {document} FROM documents d WHERE d.number = ANY (CAST(:numbers AS BIGINT[])) ORDER BY d.number DESC;

-- name: words_among
-- Which of these words are anywhere.
-- plan: free
-- postgres:
SELECT q FROM unnest(CAST(:queries AS TEXT[])) q
 WHERE EXISTS (SELECT 1 FROM document_words w WHERE w.words @@ CAST(q AS tsquery));
