"""Draws that depend on an id."""

from __future__ import annotations

import hashlib


def draw_of(seed: int, event_id: str | int) -> float:
    """A number in [0, 1) that depends on the seed and the id alone."""
    digest = hashlib.blake2b(f"{seed}:{event_id}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53
