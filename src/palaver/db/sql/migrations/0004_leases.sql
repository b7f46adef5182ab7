-- On Postgres an owner is alive until its lease is over.
ALTER TABLE owners ADD COLUMN lease_until INTEGER;
