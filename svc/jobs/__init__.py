"""Background jobs: reports, the price catalog, questions to a text model."""
