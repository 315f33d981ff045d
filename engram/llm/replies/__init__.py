"""The forms of model replies, as pydantic models: their JSON schemas and their reading.

A reply is not trusted. Each form reads what it can and drops the rest, by reason; what
cannot be used at all is a ModelError, whose words the model is shown as it is asked
again. Grounding in turns and memories is checked by the tasks.
"""
