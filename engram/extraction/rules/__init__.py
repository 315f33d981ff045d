"""The offline extractor: patterns that find plain statements without a model.

In: a few turns with those before them. Out: candidates of confidence .6 at most.
`engine.py` reads turns sentence by sentence; `assertions.py` reads a clause by the rules,
and `statements.py` makes its statement. Names that speakers give, changes of a state,
other languages and words to keep have a module each. `table.py` and `languages.py` read
the rules from the language files (`core/language/data`). Start with `engine.py`.
"""
