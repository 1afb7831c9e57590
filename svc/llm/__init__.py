"""Ask a text model: what may leave, what it costs, what is believed."""
