"""A tiny data set inside a tiny wheel, and a loopback server that hands it out, so that every failure can be staged."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import struct
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from gpbandit_envs.datasets.archive import PinnedArchive, PinnedMember
from gpbandit_envs.datasets.card import Card, DataFile, Source, WebAddress
from gpbandit_envs.datasets.download import OFFLINE

WHEEL = "toy_numbers-1.0-py3-none-any.whl"
MEMBER = "toy_numbers/numbers.csv"
CONTENT = b"x,y\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(5_000))
CLOSED = "http://127.0.0.1:9"
SECONDS = 0.5  # after which a client takes a silent server for dead


def build_wheel(folder: Path, content: bytes = CONTENT) -> Path:
    """A valid wheel that holds `content`, the same bytes each time."""
    folder.mkdir(parents=True, exist_ok=True)
    info = "toy_numbers-1.0.dist-info"
    members = {
        MEMBER: content,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: toy-numbers\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: toy\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    path = folder / WHEEL
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in members.items():
            wheel.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)
    return path


def archive_of(wheel: Path) -> PinnedArchive:
    return PinnedArchive("toy-numbers==1.0", WHEEL, hashlib.sha256(wheel.read_bytes()).hexdigest())


def file_from(*sources: Source, content: bytes = CONTENT) -> DataFile:
    return DataFile(
        name="numbers.csv", sha256=hashlib.sha256(content).hexdigest(), size=len(content), sources=tuple(sources)
    )


def card_of(*files: DataFile) -> Card:
    return Card(
        name="Toy",
        title="Squares",
        shape=(5_000, 1),
        columns=("x",),
        target="y",
        licence="MIT",
        citation="",
        files=files,
    )


def pip_card(wheel: Path) -> Card:
    return card_of(file_from(PinnedMember(archive_of(wheel), MEMBER)))


def web_card(url: str) -> Card:
    return card_of(file_from(WebAddress(url)))


def pip_environment(index: str) -> dict[str, str]:
    """Variables under which pip finds archives at `index` and nowhere else."""
    return {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": index,
        "PIP_RETRIES": "0",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_DEFAULT_TIMEOUT": "20",
        OFFLINE: "0",
    }


def no_network() -> dict[str, str]:
    """Variables under which neither pip nor pooch reaches anything."""
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), CLOSED)
    index = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": f"{CLOSED}/simple", "PIP_EXTRA_INDEX_URL": ""}
    reached = {"PIP_FIND_LINKS": "", "PIP_RETRIES": "0", "no_proxy": "", OFFLINE: "0"}
    return {**proxies, **index, **reached, "PIP_DEFAULT_TIMEOUT": "5"}


class Server(ThreadingHTTPServer):
    """Serves one file under its name and a page of links to it; each request meets the next fault, then there is none.

    Attributes:
        body: Content of the file.
        cut: Number of bytes after which the connection stalls until `go_on` is set; None for none.
        faults: Of "none", "refuse", "cut", "stall", "busy", "limited" and "other".
        counts: How many requests met which.
        downloads: How many times the file was asked for.
        asked: Set when the first bytes of the file have been sent.
    """

    daemon_threads = True

    def __init__(self, name: str, body: bytes, cut: int | None, faults: Iterator[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.name, self.body, self.cut, self.faults = name, body, cut, faults
        self.counts: Counter[str] = Counter()
        self.downloads = 0
        self.lock, self.asked, self.go_on = threading.Lock(), threading.Event(), threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are part of it."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def file_url(self) -> str:
        return f"{self.url}/{self.name}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        is_file = self.path.strip("/") == server.name
        with server.lock:
            fault = next(server.faults, "none")
            server.counts[fault] += 1
            server.downloads += is_file
        self.close_connection = True
        if fault == "refuse":  # a reset, as from a closed port
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        if fault in ("busy", "limited"):
            self.send_response(503 if fault == "busy" else 429)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = f'<!DOCTYPE html><html><body><a href="/{server.name}">{server.name}</a></body></html>'.encode()
        if is_file:
            body = server.body[::-1] if fault == "other" else server.body
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream" if is_file else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        first = 1_000 if fault in ("cut", "stall") else server.cut if is_file else None
        with contextlib.suppress(OSError):
            self.wfile.write(body[:first])
            self.wfile.flush()
            if is_file:
                server.asked.set()
            if fault == "stall":
                time.sleep(3 * SECONDS)
            elif fault != "cut" and first is not None:
                server.go_on.wait(60)
                self.wfile.write(body[first:])

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on stderr."""


@contextlib.contextmanager
def serving(
    name: str = "numbers.csv", body: bytes = CONTENT, *, cut: int | None = None, faults: Iterable[str] = ()
) -> Iterator[Server]:
    server = Server(name, body, cut, iter(faults))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
