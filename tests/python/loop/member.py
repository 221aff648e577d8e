"""A process with a loop, told what to do line by line: `python -m loop.member PATH '{"lease": "500ms"}'`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]


class Member:
    """Another process's loop, seen from here."""

    def __init__(self, path: Path, *, pause: float = 0.0, part: int = 0, **options: Any) -> None:
        given = json.dumps({"pause": pause, "part": part, "options": options})
        command = [sys.executable, "-m", "loop.member", str(path), given]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=TESTS)
        assert self.answer() == "opened"

    def tell(self, what: str, *arguments: Any, **named: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([what, arguments, named]) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, what: str, *arguments: Any, **named: Any) -> Any:
        self.tell(what, *arguments, **named)
        return self.answer()

    def until(self, seconds: float = 60, **expected: Any) -> dict[str, Any]:
        """Waits for a status."""
        end = time.monotonic() + seconds
        while True:
            status = self.ask("status")
            if all(status[name] == value for name, value in expected.items()):
                return status
            assert time.monotonic() < end, f"it is {status}; expected {expected}"
            time.sleep(0.02)

    def stop(self) -> None:
        """Returns when every thread has stopped; the signal alone lets them run on for some milliseconds."""
        self.process.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"it ended with {status}"

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def _perform(loop: Any, what: str, arguments: list[Any], named: dict[str, Any]) -> Any:
    from vw_fastcb.loop import LoopError  # noqa: PLC0415

    try:
        given = getattr(loop, what)(*arguments, **named)
    except LoopError as problem:
        return {"error": type(problem).__name__, "said": str(problem)}
    if what == "decide":
        return {"action": given.action, "probability": given.probability, "generation": given.generation}
    return given.to_dict() if what == "status" else given


def _main(path: str, given: dict[str, Any]) -> None:
    from vw_fastcb import Loop  # noqa: PLC0415
    from vw_fastcb.loop import sqlite  # noqa: PLC0415
    from vw_fastcb.loop.journal import Task  # noqa: PLC0415
    from vw_fastcb.loop.redis import checkpoints  # noqa: PLC0415
    from vw_fastcb.loop.worker import Worker  # noqa: PLC0415

    if given["part"]:
        sqlite._MODEL_PART = checkpoints._MODEL_PART = given["part"]
    submit = Worker.submit

    def slow(self: Worker, items: Any) -> None:
        submit(self, items)
        if any(isinstance(item, Task) for item in items):
            time.sleep(given["pause"])

    if given["pause"]:
        Worker.submit = slow  # type: ignore[method-assign]
    loop = Loop.open(path, **given["options"])
    print(json.dumps("opened"), flush=True)
    for line in sys.stdin:
        what, arguments, named = json.loads(line)
        print(json.dumps(_perform(loop, what, arguments, named)), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1], json.loads(sys.argv[2]))
