"""Seeded histories of the whole service against a naive model: `python -m sim --help`, and docs/simulation.md.

The modules, from the bottom up: `chance` (everything random comes of the seed), `threads` (there is one thread),
`disk` (faults and deaths below the log and the views), `wire` (connections without sockets), `life` (the service from a
start to its death), `world` (lives one after the other, and what they leave on the disk), `stories` (what agents see),
`model` (what was acknowledged), `clients` (who sends it), `reads` (what the service says, held against the model),
`faults` (what befalls the service), `history` (all of it, step by step).
"""
