"""Views: the files, the projector that writes them, and how they are built again."""
