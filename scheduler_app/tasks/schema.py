"""What the config of a task may hold: the fields a task declares, and the limits every config obeys.

The limits are those of the column that keeps it: JSON without NUL, lone surrogates, NaN or endless nesting,
64 KiB at most. All faults of a config are told at once, each with its own field name (`config.seconds`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from scheduler_app.errors import FieldError, ValidationFailed

ConfigType = Literal["integer", "number", "string", "boolean", "object", "array"]

MAX_CONFIG_BYTES = 64 * 1024
MAX_DEPTH = 32
MAX_WHOLE_NUMBER = 2**63 - 1

_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}
_UNSTORABLE_TEXT = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ConfigField:
    """One field of a task's config. Bounds are inclusive, `max_length` counts characters or items.

    `pattern` is a regular expression the whole string must match; `pattern_rule` is the same in words.
    """

    name: str
    type: ConfigType
    required: bool = False
    default: object = None
    minimum: float | None = None
    maximum: float | None = None
    max_length: int | None = None
    help: str = ""
    pattern: str = ""
    pattern_rule: str = ""


Schema = Sequence[ConfigField]


def apply_schema(schema: Schema, config: object) -> dict[str, object]:
    """The config with defaults filled in. Raises ValidationFailed with every fault found."""
    if not isinstance(config, Mapping):
        raise ValidationFailed([FieldError("config", "type", f"is no JSON object: {_spell(config)}.")])
    faults = storable_faults(config)
    if faults:
        raise ValidationFailed(faults)
    known = {field.name: field for field in schema}
    faults = [_unknown(name, known) for name in config if name not in known]
    values: dict[str, object] = {}
    for field in schema:
        if field.name in config:
            faults += _field_faults(field, config[field.name])
            values[field.name] = config[field.name]
        elif field.required:
            faults.append(FieldError(f"config.{field.name}", "required", f"is required: {_form(field)}."))
        elif field.default is not None:
            values[field.name] = field.default
    if faults:
        raise ValidationFailed(faults)
    return values


def storable_faults(config: Mapping[str, object]) -> list[FieldError]:
    """Why the database could not keep this value; empty when it can."""
    faults = _walk("config", config, depth=1)
    if faults:
        return faults
    size = len(json.dumps(config, ensure_ascii=False).encode())
    if size > MAX_CONFIG_BYTES:
        message = f"has {size:,} bytes as JSON; at most {MAX_CONFIG_BYTES:,} (64 KiB) are kept."
        return [FieldError("config", "too_large", message)]
    return []


def _walk(path: str, value: object, *, depth: int) -> list[FieldError]:
    if depth > MAX_DEPTH:
        return [FieldError(path[:200], "too_deep", f"is nested deeper than {MAX_DEPTH} levels.")]
    if value is None or isinstance(value, bool):
        return []
    if isinstance(value, str):
        return _text_faults(path, value)
    if isinstance(value, int):
        fits = abs(value) <= MAX_WHOLE_NUMBER
        return [] if fits else [FieldError(path, "too_large", "is a whole number of more than 64 bits.")]
    if isinstance(value, float):
        finite = math.isfinite(value)
        return [] if finite else [FieldError(path, "not_finite", f"is {value}, which JSON cannot hold.")]
    if isinstance(value, Mapping):
        return [fault for key, inner in value.items() for fault in _entry_faults(path, key, inner, depth)]
    if isinstance(value, list | tuple):
        return [
            fault
            for position, inner in enumerate(value)
            for fault in _walk(f"{path}[{position}]", inner, depth=depth + 1)
        ]
    return [FieldError(path, "type", f"is of type {type(value).__name__}, which JSON cannot hold.")]


def _entry_faults(path: str, key: object, value: object, depth: int) -> list[FieldError]:
    if not isinstance(key, str):
        return [FieldError(path, "key", f"has the key {key!r}; keys of a JSON object are text.")]
    return _text_faults(path, key) or _walk(f"{path}.{key}", value, depth=depth + 1)


def _text_faults(path: str, text: str) -> list[FieldError]:
    found = _UNSTORABLE_TEXT.search(text)
    if found is None:
        return []
    spelled = f"\\u{ord(found.group()):04x}"
    return [FieldError(path, "character", f"holds {spelled}, which cannot be stored; remove it.")]


def _unknown(name: str, known: Mapping[str, ConfigField]) -> FieldError:
    if not known:
        return FieldError(f"config.{name}", "unknown", "is not known: this task takes no config, only {}.")
    close = get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}."
    return FieldError(f"config.{name}", "unknown", f"is not a field of this task; {hint}")


def _field_faults(field: ConfigField, value: object) -> list[FieldError]:
    fault = _type_fault(field, value) or _bounds_fault(field, value) or _text_fault(field, value)
    if fault is None:
        return []
    code, message = fault
    return [FieldError(f"config.{field.name}", code, message)]


def _type_fault(field: ConfigField, value: object) -> tuple[str, str] | None:
    fits = isinstance(value, _PYTHON_TYPES[field.type])
    if fits and (field.type == "boolean" or not isinstance(value, bool)):
        return None
    return "type", f"{_spell(value)} is not {_form(field)}."


def _bounds_fault(field: ConfigField, value: object) -> tuple[str, str] | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    below = field.minimum is not None and value < field.minimum
    above = field.maximum is not None and value > field.maximum
    return ("range", f"{_spell(value)} is not {_form(field)}.") if below or above else None


def _text_fault(field: ConfigField, value: object) -> tuple[str, str] | None:
    if isinstance(value, str | list) and field.max_length is not None and len(value) > field.max_length:
        unit = "characters" if isinstance(value, str) else "items"
        return "too_long", f"has {len(value):,} {unit}; at most {field.max_length:,} are accepted."
    if isinstance(value, str) and field.pattern and not re.fullmatch(field.pattern, value):
        return "form", f"{_spell(value)} is refused: {field.pattern_rule or field.pattern}."
    return None


def _form(field: ConfigField) -> str:
    article = "an" if field.type[0] in "aeio" else "a"
    low, high = _number(field.minimum), _number(field.maximum)
    if low and high:
        return f"{article} {field.type} from {low} to {high}"
    if low:
        return f"{article} {field.type} of at least {low}"
    return f"{article} {field.type} of at most {high}" if high else f"{article} {field.type}"


def _number(bound: float | None) -> str:
    return "" if bound is None else f"{bound:g}" if bound != int(bound) else str(int(bound))


def _spell(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."
