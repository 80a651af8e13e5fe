"""Reading executions: pages by id, newest first, each row with job, lease and last worker, in one query.

A filter that no index answers looks at most at `SCAN_IDS` ids below the cursor; a page may then hold fewer
items than asked, or none, and still have a next page. Nothing here counts history.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import OuterRef, Q, QuerySet, Subquery

from scheduler_app.domain.states import HELD, WAITING, Status
from scheduler_app.errors import FieldError, NotFound, ValidationFailed
from scheduler_app.models import Attempt, Execution
from scheduler_app.queries.paging import (
    Page,
    check_limit,
    decode_cursor,
    encode_cursor,
    is_searchable,
    page_of,
)

SCAN_IDS = 200_000
_EVERY_STATUS = frozenset(status.value for status in Status)


def list_executions(
    *,
    limit: int,
    cursor: str | None = None,
    statuses: Collection[str] = (),
    job_id: int | None = None,
    task: str | None = None,
) -> Page[Execution]:
    """One page, newest first. Raises ValidationFailed for `limit`, `cursor` or an unknown status."""
    check_limit(limit)
    before_id = decode_cursor(cursor) if cursor else None
    wanted = _check_statuses(statuses)
    if task is not None and not is_searchable(task):
        return Page([], None)
    rows = _filtered(wanted, job_id, task)
    if before_id is not None:
        rows = rows.filter(pk__lt=before_id)
    if job_id is not None or not _needs_a_scan(wanted, task):
        return page_of(list(rows[: limit + 1]), limit, _id)
    return _page_of_a_scan(rows, limit, before_id)


def get_execution(execution_id: int) -> Execution:
    """One execution with job, lease and last worker. Raises NotFound."""
    execution = _with_company(Execution.objects.filter(pk=execution_id)).first()
    if execution is None:
        raise NotFound(f"no execution {execution_id}; `execution list` shows the ids")
    return execution


def attempts_of(execution_id: int) -> list[Attempt]:
    """The finished attempts of an execution, oldest first."""
    return list(Attempt.objects.filter(execution_id=execution_id).order_by("number"))


def _id(execution: Execution) -> int:
    return execution.pk


def _check_statuses(statuses: Collection[str]) -> frozenset[str]:
    unknown = sorted(set(statuses) - _EVERY_STATUS)
    if unknown:
        message = f"{unknown[0]!r} is no status; choose from {', '.join(Status)}"
        raise ValidationFailed([FieldError("status", "unknown_status", message)])
    wanted = frozenset(statuses)
    return frozenset() if wanted == _EVERY_STATUS else wanted


def _with_company(rows: QuerySet[Execution]) -> QuerySet[Execution]:
    last = Attempt.objects.filter(execution=OuterRef("pk")).order_by("-number").values("worker_id")[:1]
    return rows.select_related("job", "lease").annotate(last_worker_id=Subquery(last))


def _filtered(wanted: frozenset[str], job_id: int | None, task: str | None) -> QuerySet[Execution]:
    rows = _with_company(Execution.objects.order_by("-pk"))
    if wanted:
        rows = rows.filter(status__in=sorted(wanted))
    if wanted and wanted <= HELD:
        rows = rows.filter(lease__isnull=False)
    elif wanted and wanted <= WAITING:
        rows = rows.filter(Q(claim_at__isnull=False) | Q(held_back=True))
    if job_id is not None:
        rows = rows.filter(job_id=job_id)
    if task is not None:
        rows = rows.filter(task=task)
    return rows


def _needs_a_scan(wanted: frozenset[str], task: str | None) -> bool:
    """Whether rows that match may lie any distance apart; held and waiting rows have their own indexes."""
    return task is not None or not (wanted <= HELD or wanted <= WAITING)


def _page_of_a_scan(rows: QuerySet[Execution], limit: int, before_id: int | None) -> Page[Execution]:
    if before_id is None:
        newest = Execution.objects.order_by("-pk").values_list("pk", flat=True).first()
        before_id = 1 if newest is None else newest + 1
    floor = max(before_id - SCAN_IDS, 1)
    page = page_of(list(rows.filter(pk__lt=before_id, pk__gte=floor)[: limit + 1]), limit, _id)
    if page.next is None and Execution.objects.filter(pk__lt=floor).exists():
        return Page(page.items, encode_cursor(floor))
    return page
