"""The files that the architecture tests look at: what git knows, or would know, of this project."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ("scheduler_app", "task_scheduler", "tests")


@cache
def project_files() -> tuple[Path, ...]:
    """Every file of the project, without what is made or ignored; works without git too."""
    try:
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        names = [ROOT / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        folders = (*OURS, "templates", "static", "docs")
        names = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return tuple(sorted(path for path in names if path.is_file() and "__pycache__" not in path.parts))


@cache
def python_files() -> tuple[Path, ...]:
    """Our Python files without migrations, which Django writes."""
    return tuple(
        path
        for path in project_files()
        if path.suffix == ".py"
        and path.relative_to(ROOT).parts[0] in (*OURS, "dev.py", "manage.py")
        and "migrations" not in path.parts
    )


def shown(path: Path) -> str:
    """The name of a file as a reader of a failure wants it."""
    return str(path.relative_to(ROOT))
