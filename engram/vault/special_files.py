"""Recognise pipes, devices and sockets, which may never end or never begin.

The command line asks before each command, so this module imports only light parts of
the standard library.
"""

from __future__ import annotations

import os
import stat

from engram.errors import ForbiddenError

TYPE_CHECKING = False  # importing typing would double the time of this import
if TYPE_CHECKING:
    from os import PathLike


def is_special(path: PathLike[str] | str) -> bool:
    """Return whether there is a pipe, a device or a socket, or a link to one."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def refuse_special(path: PathLike[str] | str) -> None:
    """Raise ForbiddenError for a pipe, a device or a socket, or a link to one."""
    if is_special(path):
        raise ForbiddenError(
            "this is a pipe, a device or a socket, not a file",
            where=str(path),
            fix="Save its content as a file, and name that file.",
        )
