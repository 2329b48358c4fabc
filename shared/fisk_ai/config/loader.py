"""The one way from a file to a configuration: read strictly, prepare, validate for a mode."""

from __future__ import annotations

from pathlib import Path

from fisk_ai.config import document, schema
from fisk_ai.config.endpoints import Broker
from fisk_ai.config.model import Config
from fisk_ai.config.prepare import prepare
from fisk_ai.config.scalar import quote_whole
from fisk_ai.config.standing import refuse_unbuilt
from fisk_ai.config.validate import Mode, check_always, validate
from fisk_ai.errors import ConfigError
from fisk_ai.regular import read_named


def load(path: Path, mode: Mode, *, broker: Broker = Broker.NAMED) -> Config:
    """Return the configuration in the file at ``path``; reads that file and nothing else.

    ``broker`` says where the process finds its broker when the file names none.

    Raises:
        ConfigError: it cannot be read (the ``OSError`` is the cause), or :func:`loads` refuses it.
    """
    begins = f"reading config {quote_whole(str(path))}: "
    refusal = ConfigError(f"{begins}it is no regular file; save what it holds to one")
    try:
        raw = read_named(path, document.BYTES_LIMIT, refusal=refusal)
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise ConfigError(f"{begins}{reason}") from exc
    return loads(document.decode(raw, path), mode, source=path, broker=broker)


def loads(text: str, mode: Mode, *, source: Path, broker: Broker = Broker.NAMED) -> Config:
    """Return the configuration in ``text``, as if it stood in the file ``source``.

    Raises:
        ConfigError: one sentence with the key, its place where it is written, and what to do; only
            the first failure is told.
    """
    read = document.read(text, source)
    written = schema.unmarshal(read).read_from(read)
    try:
        return _checked(written, mode, broker)
    except ConfigError as exc:
        raise read.placed(exc) from exc.__cause__


def _checked(written: Config, mode: Mode, broker: Broker) -> Config:
    config = prepare(written)
    check_always(config)
    if mode is not Mode.LENIENT:
        refuse_unbuilt(config)
    validate(config, mode, broker=broker)
    return config
