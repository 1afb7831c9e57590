"""Routes, one module for each family."""
