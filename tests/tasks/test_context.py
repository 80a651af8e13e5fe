"""What a task is told, and how it speaks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scheduler_app.tasks import TaskContext

VALUES = {
    "execution_id": 1,
    "job_id": 2,
    "attempt": 3,
    "scheduled_for": "2026-03-08T07:00:00Z",
    "delivery_key": "k",
    "fence": 4,
}


def test_the_context_is_rebuilt_from_its_json_form() -> None:
    context = TaskContext.from_mapping(VALUES)

    assert (context.execution_id, context.job_id, context.attempt, context.fence) == (1, 2, 3, 4)
    assert context.scheduled_for == datetime(2026, 3, 8, 7, tzinfo=UTC)
    assert context.delivery_key == "k"


def test_a_run_without_slot_has_none() -> None:
    assert TaskContext.from_mapping({**VALUES, "scheduled_for": None}).scheduled_for is None


def test_log_writes_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    TaskContext.from_mapping(VALUES).log("half way")

    assert capsys.readouterr().out == "half way\n"


def test_progress_is_reported_and_checked() -> None:
    told: list[tuple[int, int]] = []
    context = TaskContext.from_mapping(VALUES, lambda done, total: told.append((done, total)))
    context.progress(2, 5)

    assert told == [(2, 5)]
    for done, total in ((-1, 5), (6, 5), (0, 0)):
        with pytest.raises(ValueError, match="0 <= done <= total"):
            context.progress(done, total)
