"""`python -m palaver` is the command line."""

from .cli import main

main()
