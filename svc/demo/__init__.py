"""A month of two imaginary developers, as transcripts."""
