"""Routes, one module a family."""
