"""Runs experiments and writes what they found: a picture, a table and a page."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from vw_fastcb.cores import usable_cores
from vw_fastcb.lab import EXPERIMENTS

_DPI = 110


@dataclass(frozen=True)
class Section:
    """What one experiment has to say on the page."""

    name: str
    title: str
    paper: str
    words: str
    claims: dict[str, bool]
    table: str  # in Markdown
    cpu_seconds: float

    @property
    def holds(self) -> bool:
        """Whether all was seen that the theory says."""
        return all(self.claims.values())

    def as_json(self) -> dict[str, Any]:
        """For programs; the table is beside the picture, as CSV."""
        return {key: value for key, value in asdict(self).items() if key != "table"} | {"holds": self.holds}


def run(name: str, out: Path, seed: int, quick: bool) -> Section:
    """Runs one experiment; writes its picture, as PNG and as SVG, and its table into `out`."""
    experiment = EXPERIMENTS[name]
    start = time.process_time()
    result = experiment.compute(seed, quick)
    _write(out / f"{name}.csv", result.table().to_csv().encode())
    figure = result.draw()
    for ending, metadata in {"png": {"Software": None}, "svg": {"Date": None}}.items():
        scratch = out / f".{name}.{os.getpid()}.{ending}"
        figure.savefig(scratch, dpi=_DPI, metadata=metadata)
        scratch.replace(out / f"{name}.{ending}")
    return Section(
        name,
        result.title(),
        experiment.paper,
        result.words(),
        {claim: bool(seen) for claim, seen in result.claims().items()},
        result.table().to_markdown(),
        round(time.process_time() - start, 1),
    )


def run_all(names: Sequence[str], out: Path, seed: int, quick: bool, jobs: int | None) -> Iterator[Section]:
    """Runs experiments, several at once in processes of their own; they come as they end."""
    at_once = min(jobs or usable_cores(), len(names))
    if at_once == 1:
        yield from (run(name, out, seed, quick) for name in names)
        return
    waiting = list(names)
    running: dict[Connection, BaseProcess] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                answers, process = _start(waiting.pop(0), out, seed, quick)
                running[answers] = process
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                section = _answer(ready, running[ready])
                del running[ready]
                yield section
    finally:
        for process in running.values():
            process.kill()
            process.join()


def _start(name: str, out: Path, seed: int, quick: bool) -> tuple[Connection, BaseProcess]:
    """Runs an experiment in a process of its own: what it answers with, and the process."""
    # Started afresh: a copy of a process that has threads may hang.
    context = multiprocessing.get_context("spawn")
    answers, answering = context.Pipe(duplex=False)
    process = context.Process(target=_run_in_process, args=(answering, name, out, seed, quick), name=name, daemon=True)
    # Ctrl-C is for this process, which ends the others: they are started with it blocked, and stay so. The tracker of
    # resources, which comes with the first one, would undo that.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        answering.close()
    return answers, process


def _run_in_process(answering: Connection, name: str, out: Path, seed: int, quick: bool) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        answering.send(run(name, out, seed, quick))
    except Exception as problem:
        answering.send(RuntimeError(f"the experiment {name!r} failed: {problem} ({type(problem).__name__})"))


def _end_with_parent() -> None:
    """However the parent ends, killed too, nobody is left who wants the answer."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _answer(answers: Connection, process: BaseProcess) -> Section:
    try:
        answer = answers.recv()
    except EOFError:
        process.join()
        raise RuntimeError(
            f"the process of the experiment {process.name!r} ended with {process.exitcode} before it answered; "
            "was there enough memory?"
        ) from None
    process.join()
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, Section)
    return answer


def write_page(sections: Sequence[Section], page: Path, out: Path, seed: int, quick: bool) -> None:
    """Writes all sections as one page, with links to their pictures and tables."""
    flags = f"{' --quick' if quick else ''}{f' --seed {seed}' if seed else ''}"
    folder = Path(os.path.relpath(out, page.parent)).as_posix()
    minutes = sum(section.cpu_seconds for section in sections) / 60
    parts = [
        "# The theory lab\n",
        "*When you need this:* you want to see what the FastCB paper proves, on the code that ships, or to put a "
        "picture of it into a talk.\n",
        f"`fastcb lab list` names the experiments, and `fastcb lab run all{flags}` makes this page, the "
        f"pictures and the tables from nothing. It took {minutes:.1f} minutes of processor time here. "
        "Every number in the text below comes from that run. Each experiment states what the theory says must be seen, "
        "and whether it was. Each can swap one ingredient (the allocation, the loss, the memory); "
        "the tests show that the claims fail then.\n",
        "| experiment | in the paper |\n| --- | --- |\n"
        + "\n".join(f"| [{section.title}](#{_anchor(section.title)}) | {section.paper} |" for section in sections)
        + "\n",
    ]
    for section in sections:
        parts += [
            f"## {section.title}\n",
            f"{section.words}\n",
            f"![{section.title}]({folder}/{section.name}.png)\n",
            "\n".join(f"- {'Seen' if seen else '**Not seen**'}: {claim}." for claim, seen in section.claims.items())
            + "\n",
            f"{_command(section.name)}; [the table as CSV]({folder}/{section.name}.csv).\n",
            section.table,
        ]
    _write(page, "\n".join(parts).encode())


def tells_of(page: Path, name: str) -> bool:
    """Whether a page that was written before has a section on an experiment."""
    return _command(name) in page.read_text(encoding="utf-8", errors="replace")


def _command(name: str) -> str:
    return f"`fastcb lab run {name}`"


def _anchor(title: str) -> str:
    """The name that sites of Markdown give to a heading."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _write(path: Path, content: bytes) -> None:
    """Puts a file in its place once it is whole."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_bytes(content)
    scratch.replace(path)
