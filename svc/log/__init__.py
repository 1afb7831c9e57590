"""The log: codec, vault, store, journal, and the folder that holds them."""
