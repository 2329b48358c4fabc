"""Importing this module registers the backends that come with the program."""

from __future__ import annotations

from fisk_ai.sessions import store
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.file_directory import directory_of
from fisk_ai.sessions.places import StoreConfig
from fisk_ai.sessions.stream_option import stream_of


def _file(config: StoreConfig) -> store.Store:
    return FileStore(directory_of(config), read_only=config.read_only)


def _stream(config: StoreConfig) -> store.Store:
    name = stream_of(config)
    # Here, for processes without a broker.
    from fisk_ai.sessions.jetstream import StreamStore, required  # noqa: PLC0415
    from fisk_ai.sessions.presence import Presence  # noqa: PLC0415

    js = required(config.js)
    presence = config.presence or Presence(js.connection, config.identity)
    return StreamStore(js, name, presence, read_only=config.read_only)


store.register("file", _file, check=directory_of)
store.register("jetstream", _stream, check=stream_of, needs_broker=True)
