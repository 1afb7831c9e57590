"""Read models.

One module per read model: its tables, how facts change them, and its queries. A projection may be thrown away at
any time: a replay of the log builds the same rows again, whatever the order of arrival or the size of the batches.
"""
