"""The HTTP layer: routes, authentication, errors and decoding.

It imports `aggregates` and `projections`; it reaches the running service only through `ports`.
"""
