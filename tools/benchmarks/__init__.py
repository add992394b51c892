"""What `tools/bench.py` measures, one module for each table.

A module has a `TITLE`, `measure`, which yields results, and `table`, which makes Markdown of them.
"""
