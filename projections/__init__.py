"""Read models: tables, how facts change them, and queries over them. A replay of the log builds the same rows again."""
