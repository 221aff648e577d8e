"""A web server on localhost that answers as OpenML does, and fails on demand."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAMESPACE = 'xmlns:oml="http://openml.org/openml"'


@dataclass
class Answer:
    """A status and a body; `cut` sends that many bytes less than announced."""

    body: str
    status: int = 200
    cut: int = 0


@dataclass
class OpenML:
    """What the server has: answers by path, answers to give first, once each, and the requests it got."""

    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    first: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[tuple[float, str]] = field(default_factory=list)

    def add(self, number: int, arff: str, *, checksum: bool = True, extra: str = "", target: str = "class") -> None:
        """Adds a set: its description and its file."""
        md5 = f"<oml:md5_checksum>{hashlib.md5(arff.encode()).hexdigest()}</oml:md5_checksum>" if checksum else ""
        self.answers[description(number)] = Answer(
            f'<?xml version="1.0" encoding="UTF-8"?><oml:data_set_description {NAMESPACE}>'
            f"<oml:id>{number}</oml:id><oml:name>set{number}</oml:name><oml:version>1</oml:version>"
            f"<oml:description>As recorded.</oml:description><oml:format>ARFF</oml:format>"
            f"<oml:upload_date>2014-04-06T23:23:39</oml:upload_date><oml:licence>Public</oml:licence>"
            f"<oml:url>{self.url}{file(number)}</oml:url><oml:file_id>{number}</oml:file_id>"
            f"<oml:default_target_attribute>{target}</oml:default_target_attribute>{extra}"
            f"<oml:parquet_url>{self.url}/nowhere/dataset_{number}.pq</oml:parquet_url>"
            f"<oml:visibility>public</oml:visibility><oml:status>active</oml:status>{md5}</oml:data_set_description>"
        )
        self.answers[file(number)] = Answer(arff)

    def add_suite(self, name: str, ids: list[int]) -> None:
        """Adds a suite of sets."""
        data = "".join(f"<oml:data_id>{number}</oml:data_id>" for number in ids)
        tasks = "".join(f"<oml:task_id>{number + 1000}</oml:task_id>" for number in ids)
        self.answers[f"/api/v1/xml/study/{name}"] = Answer(
            f"<oml:study {NAMESPACE}><oml:id>99</oml:id><oml:alias>{name}</oml:alias>"
            "<oml:main_entity_type>task</oml:main_entity_type><oml:name>a suite</oml:name>"
            "<oml:description>As recorded.</oml:description><oml:status>active</oml:status>"
            "<oml:creation_date>2019-02-21</oml:creation_date><oml:creator>1</oml:creator>"
            f"<oml:data>{data}</oml:data><oml:tasks>{tasks}</oml:tasks></oml:study>"
        )

    def asked_for(self, path: str) -> int:
        """How many requests there were for a path."""
        return sum(asked == path for _, asked in self.requests)


def description(number: int) -> str:
    return f"/api/v1/xml/data/{number}"


def file(number: int) -> str:
    return f"/data/v1/download/{number}/set.arff"


def error(code: int, message: str) -> Answer:
    """How OpenML says that a request cannot be fulfilled."""
    body = f"<oml:error {NAMESPACE}><oml:code>{code}</oml:code><oml:message>{message}</oml:message></oml:error>"
    return Answer(body, status=412)


@contextmanager
def serving() -> Iterator[OpenML]:
    """Runs the server on a free port."""
    state = OpenML()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            state.requests.append((time.time(), path))
            queue = state.first.get(path)
            answer = queue.pop(0) if queue else state.answers.get(path, error(111, "Unknown dataset"))
            body = answer.body.encode()
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) - answer.cut])

        def log_message(self, *arguments: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
