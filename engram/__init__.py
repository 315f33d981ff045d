"""Long-term memory for chatbots, stored as a folder of Markdown files.

`from engram import Memory` is the public interface; it is imported on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from typing import Any

    from engram.serve.client import Memory

__version__ = "0.2.0"
__all__ = ["Memory", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "Memory":
        from engram.serve.client import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
