"""Cut turns into arcs, merge arcs into sub-sessions, conclude and override them."""
