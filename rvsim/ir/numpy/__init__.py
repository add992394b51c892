"""The back end NumPy: the rules of each primitive as Python source."""
