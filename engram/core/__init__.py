"""What is true: pure functions over frozen records; no I/O, no clock, no randomness."""
