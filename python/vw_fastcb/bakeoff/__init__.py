"""The bake-off: the evaluation of the paper, on real data, in one command."""
