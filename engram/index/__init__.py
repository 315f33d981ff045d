"""Derived stores; each may be deleted at any time."""
