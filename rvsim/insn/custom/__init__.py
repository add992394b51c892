"""Instructions of vendors: SpacemiT IME."""
