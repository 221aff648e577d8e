"""Sets of the package statsmodels whose column of interest is a class."""

from .csv_files import CsvFile, CsvFiles

_FILES = CsvFiles(
    "statsmodels",
    "statsmodels",
    "statsmodels",
    {
        "anes96": CsvFile("datasets/anes96/anes96.csv", "vote", {"sep": "\t", "quotechar": "'"}),
        "fair": CsvFile("datasets/fair/fair.csv", "rate_marriage"),
    },
)
names = _FILES.names
load = _FILES.load
