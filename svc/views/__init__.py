"""The files of tables, the projector that writes them, and replay."""
