"""Search: what words a text has, what a person who looks for something means, and whether a text is it. No I/O."""
