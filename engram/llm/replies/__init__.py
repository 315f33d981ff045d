"""The forms of model replies, as pydantic models: JSON schemas and how to read them.

A reply is not trusted. Each form reads the items that it can, drops the rest and counts
them by reason. A reply that cannot be used at all raises ModelError; its message is
shown to the model when it is asked again. The tasks check that a reply rests on turns
and memories.
"""
