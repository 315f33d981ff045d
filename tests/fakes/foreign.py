"""Notes as another memory tool wrote them, dated two years ago."""

from __future__ import annotations

import os

CATEGORIES = (
    "fact",
    "preference",
    "moment",
    "commitment",
    "entity",
    "decision",
    "skill",
    "relationship",
)


def foreign(root, number, *, text="", id=True, front=True):
    """Write a note as another memory tool wrote it two years ago (`C8`): its statement
    and its path.
    """
    category = CATEGORIES[number % len(CATEGORIES)]
    text = text or f"Person{number} bought lamp{number} for room{number % 40}."
    keys = [
        f"id: {category}-{number:05}",
        f"category: {category}",
        f"created: 2024-{number % 12 + 1:02}-{number % 28 + 1:02}T08:00:00.000Z",
        "updated: 2024-12-01T08:00:00.000Z",
        "source: extraction",
        f"confidence: {(0.35, 0.6, 0.9)[number % 3]}",
        "confidenceTier: inferred",
        'tags: ["home", "lamp"]',
        f"entityRef: person-{number % 50}",
        "lifecycleState: active",
        "verificationState: system_inferred",
        f"importanceScore: {(0.1, 0.5, 0.8)[number % 3]}",
        f"memoryKind: {('episode', 'note')[number % 2]}",
        f"contentHash: {number:064x}",
        *(["expiresAt: 2025-06-01T00:00:00.000Z"] if number % 10 == 7 else []),
    ]
    keys = keys if id else keys[1:]
    head = "---\n" + "\n".join(keys) + "\n---\n\n" if front else ""
    path = (
        root
        / "facts"
        / f"2024-{number % 12 + 1:02}-{number % 28 + 1:02}"
        / f"{category}-{number:05}.md"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}{text}\n")
    os.utime(path, (1_735_000_000, 1_735_000_000))
    return text, path
