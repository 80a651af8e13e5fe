"""Tasks that misbehave in one way each; the supervisor under test loads them as a site's own module."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from scheduler_app.tasks import NonRetryable, TaskContext, task
from scheduler_app.tasks.schema import ConfigField

Config = dict[str, object]
WITNESS = (ConfigField("witness", "string", help="A file that receives the pids of what was started."),)
SLEEPER = "import time; time.sleep(300)"


def _witness(config: Config, *pids: int) -> None:
    path = Path(str(config["witness"]))
    with path.open("a") as file:
        file.writelines(f"{pid}\n" for pid in pids)


@task("probe.echo")
def echo(context: TaskContext, config: Config) -> Config:
    """Return everything the context holds."""
    context.log("logged")
    context.progress(3, 10)
    return {
        "execution_id": context.execution_id,
        "job_id": context.job_id,
        "attempt": context.attempt,
        "scheduled_for": context.scheduled_for.isoformat() if context.scheduled_for else None,
        "delivery_key": context.delivery_key,
        "fence": context.fence,
    }


@task("probe.non_retryable")
def non_retryable(context: TaskContext, config: Config) -> None:
    raise NonRetryable("this order does not exist")


@task("probe.chatter_on_stderr")
def chatter_on_stderr(context: TaskContext, config: Config) -> None:
    sys.stderr.write("a warning\n")


@task("probe.write_and_raise")
def write_and_raise(context: TaskContext, config: Config) -> None:
    sys.stdout.write("a\x00b\n")
    sys.stderr.write("a\x00b\n")
    raise ValueError("x\x00y \ud800")


@task("probe.bad_bytes")
def bad_bytes(context: TaskContext, config: Config) -> None:
    os.write(1, b"hi\n\x80\xff\xc3(\n")
    os.write(1, "caf\xe9 ends\n".encode("latin-1"))


@task("probe.flood", (ConfigField("megabytes", "integer", default=10),))
def flood(context: TaskContext, config: Config) -> None:
    chunk = b"x" * 1023 + b"\n"
    megabytes = int(str(config["megabytes"]))
    for descriptor in (2, 1):
        for _ in range(megabytes * 1024):
            os.write(descriptor, chunk)
    for _ in range(1024):
        os.write(1, chunk)
        os.write(2, chunk)
    os.write(1, b"the end of stdout\n")
    os.write(2, b"the end of stderr\n")


@task("probe.exit", (ConfigField("code", "integer", default=0), ConfigField("how", "string", default="os")))
def leave(context: TaskContext, config: Config) -> None:
    if config["how"] == "os":
        os._exit(int(str(config["code"])))
    sys.exit(int(str(config["code"])))


@task("probe.raise_base")
def raise_base(context: TaskContext, config: Config) -> None:
    raise KeyboardInterrupt


@task("probe.unspeakable")
def unspeakable(context: TaskContext, config: Config) -> None:
    class UnspeakableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    raise UnspeakableError


@task("probe.long_message")
def long_message(context: TaskContext, config: Config) -> None:
    sys.stderr.write("e" * 50_000)
    raise ValueError("m" * 200_000 + " the last words")


@task("probe.signal_itself", (ConfigField("number", "integer"),))
def signal_itself(context: TaskContext, config: Config) -> None:
    os.kill(os.getpid(), int(str(config["number"])))
    time.sleep(30)


@task("probe.dot_each_moment")
def dot_each_moment(context: TaskContext, config: Config) -> None:
    while True:
        sys.stdout.write(".")
        time.sleep(0.05)


@task("probe.tree_that_escapes", WITNESS)
def tree_that_escapes(context: TaskContext, config: Config) -> None:
    """A shell with a child, and a process in a session of its own that keeps stdout open; then it waits."""
    script = f"{sys.executable} -c '{SLEEPER}' & echo $! ; wait"
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
    assert shell.stdout is not None
    inner = int(shell.stdout.readline())
    escaped = subprocess.Popen([sys.executable, "-c", SLEEPER], start_new_session=True, env={})
    _witness(config, os.getpid(), shell.pid, inner, escaped.pid)
    time.sleep(300)


@task("probe.daemon_left_behind", WITNESS)
def daemon_left_behind(context: TaskContext, config: Config) -> str:
    """Return while a doubly forked process in its own session goes on holding stdout."""
    if (middle := os.fork()) == 0:
        os.setsid()
        if (daemon := os.fork()) == 0:
            time.sleep(300)
            os._exit(0)
        _witness(config, daemon)
        os._exit(0)
    os.waitpid(middle, 0)
    return "returned"


@task("probe.fork_returns", ())
def fork_returns(context: TaskContext, config: Config) -> str:
    """The forked copy returns from the task as well; only the original may report."""
    child = os.fork()
    if child == 0:
        return "copy"
    os.waitpid(child, 0)
    return "original"


@task("probe.stubborn", WITNESS)
def stubborn(context: TaskContext, config: Config) -> None:
    """Ignore every signal that can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    _witness(config, os.getpid())
    time.sleep(300)


@task("probe.wait", WITNESS)
def wait(context: TaskContext, config: Config) -> None:
    helper = subprocess.Popen([sys.executable, "-c", SLEEPER])
    _witness(config, os.getpid(), helper.pid)
    time.sleep(300)


@task("probe.environment")
def environment(context: TaskContext, config: Config) -> Config:
    """What a task and a process it starts can see."""
    seen = subprocess.run(["env", "-0"], capture_output=True, check=True).stdout.decode()
    inherited = sorted(line.partition("=")[0] for line in seen.split("\0"))
    return {"own": sorted(os.environ), "inherited": inherited}


@task("probe.surroundings")
def surroundings(context: TaskContext, config: Config) -> Config:
    """Descriptors, threads, session, stdin and signals of a fresh child."""
    return {
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "leads_session": os.getsid(0) == os.getpid(),
        "stdin": sys.stdin.read(),
        "sigterm_is_default": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
        "sigchld_is_default": signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL,
        "random": random.random(),
    }


@task("probe.return", (ConfigField("what", "string", required=True),))
def give_back(context: TaskContext, config: Config) -> object:
    """Return values that are hard to keep."""
    deep: list[object] = []
    for _ in range(100):
        deep = [deep]
    values: dict[str, object] = {
        "object": object(),
        "nan": float("nan"),
        "large": "x" * 70_000,
        "deep": deep,
        "text": {"n\x00ul": "\ud800 and \x00"},
        "keys": {1: (1, 2), None: True},
        "bytes": b"x",
        "wide": 2**70,
    }
    context.log("printed before")
    return values[str(config["what"])]


@task("probe.appoint_a_daemon", WITNESS)
def appoint_a_daemon(context: TaskContext, config: Config) -> None:
    """Wait beside a forked process in its own session, which only the sweep by mark can find later."""
    if (daemon := os.fork()) == 0:
        os.setsid()
        time.sleep(300)
        os._exit(0)
    _witness(config, os.getpid(), daemon)
    time.sleep(300)


@task("probe.daemon_in_use", (*WITNESS, ConfigField("go", "string")))
def daemon_in_use(context: TaskContext, config: Config) -> bool:
    """Keep a doubly forked process beside the task; tell whether it is there when the test says go."""
    if (middle := os.fork()) == 0:
        if (daemon := os.fork()) == 0:
            time.sleep(300)
            os._exit(0)
        _witness(config, daemon)
        os._exit(0)
    os.waitpid(middle, 0)
    while not Path(str(config["go"])).exists():
        time.sleep(0.02)
    daemon = int(Path(str(config["witness"])).read_text())
    return os.waitpid(daemon, os.WNOHANG) == (0, 0)
