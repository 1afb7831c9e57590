"""Backup, restore, verify, export, forget, retention."""
