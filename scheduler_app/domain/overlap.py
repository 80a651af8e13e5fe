"""What becomes of a slot that would start while an earlier run of its job is not finished.

Asked before each row that would become pending, in slot order, so that the first row of a tick is already
"an earlier run" for the second. A retry that is not yet due does not count as active.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class OverlapState:
    """What stands before the new slots: anything active, exclusive rows that wait or run, how many wait."""

    active: bool = False
    line_taken: bool = False
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class SlotDecision:
    """`missed_reason` is empty for a row that will run; `held_back` says it waits for its turn."""

    slot: datetime
    missed_reason: str = ""
    held_back: bool = False


def decide_overlap(
    slots: Sequence[datetime], *, policy: str, queue_limit: int, state: OverlapState
) -> list[SlotDecision]:
    """One decision a slot, in order."""
    if policy == "allow":
        return [SlotDecision(slot) for slot in slots]
    decisions = []
    active, line_taken, waiting = state.active, state.line_taken, state.waiting
    for slot in slots:
        if policy == "skip" and active:
            decisions.append(SlotDecision(slot, missed_reason="overlap: an earlier run was not finished"))
        elif policy == "queue" and waiting >= queue_limit:
            decisions.append(
                SlotDecision(
                    slot, missed_reason=f"queue full: {waiting} runs were waiting, the limit is {queue_limit}"
                )
            )
        else:
            decisions.append(SlotDecision(slot, held_back=line_taken))
            active = line_taken = True
            waiting += 1
    return decisions
