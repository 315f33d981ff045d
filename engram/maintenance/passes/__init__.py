"""The passes: pure functions from a `PassView` and the time to a list of steps.

A step is a change with its reason. `plan.py` decides whether it is permitted, and gives
the next pass a view in which the step is done, although nothing is written yet.
`view.py` has the steps and the view, the other modules the passes themselves.
"""
