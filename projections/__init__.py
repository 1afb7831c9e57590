"""Tables: how events change them, and the queries over them.

A replay builds the same rows again, whatever the order of arrival or the size of the batches.
"""
