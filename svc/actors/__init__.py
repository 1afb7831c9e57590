"""One actor for each developer: it decides, appends and replies."""
