"""What a pass sees once planned steps are done: each note is written, patched and read
again.
"""

from __future__ import annotations

from dataclasses import replace

from engram.core.records import Edit, Move
from engram.maintenance.passes.view import TRASH, EdgeUpdate, FileWrite, ViewUpdate
from engram.vault import facts, frontmatter


def after(view, *steps):
    """The view with these steps, as a plan gives it to the next pass."""
    update = ViewUpdate()
    for step in steps:
        if isinstance(step, Edit | Move):
            name = view.at[step.path]
            state = view.memories[name]
            fact = patched(state.fact, step, view.zone)
            gone = fact.path.startswith(TRASH)
            update.memories[name] = None if gone else replace(state, fact=fact)
        elif isinstance(step, FileWrite):
            update.files[step.path] = step.content
        elif isinstance(step, EdgeUpdate):
            update.edges.append(step.edge)
        else:
            update.stored.update(step.stored)
    return view.after(update)


def patched(fact, step, zone):
    """The memory as its note says it after the step."""
    raw = frontmatter.emit(facts.fact_keys(fact, zone), facts.fact_body(fact.text))
    new = frontmatter.edit(raw, facts.keys_to_write(step), step.body)
    path = step.to if isinstance(step, Move) else step.path
    return facts.fact_from(frontmatter.read(new), path, fact.sha, zone)[0]
