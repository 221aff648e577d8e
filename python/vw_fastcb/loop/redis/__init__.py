"""A journal in Redis, for deciders and a learner on different machines.

`address` reads its URL; `server` asks a Redis server, also one that restarts; `scripts/` is what runs inside it;
`journal` and `checkpoints` are the journal.
"""

from vw_fastcb.loop.redis.address import Address
from vw_fastcb.loop.redis.journal import RedisJournal

__all__ = ["Address", "RedisJournal"]
