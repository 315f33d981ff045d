"""The numbers, by concern; `core.policy` is the table of all."""
