"""Which time zones there are, and where their rules come from: the installed `tzdata` package, nothing else.

Names are matched exactly against the package's own list before any of them can become part of a path, so an
odd name never reaches the file system. Hosts with other system zone files compute the same instants.
"""

from __future__ import annotations

import difflib
import re
import zoneinfo
from functools import lru_cache

import tzdata

from scheduler_app.domain.quoting import shown
from scheduler_app.errors import ScheduleError

LONGEST_NAME = 64
NOT_PLACES = frozenset({"localtime", "Factory", "posixrules"})

_OFFSET = re.compile(r"(?:UTC|GMT)?[+-][0-9]{1,2}(?::?[0-9]{2})?", re.IGNORECASE)


def pin_zone_data() -> None:
    """Make zoneinfo read the tzdata package only, in the whole process. Harmless when repeated."""
    if zoneinfo.TZPATH:
        zoneinfo.reset_tzpath(to=[])
        zoneinfo.ZoneInfo.clear_cache()


def tzdata_release() -> str:
    """The release of the zone rules in use, such as `2026f`."""
    return str(tzdata.IANA_VERSION)


@lru_cache(maxsize=1)
def known_zones() -> frozenset[str]:
    """Every accepted zone name, in its exact spelling."""
    pin_zone_data()
    return frozenset(zoneinfo.available_timezones() - NOT_PLACES)


def check_zone(name: object) -> str:
    """The name itself when it is a known zone; ScheduleError with field `timezone` when it is not."""
    if not isinstance(name, str):
        raise _refusal("bad_type", f"the time zone is {shown(name)}; write a name such as Europe/Paris")
    if name not in known_zones():
        raise _refusal("unknown_zone", f"{shown(name)} is not a known time zone; {_way_out(name)}")
    return name


@lru_cache(maxsize=1024)
def load_zone(name: str) -> zoneinfo.ZoneInfo:
    """The rules of a zone, from the package even if another copy was cached before the pin."""
    check_zone(name)
    pin_zone_data()
    return zoneinfo.ZoneInfo.no_cache(name)


def _way_out(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        near = _by_folded_name().get(_folded(name)) or _closest(name)
        if near:
            return f"did you mean {near}?"
        if _OFFSET.fullmatch(name.strip()):
            return "an offset is no zone; write a place such as Europe/Paris, or Etc/GMT-2 for a fixed UTC+2"
    return "write an IANA name in its exact spelling, such as UTC, Europe/Paris or America/New_York"


def _folded(name: str) -> str:
    return name.strip().casefold().replace(" ", "_")


@lru_cache(maxsize=1)
def _by_folded_name() -> dict[str, str]:
    return {_folded(name): name for name in sorted(known_zones())}


def _closest(name: str) -> str:
    if "/" not in name or ".." in name:
        return ""
    near = difflib.get_close_matches(_folded(name), _by_folded_name(), n=1, cutoff=0.85)
    return _by_folded_name()[near[0]] if near else ""


def _refusal(code: str, message: str) -> ScheduleError:
    return ScheduleError(code, "timezone", message)
