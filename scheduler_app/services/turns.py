"""Whose turn it is: at most one exclusive run of a job is held, the others wait in slot order.

A row that waits for its turn is held back and not claimable. Whatever frees a job promotes its first
held-back row in the same transaction; each tick promotes heads whose job is free, because a promotion
cannot see a row that another transaction has not committed yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from scheduler_app.domain.overlap import OverlapState
from scheduler_app.services.transactions import fetch_all, in_list, on_postgresql, sql_value

_STATE = """
SELECT j.id,
  EXISTS (SELECT 1 FROM scheduler_app_lease l WHERE l.job_id = j.id),
  EXISTS (SELECT 1 FROM scheduler_app_lease l WHERE l.job_id = j.id AND l.exclusive),
  EXISTS (SELECT 1 FROM scheduler_app_execution e
          WHERE e.job_id = j.id AND e.claim_at IS NOT NULL AND e.claim_at <= %s),
  (SELECT count(*) FROM (SELECT 1 FROM scheduler_app_execution h
          WHERE h.job_id = j.id AND h.held_back LIMIT 100000) AS line)
FROM scheduler_app_job j WHERE j.id {jobs}
"""


def overlap_states(job_ids: Iterable[int], *, now: datetime) -> dict[int, OverlapState]:
    """What stands before new slots of these jobs, in one statement."""
    wanted = list(job_ids)
    if not wanted:
        return {}
    clause, parameters = in_list(wanted)
    states = {}
    for job_id, held, exclusive, claimable, line in fetch_all(
        _STATE.format(jobs=clause), [sql_value(now), *parameters]
    ):
        states[job_id] = OverlapState(
            active=bool(held or claimable or line),
            line_taken=bool(exclusive or claimable or line),
            waiting=line + int(bool(claimable)),
        )
    return states


_FREE_HEADS = """
SELECT e.id FROM scheduler_app_job j
JOIN scheduler_app_execution e ON e.id = (
  SELECT h.id FROM scheduler_app_execution h WHERE h.job_id = j.id AND h.held_back
  ORDER BY h.rank_at, h.id LIMIT 1)
WHERE j.id {jobs}
  AND NOT EXISTS (SELECT 1 FROM scheduler_app_lease l WHERE l.job_id = j.id AND l.exclusive)
  AND NOT EXISTS (SELECT 1 FROM scheduler_app_execution c
                  WHERE c.job_id = j.id AND c.claim_at IS NOT NULL AND c.claim_at <= %s AND c.exclusive)
"""
_PROMOTE_POSTGRESQL = """
WITH heads AS MATERIALIZED ({heads}),
locked AS MATERIALIZED (
  SELECT id FROM scheduler_app_execution WHERE id IN (SELECT id FROM heads) AND held_back
  ORDER BY id FOR UPDATE SKIP LOCKED)
UPDATE scheduler_app_execution SET held_back = false, claim_at = available_at
WHERE id IN (SELECT id FROM locked) RETURNING id
"""
_PROMOTE_SQLITE = """
UPDATE scheduler_app_execution SET held_back = 0, claim_at = available_at
WHERE id IN ({heads}) RETURNING id
"""


def promote(job_ids: Iterable[int], *, now: datetime) -> list[int]:
    """Make the first held-back row of each free job claimable; return the ids promoted.

    A head that somebody else has locked is left for the next tick, never overtaken.
    """
    wanted = sorted(set(job_ids))
    if not wanted:
        return []
    clause, parameters = in_list(wanted)
    template = _PROMOTE_POSTGRESQL if on_postgresql() else _PROMOTE_SQLITE
    statement = template.format(heads=_FREE_HEADS.format(jobs=clause))
    return [row[0] for row in fetch_all(statement, [*parameters, sql_value(now)])]


_JOBS_WITH_A_LINE = """
WITH RECURSIVE line(job_id) AS (
  SELECT (SELECT min(job_id) FROM scheduler_app_execution WHERE held_back)
  UNION ALL
  SELECT (SELECT min(e.job_id) FROM scheduler_app_execution e WHERE e.held_back AND e.job_id > line.job_id)
  FROM line WHERE line.job_id IS NOT NULL)
SELECT job_id FROM line WHERE job_id IS NOT NULL
"""


def promote_stranded(*, now: datetime) -> list[int]:
    """Promote heads of all free jobs: the tick's safety net. Cost follows the number of jobs in line."""
    return promote((row[0] for row in fetch_all(_JOBS_WITH_A_LINE, [])), now=now)
