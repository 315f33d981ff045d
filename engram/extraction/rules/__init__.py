"""The offline extractor: patterns that find plain statements without a model.

It takes a few turns with the preceding ones, and returns candidates of confidence .6 at
most. `engine.py` parses turns sentence by sentence, and `statements.py` tells in the
third person what the rule table reads in a clause (`core/language/states.py`, section
`[rules]` of the language files). Names of speakers and words to keep have a module
each. `table.py` has the words for a speaker. Start with `engine.py`.
"""
