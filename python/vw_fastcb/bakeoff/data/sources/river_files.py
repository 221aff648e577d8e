"""Sets of the package river that no other source has."""

from .csv_files import CsvFile, CsvFiles

_FILES = CsvFiles(
    "river",
    "river",
    "river",
    {
        "phishing": CsvFile("datasets/phishing.csv.gz", "is_phishing"),
        "shuttle": CsvFile("datasets/shuttle.csv.gz", "anomaly"),
    },
)
names = _FILES.names
load = _FILES.load
