"""The one way to a text model: what may leave, what it may cost, how it is asked, what is believed."""
