"""The forms of model replies, as pydantic models: JSON schemas and parsing.

A reply is not trusted. Each form accepts valid items, drops the rest and counts them by
reason. An unusable reply raises ModelError, whose message is part of the repeated
question. The tasks check that a reply rests on turns and memories.
"""
