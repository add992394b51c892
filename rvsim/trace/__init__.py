"""Listeners of a run: ordered events and their consumers, and counters of memory traffic."""
