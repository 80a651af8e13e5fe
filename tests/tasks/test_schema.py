"""Configs of tasks: every fault is told at once, with the field, the value and the rule."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from scheduler_app.errors import ValidationFailed
from scheduler_app.tasks.schema import ConfigField, apply_schema

SCHEMA = (
    ConfigField("seconds", "number", required=True, minimum=0, maximum=86_400),
    ConfigField(
        "mode", "string", default="fast", max_length=8, pattern="[a-z]+", pattern_rule="small letters"
    ),
    ConfigField("tags", "array", max_length=2),
    ConfigField("deep", "boolean", default=False),
)


def faults(config: object, schema: tuple[ConfigField, ...] = SCHEMA) -> dict[str, tuple[str, str]]:
    with pytest.raises(ValidationFailed) as caught:
        apply_schema(schema, config)
    return {error.field: (error.code, error.message) for error in caught.value.errors}


def test_defaults_are_filled_in() -> None:
    assert apply_schema(SCHEMA, {"seconds": 1.5}) == {"seconds": 1.5, "mode": "fast", "deep": False}


def test_a_task_without_schema_accepts_the_empty_config_only() -> None:
    assert apply_schema((), {}) == {}
    assert "only {}" in faults({"x": 1}, ())["config.x"][1]


@pytest.mark.parametrize(
    ("config", "field", "code", "words"),
    [
        ({}, "config.seconds", "required", "number from 0 to 86400"),
        ({"seconds": -1}, "config.seconds", "range", "-1 is not a number from 0 to 86400"),
        ({"seconds": 86_401}, "config.seconds", "range", "86401"),
        ({"seconds": "abc"}, "config.seconds", "type", '"abc" is not a number'),
        ({"seconds": True}, "config.seconds", "type", "true is not a number"),
        ({"seconds": None}, "config.seconds", "type", "null"),
        ({"seconds": 1, "mode": "Fast"}, "config.mode", "form", "small letters"),
        ({"seconds": 1, "mode": "x" * 9}, "config.mode", "too_long", "at most 8"),
        ({"seconds": 1, "tags": [1, 2, 3]}, "config.tags", "too_long", "3 items"),
        ({"seconds": 1, "deep": 1}, "config.deep", "type", "boolean"),
        ({"secnods": 1, "seconds": 1}, "config.secnods", "unknown", "did you mean seconds?"),
        ([], "config", "type", "no JSON object"),
    ],
)
def test_a_wrong_value_is_refused_with_field_and_rule(
    config: object, field: str, code: str, words: str
) -> None:
    found = faults(config)

    assert found[field][0] == code
    assert words in found[field][1]


def test_all_faults_are_told_at_once() -> None:
    assert set(faults({"mode": 1, "other": 2})) == {"config.seconds", "config.mode", "config.other"}


def nested(levels: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("config", "field", "code"),
    [
        ({"a": "x\x00y"}, "config.a", "character"),
        ({"a": {"b": ["ok", "\ud800"]}}, "config.a.b[1]", "character"),
        ({"a\x00": 1}, "config", "character"),
        ({"a": float("nan")}, "config.a", "not_finite"),
        ({"a": float("inf")}, "config.a", "not_finite"),
        ({"a": "x" * 65_536}, "config", "too_large"),
        ({"a": 2**64}, "config.a", "too_large"),
        ({1: 2}, "config", "key"),
        ({"a": {1, 2}}, "config.a", "type"),
    ],
)
def test_what_no_column_can_hold_is_refused(config: Mapping[str, object], field: str, code: str) -> None:
    assert faults(config, (ConfigField("a", "string"),))[field][0] == code


def test_endless_nesting_is_refused_without_a_recursion_error() -> None:
    codes = {code for code, _ in faults(nested(20_000)).values()}

    assert codes == {"too_deep"}
