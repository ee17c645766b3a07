"""Pure functions of trace records: formulas, speed, joint counts, replays, the choice of a tree."""
