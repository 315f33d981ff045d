"""The offline extractor: patterns that find plain statements without a model.

It takes a few turns with the preceding ones, and returns candidates of confidence .6 at
most. `engine.py` parses turns sentence by sentence; `assertions.py` applies the rules
to a clause, and `statements.py` builds its statement. Names of speakers, changes of a
state, other languages and words to keep have a module each. `table.py` and
`languages.py` read the rules from the language files (`core/language/data`). Start with
`engine.py`.
"""
