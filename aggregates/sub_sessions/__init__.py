"""Sub-sessions: arcs of turns, merged, concluded and overridden."""
