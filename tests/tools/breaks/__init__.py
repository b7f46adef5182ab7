"""Bugs of the product, by subject: every patch of its internals that is planted in a process of its own."""
