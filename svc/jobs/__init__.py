"""Jobs beside the requests: reports, catalog, questions to a text model."""
