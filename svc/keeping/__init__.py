"""Keeping what is stored: back up, restore, verify, export, forget, drop what is too old, upgrade."""
