"""Import the session files that agents keep."""
