"""`python -m engram` is the command `engram`."""

from __future__ import annotations

from engram.serve.cli import main

if __name__ == "__main__":
    main()
