"""What PostgreSQL needs beyond the model: the fence sequence, and room for HOT updates on the hot tables.

SQLite has neither; there the fence comes from a counter row.
"""

from django.db import migrations

FORWARD = (
    "CREATE SEQUENCE scheduler_app_fence AS bigint CACHE 1",
    "ALTER TABLE scheduler_app_execution SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,"
    " autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05)",
    "ALTER TABLE scheduler_app_lease SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,"
    " autovacuum_vacuum_threshold = 200)",
    "ALTER TABLE scheduler_app_job SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05)",
    "ALTER TABLE scheduler_app_heartbeat SET (fillfactor = 50, autovacuum_vacuum_threshold = 50)",
)
BACKWARD = (
    "DROP SEQUENCE scheduler_app_fence",
    "ALTER TABLE scheduler_app_execution RESET (fillfactor, autovacuum_vacuum_scale_factor,"
    " autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor)",
    "ALTER TABLE scheduler_app_lease RESET (fillfactor, autovacuum_vacuum_scale_factor,"
    " autovacuum_vacuum_threshold)",
    "ALTER TABLE scheduler_app_job RESET (fillfactor, autovacuum_vacuum_scale_factor)",
    "ALTER TABLE scheduler_app_heartbeat RESET (fillfactor, autovacuum_vacuum_threshold)",
)


def tune(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for statement in FORWARD:
            schema_editor.execute(statement)


def untune(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for statement in BACKWARD:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("scheduler_app", "0001_initial")]
    operations = [migrations.RunPython(tune, untune)]
