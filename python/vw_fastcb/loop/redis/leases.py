"""The lease of a journal in Redis: it runs by the server's clock, and its holder may be on another machine."""

from __future__ import annotations

import contextlib
import gc
import itertools
import socket
from collections.abc import Callable

from vw_fastcb.loop.journal import Fenced, Lease, Task
from vw_fastcb.loop.processes import Process
from vw_fastcb.loop.redis.store import Store

_holders = itertools.count(1)


class Leases:
    """Takes the lease, and gives it back.

    Args:
        store: The journal's keys.
        is_open: Whether a journal of this process, by the name of its holder, is still there.

    Attributes:
        holder: The name of this one.
    """

    def __init__(self, store: Store, is_open: Callable[[str], bool]) -> None:
        pid, _, rest = str(Process.this()).partition("/")
        self.holder = f"{pid}@{socket.gethostname().replace('/', '-')}/{rest}/{next(_holders)}"
        self._store = store
        self._is_open = is_open

    def lease(self) -> Lease:
        """Who may learn now."""
        epoch, holder, is_live = self._store.read("lease")
        name = holder.decode()
        return Lease(int(epoch), name, is_live=is_live == b"1" and self._may_live(name))

    def take(self, duration: int, *, by_force: bool = False) -> Lease | None:
        """Takes the lease for so many milliseconds; None where another process holds it."""
        held = self.lease()
        if _process_of(held.holder) == Process.this():
            gc.collect()  # of a loop that was dropped without being closed nothing is left
            held = self.lease()
        dead = "" if held.is_live else held.holder
        epoch = self._store.write("take_lease", duration, self.holder, dead, int(by_force))
        self._store.lease = Lease(int(epoch), self.holder, is_live=True) if epoch else None
        return self._store.lease

    def renewal(self, lease: Lease, duration: int) -> Task:
        """Holds the lease for so many milliseconds from now."""
        return Task(lambda: self._renew(lease, duration))

    def release(self, lease: Lease) -> None:
        """Gives the lease back, so that no other process has to wait for it."""
        with contextlib.suppress(Fenced):  # somebody has it already
            self._renew(lease, 0)

    def _renew(self, lease: Lease, duration: int) -> None:
        self._store.write("renew", lease.epoch, lease.holder, duration)

    def _may_live(self, holder: str) -> bool:
        """Whether a holder may still be there; of other machines nobody knows until the lease has run out."""
        process, this = _process_of(holder), Process.this()
        if process is None:
            return False
        if process == this:
            return self._is_open(holder)
        return process.boot != this.boot or process.may_live()


def _process_of(holder: str) -> Process | None:
    name, _, rest = holder.rpartition("/")[0].partition("/")
    try:
        return Process.parse(f"{name.partition('@')[0]}/{rest}")
    except ValueError:
        return None
