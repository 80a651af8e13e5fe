"""docs/state-machine.md shows exactly the arrows of scheduler_app/domain/states.py."""

from __future__ import annotations

from scheduler_app.domain.states import NEW, TRANSITIONS, Status
from tests.architecture.sources import ROOT


def _documented() -> list[tuple[str, str, str]]:
    """Rows `| from | to | verb | … |` whose first cell is a state."""
    text = (ROOT / "docs" / "state-machine.md").read_text(encoding="utf-8")
    rows = []
    for line in text.splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if (
            line.startswith("|")
            and len(cells) >= 3
            and cells[0] in {NEW, *Status}
            and cells[1] in set(Status)
        ):
            rows.append((cells[0], cells[1], cells[2]))
    return rows


def test_the_document_shows_every_arrow_and_no_other() -> None:
    expected = [(str(origin), str(target), verb) for origin, target, verb in TRANSITIONS]

    assert sorted(_documented()) == sorted(expected)
