"""One machine with several folders that are vaults with the same id."""

from __future__ import annotations

import shutil
from dataclasses import replace

from engram import config
from engram.memory import VaultMemory
from engram.serve import socket_client
from engram.vault.journal import Journal

ID = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"
TOLD = "The roof of the barn is red."


class Machine:
    """One machine: a home for engram, and folders that are vaults with the same id."""

    def __init__(self, root):
        self.root = root
        self.env = {"ENGRAM_HOME": str(root / "home"), "HOME": str(root), "TZ": "UTC"}
        self.vault = root / "vault"
        self.vault.mkdir(mode=0o700)
        (self.vault / "engram.toml").write_text(f'id = "{ID}"\nzone = "UTC"\n')

    def settings(self, vault=None):
        found = config.load(vault or self.vault, self.env)
        light = socket_client.socket_of(str(vault or self.vault), self.env)
        assert light == str(found.socket), (
            "the short way and the configuration name one socket"
        )
        files = replace(found.policy.files, quiet_seconds=0, settle_most_seconds=0.05)
        return replace(found, policy=replace(found.policy, files=files))

    def open(self, vault=None):
        memory = VaultMemory(self.settings(vault))
        memory.start()
        memory.catch_up()
        return memory

    def do(self, name, vault=None, **params):
        memory = self.open(vault)
        try:
            return memory.call(name, params)
        finally:
            memory.close()

    def copy(self, name="copy", of=None):
        shutil.copytree(of or self.vault, self.root / name)
        return self.root / name

    def leaf(self, vault=None):
        return self.settings(vault).place.leaf

    def tell(self, vault=None, text=TOLD):
        """A turn is acknowledged, and the process ends before it is filed."""
        memory = self.open(vault)
        memory.executor.attended = True
        memory.call("observe", {"turns": [{"id": "t1", "session": "s", "text": text}]})
        memory.close()

    def waiting(self, vault=None):
        """How many turns wait in the journal that this vault would replay."""
        settings = self.settings(vault)
        return len(
            Journal(settings.state / "journal", settings.policy.journal).replay().turns
        )
