"""Pages about more than one person: a team's, and those of who looks after an organization or the server."""
