"""The files: the only writer."""
