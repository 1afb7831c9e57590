"""`python -m svc`."""

from svc.cli import main

main()
