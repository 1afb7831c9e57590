"""The one way to a text model: what may leave, what it costs, what is believed."""
