"""Dispatch: a worker's round, which turns free slots into started attempts.

One transaction completes the batch that ended, claims for the slots that are free and starts what it
claimed, so that a backlog costs a fraction of a commit per execution. The caller starts the children after
the commit, never before: an attempt is on record before anything of it runs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import DataError, IntegrityError

from scheduler_app.clock import Instant
from scheduler_app.services.claiming import (
    Claimed,
    ClaimRequest,
    ClaimResult,
    cancel_rows_of_stopped_jobs,
    claim_and_start,
    lowest_claimable_rank,
)
from scheduler_app.services.completion import FinishedAttempt, complete_attempts
from scheduler_app.services.heartbeats import Identity
from scheduler_app.services.transactions import daemon_transaction

BOUND_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Round:
    """What a round did: attempts to start, attempts whose lease was lost, whether to claim again at once."""

    started: list[Claimed]
    lost: list[FinishedAttempt]
    more: bool
    instant: Instant


class Dispatcher:
    """The rounds of one worker over one lane; remembers only a lower bound of the ranks still claimable."""

    def __init__(
        self, *, identity: Identity, lane: str, tasks: tuple[str, ...], queues: tuple[str, ...] = ()
    ) -> None:
        self.identity = identity
        self._request = ClaimRequest(lane=lane, limit=0, tasks=tasks, queues=queues)
        self._bound: datetime | None = None
        self._bound_until = 0.0
        self._cleaned_until = 0.0

    def round(
        self, *, finished: Sequence[FinishedAttempt], free_slots: int, now: datetime | None = None
    ) -> Round:
        """Complete, claim and start in one transaction. `free_slots` counts slots free after the completions.

        `now` is the database clock of the transaction unless given. Raises OperationalError when the
        database is away; whether a commit whose answer was lost stands is then unknown.
        """
        with daemon_transaction() as instant:
            at = now or instant.now
            lost = complete_attempts(finished, identity=self.identity, now=at)
            if free_slots < 1:
                return Round([], lost, False, instant)
            started, picked = self._claim(free_slots, at)
        return Round(started, lost, picked > 0 and len(started) < free_slots, instant)

    def complete_one_by_one(self, finished: Sequence[FinishedAttempt]) -> list[FinishedAttempt]:
        """Write each attempt in a transaction of its own, so that one the database refuses stands alone.

        What it refuses even alone ends with its texts replaced by a note; an ending is never dropped.
        """
        lost: list[FinishedAttempt] = []
        for attempt in finished:
            try:
                with daemon_transaction() as instant:
                    lost += complete_attempts([attempt], identity=self.identity, now=instant.now)
            except (DataError, IntegrityError, ValueError) as error:
                note = f"The output could not be stored ({type(error).__name__})."
                bare = replace(attempt, output="", error=note, result=None, exchange=None)
                with daemon_transaction() as instant:
                    lost += complete_attempts([bare], identity=self.identity, now=instant.now)
        return lost

    def _claim(self, free_slots: int, now: datetime) -> tuple[list[Claimed], int]:
        """Claim with the lower bound of a backlog; a short claim runs once more without it and cleans up."""
        bound = self._bound
        first = self._claim_once(free_slots, bound, now)
        if len(first.claimed) >= free_slots:
            self._keep_bound()
            return first.claimed, first.picked
        self._bound = None
        self._clean_up(now)
        if bound is None:
            return first.claimed, first.picked
        rest = self._claim_once(free_slots - len(first.claimed), None, now)
        return first.claimed + rest.claimed, first.picked + rest.picked

    def _claim_once(self, limit: int, rank_from: datetime | None, now: datetime) -> ClaimResult:
        request = replace(self._request, limit=limit, rank_from=rank_from)
        return claim_and_start(request=request, identity=self.identity, now=now)

    def _keep_bound(self) -> None:
        if time.monotonic() >= self._bound_until:
            self._bound = lowest_claimable_rank(lane=self._request.lane)
            self._bound_until = time.monotonic() + BOUND_SECONDS

    def _clean_up(self, now: datetime) -> None:
        if time.monotonic() >= self._cleaned_until:
            cancel_rows_of_stopped_jobs(lane=self._request.lane, now=now)
            self._cleaned_until = time.monotonic() + BOUND_SECONDS
