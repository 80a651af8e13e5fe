"""The addresses of the pages: they end in a slash, and what changes something ends in its verb."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import IntConverter

from scheduler_app.views import (
    dashboard,
    execution_actions,
    executions,
    home,
    job_actions,
    job_form,
    jobs,
    sign_in,
)


class IdConverter(IntConverter):
    """Ids that a 64-bit column can hold; anything longer is no address."""

    regex = "[0-9]{1,18}"


register_converter(IdConverter, "id")

urlpatterns = [
    path("", home.home, name="home"),
    path("login/", sign_in.sign_in, name="login"),
    path("logout/", sign_in.sign_out, name="logout"),
    path("dashboard/", dashboard.dashboard, name="dashboard"),
    path("alerts/<id:alert_id>/resolve/", dashboard.resolve, name="alert-resolve"),
    path("jobs/", jobs.job_list, name="jobs"),
    path("jobs/new/", job_form.new_job, name="job-new"),
    path("jobs/preview/", job_form.preview, name="job-preview"),
    path("jobs/task-fields/", job_form.task_fields, name="job-task-fields"),
    path("jobs/<id:job_id>/", jobs.job_detail, name="job"),
    path("jobs/<id:job_id>/edit/", job_form.change_job, name="job-edit"),
    path("jobs/<id:job_id>/trigger/", job_actions.trigger, name="job-trigger"),
    path("jobs/<id:job_id>/enable/", job_actions.enable, name="job-enable"),
    path("jobs/<id:job_id>/disable/", job_actions.disable, name="job-disable"),
    path("jobs/<id:job_id>/disable/confirm/", job_actions.confirm_disable, name="job-disable-confirm"),
    path("jobs/<id:job_id>/delete/", job_actions.delete, name="job-delete"),
    path("jobs/<id:job_id>/delete/confirm/", job_actions.confirm_delete, name="job-delete-confirm"),
    path("executions/", executions.execution_list, name="executions"),
    path("executions/<id:execution_id>/", executions.execution_detail, name="execution"),
    path("executions/<id:execution_id>/retry/", execution_actions.retry, name="execution-retry"),
    path("executions/<id:execution_id>/cancel/", execution_actions.cancel, name="execution-cancel"),
]
