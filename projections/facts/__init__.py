"""Write the rows of each event."""
