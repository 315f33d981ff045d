"""Whether the model of the extra `semantic` is installed here."""

from __future__ import annotations

import os
import sys

import pytest

from engram.config import OFF, SENTENCE_PACKAGES, has_sentence_model

installed = has_sentence_model()

needs_model = pytest.mark.skipif(
    not installed, reason="engram[semantic] is not installed here"
)


def hide() -> None:
    """Let this process and those that it starts recall by words alone."""
    os.environ["ENGRAM_EMBEDDINGS_MODEL"] = OFF
    sys.modules[SENTENCE_PACKAGES[1]] = None
