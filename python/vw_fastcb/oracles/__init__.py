"""The oracles of the paper, as small readable references, and the protocol that `vw_fastcb.Bandit` plays on.

| the paper's example | here | regret under log loss |
|---|---|---|
| finite classes | `FiniteClass`, Vovk's aggregating algorithm | log N |
| low-dimensional linear functions | `Simplex`, following the leader with a log barrier | O(sqrt(d T log T)) |
| high-dimensional linear functions | `Ball`, the same in the unit ball | O(sqrt(T log T)) |
| kernels | `KernelBall` | O(sqrt(T log T)) |
| generalised linear models | `Logistic`, the engine's own, of second order or by gradient descent | measured |
| any other | `Classifier` for scikit-learn, or an object of your own with the methods of `Oracle` | |

The bounds hold at every round, for every sequence of losses in [0, 1]: `regret_bound` gives them as numbers.
"""

from vw_fastcb.oracles.barrier import Ball, Gaussian, KernelBall, Simplex
from vw_fastcb.oracles.classifier import Classifier
from vw_fastcb.oracles.features import PerAction
from vw_fastcb.oracles.finite import FiniteClass
from vw_fastcb.oracles.logistic import Logistic
from vw_fastcb.oracles.protocol import Oracle, log_loss

__all__ = [
    "Ball",
    "Classifier",
    "FiniteClass",
    "Gaussian",
    "KernelBall",
    "Logistic",
    "Oracle",
    "PerAction",
    "Simplex",
    "log_loss",
]
