"""Wide register groups (large VLEN x LMUL): computed in loops over strips of lanes."""
