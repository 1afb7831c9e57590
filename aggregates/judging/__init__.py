"""Judge a sub-session: boundary, floor, rubric, outcome."""
