"""The HTTP layer: one module per route family, plus authentication, errors and decoding.

It knows the values of `aggregates` and the queries of `projections`; the running service only through `ports`.
"""
