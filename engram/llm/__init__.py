"""The only package that talks to a language model.

It takes a task, its material as text, and the day's budget, and returns a checked reply
or raises ModelError. The prompts are in `prompts/*.md`; `endpoint.py` is the only user
of the `openai` library. Start with `client.py`, then `tasks.py`.
"""
