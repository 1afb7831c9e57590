"""List prices of models, and what a request costs."""
