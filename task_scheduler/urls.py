"""Root of the URLs: everything of the product comes from the app, the admin of Django stands beside it."""

from __future__ import annotations

from importlib.util import find_spec

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [path("admin/", admin.site.urls)]
if find_spec("scheduler_app.urls"):
    urlpatterns.append(path("", include("scheduler_app.urls")))

handler400 = "scheduler_app.views.errors.bad_request"
handler403 = "scheduler_app.views.errors.forbidden"
handler404 = "scheduler_app.views.errors.not_found"
handler500 = "scheduler_app.views.errors.server_error"
