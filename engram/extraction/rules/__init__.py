"""The offline extractor: careful patterns that find what is plainly said.

In: a few turns with those before them. Out: candidates of confidence .6 at most.
`engine.py` runs the patterns, the other modules hold them by subject and language.
Start with `engine.py`.
"""
