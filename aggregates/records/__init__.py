"""Records: what agents did, in one vocabulary for all of them."""
