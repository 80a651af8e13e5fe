"""The verbs that start processes: `scheduler run`, `scheduler serve`, `scheduler loops`, `worker run`."""

from __future__ import annotations

import http.client
import re
import socket
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable

from django.conf import settings
from django.core.management import call_command

from scheduler_app.domain.quoting import shown
from scheduler_app.errors import SchedulerError
from scheduler_app.management.arguments import positive_seconds, process_count
from scheduler_app.management.output import Output
from scheduler_app.management.verbs import Options, Verb
from scheduler_app.runtime.process_group import Member, ProcessGroup, manage_command
from scheduler_app.runtime.scheduler import run_scheduler
from scheduler_app.runtime.worker import run_worker

DEFAULT_TICK_SECONDS = 5.0
DEFAULT_SLOTS = 4
WEB_THREADS = 8
_QUEUES = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*(,[A-Za-z0-9][A-Za-z0-9._:/-]*)*")


def port_number(text: str) -> int:
    """A TCP port, 1 to 65535."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 65535:
        raise ArgumentTypeError(f"{shown(text)} is no port; give a number from 1 to 65535, such as 8000")
    return int(text)


def process_name(text: str) -> str:
    """The name a process shows in heartbeats and claims."""
    name = text.strip()
    if not name or len(name) > 200 or not name.isprintable():
        raise ArgumentTypeError(
            f"{shown(text)} is no name; give 1 to 200 printable characters, such as worker-a"
        )
    return name


def queue_names(text: str) -> tuple[str, ...]:
    """Comma-separated queue names."""
    if not _QUEUES.fullmatch(text):
        raise ArgumentTypeError(f"{shown(text)} is no list of queues; give names such as default,reports")
    return tuple(dict.fromkeys(text.split(",")))


def _scheduler_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tick-seconds",
        type=positive_seconds,
        default=DEFAULT_TICK_SECONDS,
        metavar="SECONDS",
        help="longest sleep between two looks at what is due (default 5)",
    )
    parser.add_argument("--scheduler-id", type=process_name, metavar="NAME", help="name in heartbeats")
    parser.add_argument("--once", action="store_true", help="do one tick with the period work, then exit")


def _worker_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=process_count,
        default=DEFAULT_SLOTS,
        metavar="N",
        help=f"executions run at the same time (default {DEFAULT_SLOTS})",
    )
    parser.add_argument(
        "--worker-id", type=process_name, metavar="NAME", help="name in claims and heartbeats"
    )
    parser.add_argument(
        "--queues",
        type=queue_names,
        default=(),
        metavar="A,B",
        help="claim from these queues only (default: all)",
    )
    parser.add_argument("--once", action="store_true", help="drain what is claimable, then exit")


def _group_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--workers", type=process_count, default=DEFAULT_SLOTS, metavar="N", help="slots of the worker"
    )


def _serve_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--with-worker", action="store_true", help="also run a scheduler and a worker")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on")
    parser.add_argument(
        "--port", type=port_number, default=8000, metavar="PORT", help="port to listen on (default 8000)"
    )
    _group_arguments(parser)


def run_scheduler_verb(options: Options, output: Output) -> None:
    """Run one scheduler until it is told to stop."""
    run_scheduler(
        scheduler_id=options["scheduler_id"] or "", tick_seconds=options["tick_seconds"], once=options["once"]
    )


def run_worker_verb(options: Options, output: Output) -> None:
    """Run one worker until it is told to stop."""
    run_worker(
        slots=options["workers"],
        worker_id=options["worker_id"] or "",
        queues=options["queues"],
        once=options["once"],
    )


def loops(options: Options, output: Output) -> None:
    """Scheduler and worker as one group, without a port."""
    _run_group(_loop_members(options["workers"]), ready=lambda: False, say=lambda: None)


def serve(options: Options, output: Output) -> None:
    """The pages, and with --with-worker the loops, as one group."""
    host, port = options["host"], options["port"]
    _refuse_taken(host, port)
    if not settings.TRY_OUT:
        call_command("collectstatic", interactive=False, verbosity=0)
    members = [_web_member(host, port)]
    if options["with_worker"]:
        members += _loop_members(options["workers"])
    address = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}/"
    _run_group(
        members,
        ready=lambda: _answers(host, port),
        say=lambda: output.note(f"Ready on {address} (Ctrl-C stops everything)."),
    )


def _run_group(members: list[Member], *, ready: Callable[[], bool], say: Callable[[], None]) -> None:
    ended = ProcessGroup(members).run(ready=ready, when_ready=say)
    if ended:
        raise SchedulerError(
            f"the {ended} process ended by itself, so all were stopped; its lines above say why"
        )


def _loop_members(slots: int) -> list[Member]:
    return [
        Member("scheduler", manage_command("scheduler", "run")),
        Member("worker", manage_command("worker", "run", "--workers", str(slots))),
    ]


def _web_member(host: str, port: int) -> Member:
    bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    command = (sys.executable, "-m", "gunicorn", "task_scheduler.wsgi:application", "--bind", bind)
    threads = ("--workers", "1", "--worker-class", "gthread", "--threads", str(WEB_THREADS))
    quiet = (
        "--config",
        "python:task_scheduler.gunicorn_settings",
        "--no-control-socket",
        "--log-level",
        "warning" if settings.TRY_OUT else "info",
    )
    return Member("web", (*command, *threads, *quiet))


def _refuse_taken(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SchedulerError(
                f"port {port} on {host} cannot be used ({error.strerror}); give another with --port"
            ) from None


def _answers(host: str, port: int) -> bool:
    """Whether the liveness page answers."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    connection = http.client.HTTPConnection(reachable, port, timeout=1)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


SCHEDULER_VERBS = (
    Verb(
        "run",
        "Run a scheduler: turns due schedules into executions until it is stopped.",
        "python manage.py scheduler run --tick-seconds 5",
        _scheduler_arguments,
        run_scheduler_verb,
        formats=False,
    ),
    Verb(
        "serve",
        "Serve the pages; with --with-worker also run a scheduler and a worker, as one supervised group.",
        "python manage.py scheduler serve --with-worker --port 8000",
        _serve_arguments,
        serve,
        formats=False,
    ),
    Verb(
        "loops",
        "Run a scheduler and a worker as one supervised group, without opening a port.",
        "python manage.py scheduler loops --workers 4",
        _group_arguments,
        loops,
        formats=False,
    ),
)
WORKER_VERBS = (
    Verb(
        "run",
        "Run a worker: claims due executions and runs each in a process of its own until it is stopped.",
        "python manage.py worker run --workers 4",
        _worker_arguments,
        run_worker_verb,
        formats=False,
    ),
)
