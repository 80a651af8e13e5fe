"""What an operator does to an execution: retry one that ended badly, cancel one that has not started."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from scheduler_app.errors import Conflict, NotFound
from scheduler_app.queries.executions import get_execution
from scheduler_app.services.executions import cancel_execution, retry_execution
from scheduler_app.views.access import operators_only
from scheduler_app.views.executions import detail_context, no_such_execution
from scheduler_app.views.partials import LIVE_ID, done, refused, render_region, target_of
from scheduler_app.views.viewer import current_viewer


@require_POST
@operators_only
def retry(request: HttpRequest, execution_id: int) -> HttpResponse:
    """A new execution with the same slot and delivery key; leads to it."""
    try:
        new = retry_execution(execution_id=execution_id, actor=current_viewer(request).name)
    except NotFound:
        return no_such_execution(request, execution_id)
    except Conflict as conflict:
        return refused(request, conflict, back=f"/executions/{execution_id}/")
    return done(
        request, said=f"Execution {execution_id} runs again as {new.pk}", back=f"/executions/{new.pk}/"
    )


@require_POST
@operators_only
def cancel(request: HttpRequest, execution_id: int) -> HttpResponse:
    """Only what has not started; a running one ends, times out or is recovered."""
    try:
        cancel_execution(execution_id=execution_id, actor=current_viewer(request).name)
    except NotFound:
        return no_such_execution(request, execution_id)
    except Conflict as conflict:
        return refused(request, conflict, back=f"/executions/{execution_id}/")

    def region() -> str:
        context = detail_context(request, get_execution(execution_id), address=f"/executions/{execution_id}/")
        made = render_region(request, "executions/_live_detail.html", context)
        return made.html + made.company

    part = region if target_of(request) == LIVE_ID else None
    return done(
        request, said=f"Execution {execution_id} is cancelled", back=f"/executions/{execution_id}/", part=part
    )
