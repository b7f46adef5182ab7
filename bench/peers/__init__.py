"""Other stores through their public API, for `--peers`; nothing here is installed by this project."""
