"""Join the captures and observations of a session into turns."""
