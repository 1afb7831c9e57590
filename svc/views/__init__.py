"""Views: the files, who writes them, and how they are built again."""
