"""Dialects: other systems' vocabularies over a store, both ways. Each speaks only to the handles and holds no state."""
