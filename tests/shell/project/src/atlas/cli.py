"""The command `atlas`."""

import argparse

from atlas.config.config_manager import load_config
from atlas.memory.indexer import MemoryIndexer
from atlas.memory.memory_store import MemoryStore


def main(words=None):
    parser = argparse.ArgumentParser(prog="atlas")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("index").add_argument("folder", default=".", nargs="?")
    commands.add_parser("search").add_argument("query")
    asked = parser.parse_args(words)
    config = load_config(".")
    store = MemoryStore(config.get("store.path"))
    if asked.command == "index":
        print(MemoryIndexer(store).index_folder(asked.folder), "files read")
