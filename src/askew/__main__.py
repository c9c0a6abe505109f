"""`python -m askew` is the command line."""

from askew.cli import main

main()
