"""`python -m svc`."""

from svc.entry import main

main()
