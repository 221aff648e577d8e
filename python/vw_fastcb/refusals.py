"""What a caller can mend. Any other ValueError or TypeError is a defect of ours, and no client is blamed for it."""

from __future__ import annotations


class Refusal(Exception):
    """Something that was given is wrong; the message says what was given and what was expected."""


class RefusedValue(Refusal, ValueError):
    """A value that cannot be."""


class RefusedType(Refusal, TypeError):
    """Something of another type than expected."""
