"""The kinds of environment variables: how a text becomes a value, and the words for what is accepted.

Each kind gives a dataclass field that carries its `Variable`; `environment.py` declares and reads them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from environs import Env, validate

Network = IPv4Network | IPv6Network
_truths = dict.fromkeys(("1", "true", "yes", "on"), True)
TRUE_AND_FALSE = _truths | dict.fromkeys(("0", "false", "no", "off"), False)
_CHECKOUT = Path(__file__).resolve().parent.parent
# An installed package keeps its files where the command is run, never among the packages.
PROJECT_FOLDER = _CHECKOUT if (_CHECKOUT / "manage.py").exists() else Path.cwd()


@dataclass(frozen=True, slots=True)
class Variable:
    """How one variable is read: `parse` gets the raw text and returns the value or raises ValueError."""

    name: str
    default: str
    meaning: str
    accepted: str
    parse: Callable[[Env, str], Any]
    secret: bool = False


def declare(variable: Variable, default: Any) -> Any:
    return dataclasses.field(default=default, metadata={"variable": variable})


def text(
    name: str, default: str, meaning: str, *, secret: bool = False, accepted: str = "text", pattern: str = ""
) -> Any:
    def parse(env: Env, key: str) -> str:
        value: str = env.str(key)
        # A secret of blanks would count as none, silently.
        if (pattern and not re.fullmatch(pattern, value)) or (secret and not value.strip()):
            raise ValueError(value)
        return value

    return declare(Variable(name, default, meaning, accepted, parse, secret), default)


def flag(name: str, default: bool, meaning: str) -> Any:
    def parse(env: Env, key: str) -> bool:
        value = str(env.str(key)).strip().lower()
        if value not in TRUE_AND_FALSE:
            raise ValueError(value)
        return TRUE_AND_FALSE[value]

    return declare(Variable(name, "1" if default else "0", meaning, "1 or 0 (true, false)", parse), default)


def number(name: str, default: int, meaning: str, minimum: int, maximum: int) -> Any:
    def parse(env: Env, key: str) -> int:
        if not re.fullmatch(r"\s*[0-9]{1,18}\s*", env.str(key)):
            raise ValueError("not a whole number")
        value: int = env.int(key, validate=validate.Range(min=minimum, max=maximum))
        return value

    accepted = f"a whole number from {minimum} to {maximum}"
    return declare(Variable(name, str(default), meaning, accepted, parse), default)


def names(name: str, meaning: str, accepted: str, pattern: str) -> Any:
    def parse(env: Env, key: str) -> tuple[str, ...]:
        values = tuple(part.strip() for part in env.str(key).split(",") if part.strip())
        if any(not re.fullmatch(pattern, value) for value in values):
            raise ValueError(values)
        return values

    return declare(Variable(name, "", meaning, accepted, parse), ())


def url(name: str, meaning: str, schemes: tuple[str, ...], *, default: str = "", example: str) -> Any:
    def parse(env: Env, key: str) -> str:
        value = str(env.str(key)).strip()
        parts = urlsplit(value)
        if parts.scheme not in schemes or not (parts.netloc or parts.path.strip("/") or parts.query):
            raise ValueError("scheme")
        _ = parts.port  # raises ValueError on a port that is no number
        return value

    accepted = " or ".join(f"{scheme}://…" for scheme in schemes) + f", for example {example}"
    return declare(Variable(name, default, meaning, accepted, parse, secret="@" in example), default)


def networks(name: str, meaning: str) -> Any:
    def parse(env: Env, key: str) -> tuple[Network, ...]:
        parts = [part.strip() for part in env.str(key).split(",")]
        return tuple(ip_network(part, strict=True) for part in parts if part)

    accepted = "a comma list of networks without host bits, for example 10.0.0.0/8,fd00::/8"
    return declare(Variable(name, "", meaning, accepted, parse), ())


def folder(name: str, default: str, meaning: str) -> Any:
    def parse(env: Env, key: str) -> Path:
        value = Path(env.str(key))
        return value if value.is_absolute() else PROJECT_FOLDER / value

    return declare(Variable(name, default, meaning, "a folder name", parse), PROJECT_FOLDER / default)
