"""Evaluation: questions with known evidence, answered by the user's own pipeline.

In: files of conversations with questions (`datasets.py`). Out: a row for each question,
in a file of JSON lines, and figures with intervals (`report.py`).
Start with `Evaluation` in `run.py`. `metrics.py` and `baselines.py` are pure; the
benchmarks use these modules too.
"""
