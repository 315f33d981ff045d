"""The offline extractor: patterns that find plain statements without a model.

In: a few turns with those before them. Out: candidates of confidence .6 at most.
`engine.py` runs the rules; `table.py` and `languages.py` read them from the language
files (`core/language/data`). Start with `engine.py`.
"""
