"""The vector extension (RVV 1.0)."""
