"""Traces of a run: events and their consumers, writers of trace files, and counters."""
