from typing import Any

import numpy as np
from numpy.typing import NDArray

def multiclass_pass(
    arguments: list[str],
    features: tuple[Any, ...],
    labels: NDArray[np.int64],
    order: NDArray[np.int64],
    classes: int,
    every_label: bool = ...,
) -> NDArray[np.uint8]: ...
