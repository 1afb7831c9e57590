"""Find the questions to a text model."""
