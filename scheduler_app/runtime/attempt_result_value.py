"""What is kept of a task's return value: JSON that both databases can hold, 64 KiB at most."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from scheduler_app.runtime.output_capture import clean

MAX_RESULT_BYTES = 64 * 1024
MAX_RESULT_DEPTH = 32
MAX_WHOLE_NUMBER = 2**63 - 1


class UnstorableResult(Exception):
    """The value cannot be kept; the message says why."""


def storable_result(value: object) -> object:
    """The value with its texts cleaned and its keys made text. Raises UnstorableResult."""
    try:
        kept = _storable(value, 1)
        size = len(json.dumps(kept, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        raise UnstorableResult(f"{type(error).__name__} while making JSON of it.") from error
    if size > MAX_RESULT_BYTES:
        raise UnstorableResult(
            f"it has {size:,} bytes as JSON; at most {MAX_RESULT_BYTES:,} (64 KiB) are kept."
        )
    return kept


def _storable(value: object, depth: int) -> object:
    if depth > MAX_RESULT_DEPTH:
        raise UnstorableResult(f"it is nested deeper than {MAX_RESULT_DEPTH} levels.")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(str(value))
    if isinstance(value, int):
        if abs(value) > MAX_WHOLE_NUMBER:
            raise UnstorableResult("it holds a whole number of more than 64 bits.")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UnstorableResult(f"it holds {value}, which JSON cannot hold.")
        return float(value)
    if isinstance(value, Mapping):
        return {_key(key): _storable(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(inner, depth + 1) for inner in value]
    raise UnstorableResult(f"an object of type {type(value).__name__} is not JSON.")


def _key(key: object) -> str:
    if isinstance(key, str):
        return clean(key)
    if key is None or isinstance(key, bool | int | float):
        return str(json.dumps(key))
    raise UnstorableResult(f"it has a key of type {type(key).__name__}.")
