"""SQLite's result codes, for every Python: its own module tells them from 3.11 on."""

from __future__ import annotations

import sqlite3
from enum import IntEnum


class Code(IntEnum):
    """Primary result codes, as SQLite's documentation numbers them."""

    ERROR = 1
    PERM = 3
    BUSY = 5
    LOCKED = 6
    READONLY = 8
    IOERR = 10
    CORRUPT = 11
    FULL = 13
    CANTOPEN = 14
    TOOBIG = 18
    CONSTRAINT = 19
    MISMATCH = 20
    NOTADB = 26


# What SQLite calls them; the text of an error begins so where nobody has more to say.
_TEXTS = {
    "access permission denied": Code.PERM,
    "database is locked": Code.BUSY,
    "database table is locked": Code.LOCKED,
    "database schema is locked": Code.LOCKED,
    "attempt to write a readonly database": Code.READONLY,
    "disk I/O error": Code.IOERR,
    "database disk image is malformed": Code.CORRUPT,
    "database or disk is full": Code.FULL,
    "unable to open database file": Code.CANTOPEN,
    "string or blob too big": Code.TOOBIG,
    "datatype mismatch": Code.MISMATCH,
    "file is not a database": Code.NOTADB,
}


def code_of(problem: sqlite3.Error) -> int:
    """The primary result code behind an error, 0 if it is not SQLite's own."""
    code = getattr(problem, "sqlite_errorcode", None)
    return code_in_text(problem) if code is None else code & 0xFF


def code_in_text(problem: sqlite3.Error) -> int:
    """The same by the error's words, all that Python 3.10 has."""
    text = str(problem)
    known = next((code for words, code in _TEXTS.items() if text.startswith(words)), None)
    if known is not None:
        return known
    if isinstance(problem, sqlite3.IntegrityError):
        return Code.CONSTRAINT
    return Code.ERROR if isinstance(problem, sqlite3.OperationalError) else 0
