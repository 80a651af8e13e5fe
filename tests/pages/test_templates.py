"""The templates and scripts keep to what the content policy and the small htmx subset allow."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STATIC = ROOT / "static"
ALLOWED = {
    "hx-get",
    "hx-post",
    "hx-trigger",
    "hx-target",
    "hx-swap",
    "hx-sync",
    "hx-include",
    "hx-push-url",
    "hx-replace-url",
    "hx-indicator",
    "hx-disabled-elt",
    "hx-swap-oob",
    "hx-ext",
}
FORBIDDEN = {
    "inline script": re.compile(r"<script(?![^>]*\bsrc=)", re.I),
    "inline style": re.compile(r"<style|\sstyle\s*=", re.I),
    "event attribute": re.compile(r"\son[a-z]+\s*=", re.I),
    "unescaped output": re.compile(r"\|\s*safe\b|autoescape\s+off"),
    "javascript address": re.compile(r"javascript:|\bjs:", re.I),
    "filter in a trigger": re.compile(r'hx-trigger="[^"]*\['),
    "configured morph": re.compile(r"morph:\{"),
    "address of another site": re.compile(r'(?:src|href|action)="(?:https?:)?//', re.I),
}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_are_templates_to_look_at() -> None:
    assert len(TEMPLATES) > 30


@pytest.mark.parametrize("rule", FORBIDDEN)
def test_no_template_holds(rule: str) -> None:
    assert [named(path) for path in TEMPLATES if FORBIDDEN[rule].search(path.read_text())] == []


def test_only_the_small_subset_of_htmx_is_used() -> None:
    used = {word for path in TEMPLATES for word in re.findall(r"\bhx-[a-z-]+", path.read_text())}

    assert used - ALLOWED == set()


def test_who_asks_says_where_the_answer_goes() -> None:
    """Target and swap stand on the element that makes the request."""
    silent = [
        f"{named(path)}: {element[:80]}"
        for path in TEMPLATES
        for element in re.findall(r"<[a-z][^<>]*hx-(?:get|post)=[^<>]*>", path.read_text())
        if "hx-target=" not in element or "hx-swap=" not in element
    ]

    assert silent == []


def test_htmx_is_told_to_stay_within_the_policy() -> None:
    shell = (ROOT / "templates" / "shell.html").read_text()

    for setting in ('"allowEval":false', '"allowScriptTags":false', '"includeIndicatorStyles":false'):
        assert setting in shell
    for setting in ('"historyCacheSize":0', '"selfRequestsOnly":true', '{"code":"204","swap":false}'):
        assert setting in shell


def test_icons_that_are_used_exist() -> None:
    sprite = (STATIC / "icons.svg").read_text()
    known = set(re.findall(r'<symbol id="([a-z-]+)"', sprite))
    in_templates = {
        name for path in TEMPLATES for name in re.findall(r'{% icon "([a-z-]+)" %}', path.read_text())
    }
    marks = (ROOT / "scheduler_app" / "templatetags" / "marks.py").read_text()
    in_marks = set(re.findall(r'Mark\("st-[a-z]+", "([a-z-]+)"', marks))

    assert in_templates and in_marks
    assert (in_templates | in_marks) - known == set()


def test_vendored_files_are_those_that_were_taken_in() -> None:
    vendor = STATIC / "vendor"
    listed = [line.split() for line in (vendor / "SHA256SUMS").read_text().splitlines()]

    assert {name for _, name in listed} == {path.name for path in vendor.iterdir()} - {"SHA256SUMS"}
    for digest, name in listed:
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize(("names", "kilobytes"), [(("ui.css",), 12), (("app.js",), 8)])
def test_own_files_stay_small(names: tuple[str, ...], kilobytes: int) -> None:
    assert sum(len(gzip.compress((STATIC / name).read_bytes())) for name in names) <= kilobytes * 1024


def test_all_script_together_stays_small() -> None:
    files = [STATIC / "app.js", *(STATIC / "vendor").glob("*.js")]

    assert len(files) == 3
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= 32 * 1024


def test_only_one_module_speaks_htmx_headers() -> None:
    speaking = [
        named(path)
        for path in (ROOT / "scheduler_app").rglob("*.py")
        if re.search(r"""["']HX-(?!Request["'], "Cookie)""", path.read_text())
    ]

    assert speaking == ["scheduler_app/views/partials.py"]
