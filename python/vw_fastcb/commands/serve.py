"""`fastcb serve`: a loop over HTTP; and `fastcb watch`: its page alone."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import webbrowser
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from vw_fastcb import toml
from vw_fastcb.commands.terminal import counted, words_of
from vw_fastcb.loop import Loop, SettingsDiffer
from vw_fastcb.loop.reading import existing_journal
from vw_fastcb.loop.redis.address import without_password
from vw_fastcb.loop.settings import setting_names
from vw_fastcb.serve.access_log import AccessLog
from vw_fastcb.serve.background import BackgroundHandler, can_take
from vw_fastcb.serve.server import Options, Stop, address_of, listen, serve

_log = logging.getLogger("vw_fastcb.serve")
_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2


def run_serve(
    journal: str,
    settings: dict[str, Any],
    options: Options,
    *,
    access_log: Path | None,
    as_json: bool,
    **opening: Any,
) -> int:
    """Opens a journal and serves it until a signal comes. Returns the exit code."""
    stop, shown = Stop(), without_password(journal)
    with stop.on_signals(), _messages(as_json), AccessLog.opened(access_log) as log:
        listener = listen(options)
        with listener, _opened_loop(journal, **settings, **opening) as loop:
            url = address_of(listener, options)

            def started() -> None:
                status = loop.status()
                role = "learner" if status.role == "learner" else "decider"
                if status.learner is None:
                    _log.warning("nobody learns %s now. To start a learner: fastcb learn %s --follow", shown, shown)
                if as_json:
                    _print({"event": "started", "url": url, "pid": os.getpid(), "journal": shown, "role": role})
                else:
                    _tell(f"Serving {shown} on {url} ({role}). Press Ctrl-C to stop.")

            try:
                serve(loop, listener, replace(options, access_log=log, journal=journal), stop, started)
            finally:
                if stop.asked.is_set() and not as_json:
                    _tell("Stopping: finishing pending requests, taking no new ones.")
            status = loop.status()
    said = {"position": status.position, "learned": status.learned, "role": status.role}
    if as_json:
        _print({"event": "stopped", **said})
    else:
        records, events = counted(status.position, "record"), counted(status.learned, "event")
        _tell(f"Stopped. {records}, {events} learned; everything is saved.")
    return 0


_RANGES = {"reward_range", "cost_range", "default_cost"}
_AS_OPTIONS = {
    "set change=True": "add --change",
    "set relearn=True": "add --relearn",
    "or relearn=False": "or --afresh",
    "give actions": "give --actions",
    "or None where": "or none where",
}


def _opened_loop(journal: str, **given: Any) -> Loop:
    """The loop. What is wrong is said with the names of options, not with those of Python's arguments."""
    try:
        if "actions" in given and not _RANGES & given.keys() and _is_new(journal):
            given["reward_range"] = (0, 1)  # clients report rewards, unless somebody says that they report costs
        return Loop.open(journal, **given)
    except (SettingsDiffer, FileNotFoundError) as problem:
        words = words_of(problem)
        for argument, option in _AS_OPTIONS.items():
            words = words.replace(argument, option)
        raise RuntimeError(words) from problem


def _is_new(journal: str) -> bool:
    try:
        existing_journal(journal).close()
    except FileNotFoundError:
        return True
    return False


def run_watch(journal: str, port: int, *, opens: bool, as_json: bool) -> int:
    """Shows a journal that is there until a signal comes. Returns the exit code."""
    if "://" not in journal and not os.path.exists(journal):
        raise FileNotFoundError(f"there is no journal {journal!r}.")
    stop, shown = Stop(), without_password(journal)
    options = Options(port=port, journal=journal, is_read_only=True)
    with stop.on_signals(), _messages(as_json), listen(options) as listener, Loop.open(journal, learn=False) as loop:
        url = address_of(listener, options)

        def started() -> None:
            if as_json:
                _print({"event": "started", "url": url, "pid": os.getpid(), "journal": shown})
            else:
                _tell(f"Showing {shown} at {url}/ Press Ctrl-C to stop.")
            if opens:
                webbrowser.open(url)

        serve(loop, listener, options, stop, started)
    return 0


def read_settings(path: Path) -> dict[str, Any]:
    """The settings of a TOML file, by the names that `Loop.open` knows."""
    try:
        found = toml.loads(path.read_text())
    except (toml.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"{path} is not TOML: {problem}.") from problem
    known = setting_names()
    for name, value in found.items():
        if name not in known:
            raise ValueError(f"{path} has {name!r}; expected settings of a loop: {', '.join(known)}.")
        if name.endswith("_range") and isinstance(value, list):
            found[name] = tuple(value)
        if name == "actions" and value == "none":
            found[name] = None  # which TOML cannot say
    return found


class _JsonLines(logging.Formatter):
    """Warnings as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "event": "log",
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps(said)


@contextlib.contextmanager
def _messages(as_json: bool) -> Iterator[None]:
    """Warnings of the loop and the server go to the error stream, as JSON if wanted."""
    handler = BackgroundHandler(_STANDARD_ERROR)
    handler.setFormatter(_JsonLines() if as_json else logging.Formatter("%(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    logging.captureWarnings(as_json)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        handler.close()


def _print(said: dict[str, Any]) -> None:
    _say(_STANDARD_OUTPUT, json.dumps(said))


def _tell(text: str) -> None:
    _say(_STANDARD_ERROR, text)


def _say(file: int, line: str) -> None:
    """Writes a line if somebody takes it: a full disk or a reader that has ended does not keep a server from serving.

    Nothing stays in Python's buffers, where it would fail once more at the end and change the exit code.
    """
    if can_take(file):
        with contextlib.suppress(OSError):
            os.write(file, f"{line}\n".encode(errors="backslashreplace"))
