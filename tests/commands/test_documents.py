"""docs/cli.md and `--help` tell what argparse takes: every command, verb, argument and word, and no other."""

from __future__ import annotations

import re
import shlex
from argparse import Action, ArgumentParser

import pytest

from tests.architecture.sources import ROOT
from tests.commands.parsers import arguments, own_commands, parsers

PARSERS = parsers()
REFERENCE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def _sections() -> dict[str, str]:
    """Text by heading: `job add` from `### `job add``, `health` from `## `health``."""
    parts = re.split(r"^###? `([a-z_ -]+)`$", REFERENCE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _documented(section: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `([^`]+)`((?:[^|]|\\\|)*) \|", section, flags=re.MULTILINE))


def _name(action: Action) -> str:
    return ", ".join(action.option_strings) or str(action.metavar)


def _example(parser: ArgumentParser) -> str:
    return (parser.epilog or "").partition("example:\n")[2].strip()


def test_the_reference_has_a_section_for_each_command_and_verb_and_no_other() -> None:
    assert set(_sections()) == set(PARSERS) | set(own_commands())


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_a_section_lists_the_arguments_and_words_that_argparse_takes(name: str) -> None:
    documented = _documented(_sections()[name])

    assert list(documented) == [_name(action) for action in arguments(PARSERS[name])]
    for action in arguments(PARSERS[name]):
        words = [str(word) for word in action.choices or ()] if action.option_strings else []
        assert documented[_name(action)].replace("\\|", " ").split()[: len(words)] == words


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_a_section_shows_the_example_of_the_help(name: str) -> None:
    assert _example(PARSERS[name]) in _sections()[name]


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_help_has_a_sentence_an_example_and_a_meaning_for_each_argument(name: str) -> None:
    parser = PARSERS[name]

    assert (parser.description or "").endswith(".")
    assert _example(parser).startswith(f"python manage.py {name}")
    assert [_name(action) for action in arguments(parser) if not action.help] == []
    assert _example(parser) in parser.format_help()


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_the_example_is_a_line_that_argparse_accepts(name: str) -> None:
    words = shlex.split(_example(PARSERS[name]))[2:]

    PARSERS[name].parse_args(words[len(name.split()) :])


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_a_value_with_a_unit_names_it(name: str) -> None:
    """`--timeout-seconds SECONDS`: the reader need not guess."""
    units = {"seconds": "SECONDS", "days": "DAYS"}
    wrong = [
        option
        for action in arguments(PARSERS[name])
        for option in action.option_strings
        for unit, metavar in units.items()
        if option.endswith(f"-{unit}") and action.metavar != metavar
    ]

    assert wrong == []


def test_every_command_that_changes_something_takes_the_secret() -> None:
    named = {
        name
        for name, parser in PARSERS.items()
        if any("--cli-secret" in action.option_strings for action in arguments(parser))
    }

    changing = "job add, job edit, job enable, job disable, job delete, job trigger"
    assert named >= {*changing.split(", "), "execution retry", "execution cancel"}
