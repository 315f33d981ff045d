"""The only package that talks to a language model.

In: a task, its material as text, the day's budget. Out: a checked reply, or a
ModelError. The prompts are in `prompts/*.md`; `endpoint.py` is the only user of the
`openai` library. Start with `client.py`, then `tasks.py`.
"""
