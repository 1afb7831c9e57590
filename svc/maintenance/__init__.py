"""Maintenance of the folder: backup, restore, verify, export, forget, retention."""
