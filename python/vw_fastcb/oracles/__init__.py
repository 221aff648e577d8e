"""The oracles of the paper, as small readable references, and the protocol that `vw_fastcb.Bandit` plays on.

| the paper's example | here |
|---|---|
| finite classes | `FiniteClass` |
"""

from vw_fastcb.oracles.finite import FiniteClass
from vw_fastcb.oracles.protocol import Oracle, log_loss

__all__ = ["FiniteClass", "Oracle", "log_loss"]
