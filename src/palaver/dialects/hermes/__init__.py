"""Hermes Agent's vocabulary over a store: its `state.db`, in and out."""
