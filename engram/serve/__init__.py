"""Thin translators of the table of operations."""
