"""A hart's state and the memory that it works on: nothing here knows an instruction."""
