"""What the suites share: child processes, planted bugs, chunks to stream, plain SQL, a random life and its judges."""
