"""`ensure_dev_user`: made once, never reset, never with a well-known password in production."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from tests.commands.running import run_cli

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _try_out(settings: Settings) -> None:
    settings.TRY_OUT = True
    settings.DEV_ADMIN_USERNAME, settings.DEV_ADMIN_PASSWORD = "admin", ""
    settings.DEV_ADMIN_EMAIL = "admin@example.com"


def test_a_try_out_gets_admin_admin_and_a_warning_on_stderr() -> None:
    answer = run_cli("ensure_dev_user")

    user = User.objects.get(username="admin")
    assert answer.code == 0 and "admin made" in answer.out
    assert "warning" in answer.err
    assert user.check_password("admin") and user.is_superuser and user.email == "admin@example.com"


def test_a_second_time_changes_nothing_and_warns_while_the_password_is_the_known_one() -> None:
    run_cli("ensure_dev_user")
    first = User.objects.values().get()

    answer = run_cli("ensure_dev_user")

    assert answer.code == 0 and "nothing changed" in answer.out and "warning" in answer.err
    assert User.objects.values().get() == first


def test_a_password_that_was_changed_is_never_reset() -> None:
    run_cli("ensure_dev_user")
    user = User.objects.get()
    user.set_password("my own words")
    user.save()

    answer = run_cli("ensure_dev_user")

    assert answer.code == 0 and answer.err == ""
    assert User.objects.get().check_password("my own words")


def test_name_password_and_address_come_from_the_settings(settings: Settings) -> None:
    settings.DEV_ADMIN_USERNAME, settings.DEV_ADMIN_PASSWORD = "ops", "long and own"
    settings.DEV_ADMIN_EMAIL = "ops@example.org"

    answer = run_cli("ensure_dev_user")

    user = User.objects.get(username="ops")
    assert answer.code == 0 and answer.err == "" and "long and own" not in answer.out
    assert user.check_password("long and own") and user.email == "ops@example.org"


def test_production_refuses_the_known_password_and_makes_nobody(settings: Settings) -> None:
    settings.TRY_OUT = False

    answer = run_cli("ensure_dev_user")

    assert answer.code == 1 and "DEV_ADMIN_PASSWORD" in answer.err
    assert not User.objects.exists()


def test_production_makes_the_operator_with_a_password_of_its_own(settings: Settings) -> None:
    settings.TRY_OUT, settings.DEV_ADMIN_PASSWORD = False, "long and own"

    assert run_cli("ensure_dev_user").code == 0
    assert User.objects.get().check_password("long and own")
