"""Read what a text model is to be asked."""
