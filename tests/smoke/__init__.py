"""`python -m tests.smoke COMMAND…`: what a newcomer does, with the source tree or the binary, as the command says."""
