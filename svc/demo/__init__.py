"""The demo: a month of two imaginary developers, as transcripts."""
