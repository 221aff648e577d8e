"""The twin test: one workspace sees refused events, its twin never does, and nobody can tell the two apart.

`formats` makes good events, `mutations` spoils them, `arrays` does both for `FastCB`, `fuzz` offers them to the twins.
`python tests/python/twins/fuzz.py --help` runs it by hand.
"""
