"""What a database says becomes one sentence with a way out, and never shows a secret."""

from __future__ import annotations

import pytest
from django.db import OperationalError, ProgrammingError, connection

from scheduler_app.queries.database_errors import NOT_MIGRATED, database_sentence, is_not_migrated


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('FATAL:  database "nodb" does not exist', "createdb"),
        ('FATAL:  role "nosuch" does not exist', "createuser"),
        ('FATAL:  password authentication failed for user "ana"', "refuses the password"),
        ("FATAL:  sorry, too many clients already", "no connection left"),
        ("connection refused", "does not answer"),
    ],
)
def test_each_refusal_of_a_server_says_what_to_do(said: str, words: str) -> None:
    sentence = database_sentence(OperationalError(f"connection to server failed: {said}"))

    assert words in sentence and "DATABASE_URL" in sentence
    assert "ana" not in sentence and "nosuch" not in sentence


@pytest.mark.django_db
def test_a_missing_table_is_named_as_a_missing_migration() -> None:
    with pytest.raises((ProgrammingError, OperationalError)) as caught, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM scheduler_app_no_such_table")

    assert is_not_migrated(caught.value)
    assert database_sentence(caught.value) == NOT_MIGRATED


def test_an_error_of_another_kind_is_no_missing_migration() -> None:
    assert not is_not_migrated(ValueError("no table here"))
