"""The Postgres engine: many machines, one database; each space is a schema of its own."""
