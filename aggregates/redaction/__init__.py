"""Take secrets and addresses out of a text."""
