"""Organizations, developers, memberships, teams and keys."""
