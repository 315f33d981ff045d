"""What engram tells in a note: lines that read back as they were written, and nothing
else touched.
"""

from __future__ import annotations

import pytest

from engram.core.policy import FilePolicy
from engram.core.records import BlockEdit, Line
from engram.vault.blocks import (
    apply_block_edit,
)

LIMITS = FilePolicy()


# row: X3
@pytest.mark.parametrize("sign", ["\n", "\r\n"])
def test_what_a_person_wrote_keeps_every_byte(sign):
    """Also line ends, byte order mark, keys and a missing last newline; a block comes
    and goes.
    """
    own = f"\ufeff---{sign}type:  person # mine{sign}---{sign}# Anna{sign}{sign}\tMine.  {sign}{sign}last".encode()
    told = apply_block_edit(
        own,
        BlockEdit("n.md", "", {"seen": "x"}, {"description": (Line("So.", ("a",)),)}),
        LIMITS,
    )
    assert (
        f"# Anna{sign}{sign}%% engram:begin description %%{sign}So. [[a|1]]{sign}".encode()
        in told
    )
    assert told.startswith(own[: own.index(b"mine") + 4])
    assert told.endswith(f"\tMine.  {sign}{sign}last".encode())
    gone = apply_block_edit(
        told, BlockEdit("n.md", "", {"seen": None}, {"description": ()}), LIMITS
    )
    assert gone.replace(sign.encode(), b"") == own.replace(sign.encode(), b"")
