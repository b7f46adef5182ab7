-- Who writes. On SQLite a file says who is alive, on Postgres a lease.

-- name: put_owner
INSERT INTO owners (id, pid, host, started_at) VALUES (:id, :pid, :host, :now) ON CONFLICT (id) DO NOTHING;

-- name: idle_owners
-- Owners that no open turn names.
SELECT o.id FROM owners o WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.live = 1 AND t.sealed_at IS NULL AND t.owner = o.id);

-- name: owner_row
SELECT pid, host, started_at FROM owners WHERE id = :id;

-- name: drop_owner
DELETE FROM owners WHERE id = :id;

-- name: server_clock
-- postgres:
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- name: put_lease
-- Postgres only: here a file says who is alive.
INSERT INTO owners (id, pid, host, started_at, lease_until) VALUES (:id, :pid, :host, :now, :until)
ON CONFLICT (id) DO NOTHING;

-- name: renew_lease
-- Postgres only. No row: somebody buried us.
UPDATE owners SET lease_until = :until WHERE id = :id;

-- name: lease_of
-- Postgres only.
SELECT lease_until FROM owners WHERE id = :id;
