"""The `fastcb` command.

It needs the extra `bench`; for `fastcb serve` and `watch` it is `serve`, and for `fastcb evaluate` alone `evaluate` is
enough. The rest of the package needs none.
"""

from __future__ import annotations

import os
import sys

_EXTRA = ("joblib", "markdown_it", "matplotlib", "msgspec", "pandas", "pyarrow", "rich", "scipy", "sklearn", "typer")
_STANDARD_ERROR = 2
_SERVE = ("httptools", "prometheus_client", "starlette", "uvicorn")


def main() -> None:
    """Runs `fastcb`. Where a library of the extra is missing it says how to get it."""
    _open_missing_streams()
    try:
        from vw_fastcb.commands.app import app  # noqa: PLC0415, here so that a missing library can be explained

        app()
    except ModuleNotFoundError as problem:
        missing = (problem.name or "").partition(".")[0]
        if missing not in (*_EXTRA, *_SERVE):
            raise
        extra = _extra(missing)
        how = f"pip install 'vw-fastcb[{extra}]', or '.[{extra}]' in a clone"
        sys.exit(f"fastcb needs {missing}, which is not installed. To get it: {how}")
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
    except SystemExit as end:
        # Ctrl-C that no command has answered: it came while their libraries were imported.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            print("Stopped.", file=sys.stderr)
        raise


def _open_missing_streams() -> None:
    """Has standard streams that were closed lead nowhere.

    Else the next socket or file gets their numbers, and what is meant for them, such as an access log, goes there.
    """
    while True:
        handle = os.open(os.devnull, os.O_RDWR)
        if handle > _STANDARD_ERROR:
            os.close(handle)
            return
        os.set_inheritable(handle, True)


def _extra(missing: str) -> str:
    """The extra that brings a library for the command that was called."""
    called = (sys.argv[1:2] or [""])[0]
    if called == "watch" or missing in _SERVE:
        return "serve"
    return called if called in ("evaluate", "serve") else "bench"


if __name__ == "__main__":
    main()
