"""How many attempts a second one supervisor runs, beside the bare fork rate of a parent of the same size.

Run: python benchmarks/bench_attempts.py [--attempts 1000] [--in-flight 32] [--launcher fork|spawn]
It reports and asserts nothing: the numbers depend on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import os
import selectors
import statistics
import sys
import time
from pathlib import Path

import django

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

CONTEXT = {
    "execution_id": 1,
    "job_id": 1,
    "attempt": 1,
    "scheduled_for": "2026-01-01T00:00:00Z",
    "delivery_key": "bench",
    "fence": 1,
}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def bare_fork(seconds: float) -> tuple[float, float]:
    """(forks a second, CPU milliseconds of each) in a process that has loaded what the supervisor loads.

    One at a time: fork, leave at once, wait.
    """
    reader, writer = os.pipe()
    if os.fork() == 0:
        from scheduler_app.runtime.attempt_supervisor import prepare

        prepare()
        begin, before, count = time.monotonic(), sum(os.times()[:4]), 0
        while time.monotonic() - begin < seconds:
            if (pid := os.fork()) == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            count += 1
        rate = count / (time.monotonic() - begin)
        cost = (sum(os.times()[:4]) - before) / count * 1000
        os.write(writer, f"{rate} {cost}".encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="ascii") as answer:
        rate, cost = map(float, answer.read().split())
    os.wait()
    return rate, cost


def memory_mib(pid: int) -> tuple[float, float]:
    """(RSS, PSS) of a process."""
    rows = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return int(rows["Rss"].split()[0]) / 1024, int(rows["Pss"].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=1000)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--launcher", choices=("fork", "spawn"), default="fork")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "task_scheduler.test_settings")  # noqa: TID251
    bare, bare_cost = bare_fork(3.0)
    say(f"bare fork of an equal parent: {bare:.0f}/s, {bare_cost:.2f} ms CPU each")

    django.setup()
    from scheduler_app.runtime.attempt_process import AttemptPool
    from scheduler_app.runtime.attempt_spec import AttemptResult, AttemptSpec

    begin = time.monotonic()
    pool = AttemptPool(launcher=options.launcher)
    say(f"supervisor ready after {time.monotonic() - begin:.2f} s, pid {pool.supervisor_pid}")
    supervisor = pool.supervisor_pid
    assert supervisor is not None
    rss, pss = memory_mib(supervisor)
    say(f"supervisor idle: RSS {rss:.1f} MiB, PSS {pss:.1f} MiB")

    waiting = selectors.DefaultSelector()
    waiting.register(pool.fileno(), selectors.EVENT_READ)
    results: list[AttemptResult] = []
    latencies: list[float] = []
    started: dict[str, float] = {}
    begin, cpu_before = time.monotonic(), cpu_seconds(supervisor)
    while len(results) < options.attempts:
        while pool.running() < options.in_flight and len(started) < options.attempts:
            key = str(len(started))
            started[key] = time.monotonic()
            pool.start(AttemptSpec(key, "always_succeed", {}, CONTEXT, 60, time.monotonic() + 60))
        waiting.select(1)
        for result in pool.poll():
            latencies.append(time.monotonic() - started[result.key])
            results.append(result)
    took = time.monotonic() - begin
    rate = options.attempts / took
    good = sum(result.outcome == "succeeded" for result in results)
    say(f"{good} of {options.attempts} attempts succeeded in {took:.2f} s with {options.in_flight} in flight")
    say(f"{options.launcher}: {rate:.0f} attempts/s, {rate / bare:.2f} of the bare rate")
    quantiles = statistics.quantiles(latencies, n=100)
    say(f"start to result: median {quantiles[49] * 1000:.0f} ms, p99 {quantiles[98] * 1000:.0f} ms")
    own = (cpu_seconds(supervisor) - cpu_before) / options.attempts * 1000
    children = sum(result.cpu_seconds or 0 for result in results) / options.attempts * 1000
    share = bare_cost / (own + children)
    say(
        f"CPU per attempt: supervisor {own:.2f} ms, child {children:.2f} ms; bare fork is {share:.2f} of that"
    )
    rss, pss = memory_mib(supervisor)
    say(f"supervisor afterwards: RSS {rss:.1f} MiB, PSS {pss:.1f} MiB")
    pool.close(grace_seconds=5)


if __name__ == "__main__":
    main()
