"""File names that a file system allows and a program does not expect."""

from __future__ import annotations

ODD = (
    "two\nlines",
    "tab\tred\x1b[31m",
    "quote\"'`",
    "#heading^block",
    "alias|name",
    "[[link]]",
    "-rf",
    " blank ",
    "cafe\u0301",
    "caf\u00e9",
    "Case",
    "case",
    "\u202egnp",
    "zero\u200bwidth",
    "CON",
    "100%41",
    "back\\slash",
    "x" * 252,
)


def facts_of(settings, names, more=""):
    """Write a fact under each name and return the paths in the vault."""
    folder = settings.vault / "facts" / "2026-11-01"
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        keys = f"id: 01KBH2Q0M6T4W2Y0B7C5D9{number:04}\ncategory: fact\ncreated: 2026-11-01T10:00:00\n{more}"
        (folder / f"{name}.md").write_text(
            f"---\n{keys}---\nThe platypus number{number}x swims.\n"
        )
    return [f"facts/2026-11-01/{name}.md" for name in names]
