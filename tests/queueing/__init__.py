"""The queue of a session, and triggers that fire once."""
