"""VW's Python API on this package's engine."""
