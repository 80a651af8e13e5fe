#!/usr/bin/env python3
"""One verb per chore: run, test, check, demo, lock. Standard library only, nothing has to be installed first.

Makes .venv with Python 3.11 or newer and the hashed lock, then does the chore in it. The file keeps to syntax
that an old Python can read, so that it can say in one line what is missing.
"""

import hashlib
import os
import shutil
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
PYTHON = (
    os.path.join(VENV, "Scripts", "python.exe") if os.name == "nt" else os.path.join(VENV, "bin", "python")
)
OLDEST = (3, 11)
OTHER_PYTHONS = ("python3.13", "python3.12", "python3.11", "python3.14")
POSTGRES = "task_scheduler.test_settings_postgres"
PRODUCTION_LIKE = {
    "DEBUG": "0",
    "SECRET_KEY": "check-only-Zk3v9QmX7tLr2WcY8nBf5HsJ4pDg6RaEuTiOqVw",
    "ALLOWED_HOSTS": "scheduler.example.org",
    "CSRF_TRUSTED_ORIGINS": "https://scheduler.example.org",
    "SECURE_COOKIES": "1",
    "DATABASE_URL": "postgres://scheduler:scheduler@localhost:5432/task_scheduler",
    "SCHEDULER_CLI_SECRET": "check-only",
}
TRY_NEXT = """
The first three commands to try, in a second terminal:
  {python} manage.py job add "My first job" always_succeed interval --every 5s
  {python} manage.py execution list
  {python} manage.py health
Ctrl-C stops everything.
"""


def stop(message):
    """End with one clear line."""
    sys.stderr.write("error: " + message + "\n")
    sys.exit(1)


def say(message):
    """Tell what is going on, on stderr."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


# --- the environment the chores run in ---


def find_python():
    """This Python when it is new enough, else the first one on PATH that really starts and is."""
    if sys.version_info >= OLDEST:
        return sys.executable
    for name in OTHER_PYTHONS:
        found = which(name)
        if found and new_enough(found):
            return found
    stop("Python 3.11 or newer is needed; this is %d.%d and none was found on PATH" % sys.version_info[:2])


def which(name):
    """shutil.which, which very old Pythons do not have."""
    if hasattr(shutil, "which"):
        return shutil.which(name)
    paths = [os.path.join(folder, name) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    return next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), None)


def new_enough(python):
    """Run it once: a shim on PATH may exist and still not start."""
    probe = "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 1)"
    try:
        with open(os.devnull, "w") as nowhere:
            return subprocess.call([python, "-c", probe], stdout=nowhere, stderr=nowhere) == 0
    except OSError:
        return False


def quiet(command, **options):
    """Run a command; its output is shown only when it fails."""
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    output = done.communicate()[0].decode("utf-8", "replace")
    return done.returncode, output


def make_venv():
    """A virtual environment in .venv; an existing one is kept when it starts and was finished."""
    if os.path.exists(PYTHON) and new_enough(PYTHON) and not quiet([PYTHON, "-c", "import pip"])[0]:
        return
    python = find_python()
    say("Making .venv with %s" % python)
    if quiet([python, "-c", "import venv, ensurepip"])[0]:
        stop("%s has no venv module; install it first (Debian, Ubuntu: apt install python3-venv)" % python)
    code, output = quiet([python, "-m", "venv", "--clear", VENV])
    if code:
        stop("the virtual environment could not be made: " + " ".join(output.split())[-400:])


def install(lock):
    """The packages of `lock`, exactly; skipped when the stamp says that they are there."""
    with open(os.path.join(HERE, lock), "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    stamp = os.path.join(VENV, "installed-" + lock)
    if os.path.exists(stamp) and new_enough(PYTHON):
        with open(stamp) as file:
            if file.read() == wanted:
                return
    make_venv()
    say("Installing the packages of %s (once; about a minute)" % lock)
    environment = dict(os.environ, UV_PYTHON_DOWNLOADS="never")
    uv = which("uv")
    if uv:
        command = [uv, "pip", "install", "--python", PYTHON, "--require-hashes", "-r", lock]
    else:
        command = [
            PYTHON,
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--require-hashes",
            "-r",
            lock,
        ]
    code, output = quiet(command, cwd=HERE, env=environment)
    if code:
        sys.stderr.write(output[-3000:])
        stop("the packages of %s could not be installed (see above); is the package index reachable?" % lock)
    with open(stamp, "w") as file:
        file.write(wanted)


def manage(*arguments, **environment):
    """One management command; a failure ends the chore with the same exit code."""
    call([PYTHON, "manage.py"] + list(arguments), **environment)


def call(command, **environment):
    """Run a command and end the chore with its exit code when that is not 0."""
    code = run_step(command, **environment)
    if code:
        sys.exit(code)


def run_step(command, **environment):
    """Run a command in the project folder and return its exit code."""
    try:
        return subprocess.call(command, cwd=HERE, env=dict(os.environ, **environment))
    except KeyboardInterrupt:
        return 130


# --- run ---


def port():
    """PORT, default 8000."""
    text = os.environ.get("PORT", "") or "8000"
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        stop("PORT=%r is refused; accepted: a whole number from 1 to 65535" % text)
    return int(text)


def need_free(number):
    """One line when somebody else listens on the port."""
    probe = socket.socket()
    try:
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", number))
    except (OSError, OverflowError) as error:
        stop("port %d cannot be used (%s); choose another, for example: PORT=8001 make run" % (number, error))
    finally:
        probe.close()


def verb_run():
    """Web, scheduler and worker on http://127.0.0.1:8000 (PORT=8001 for another port)"""
    number = port()
    need_free(number)
    install("requirements.lock")
    manage("migrate", "--verbosity", "0")
    manage("ensure_dev_user")
    user = os.environ.get("DEV_ADMIN_USERNAME") or "admin"
    chosen = os.environ.get("DEV_ADMIN_PASSWORD") or os.environ.get("DEV_ADMIN_PASSWORD_FILE")
    password = "the password of DEV_ADMIN_PASSWORD" if chosen else "admin"
    say("\nOpen http://127.0.0.1:%d/ and sign in as %s / %s" % (number, user, password))
    say(TRY_NEXT.format(python=os.path.relpath(PYTHON, HERE)).lstrip("\n"))
    replace(PYTHON, "manage.py", "scheduler", "serve", "--with-worker", "--port", str(number))


def replace(*command):
    """Become the command, so that signals reach it directly."""
    os.chdir(HERE)
    if os.name != "nt":
        os.execv(command[0], list(command))
    sys.exit(run_step(list(command)))


# --- test ---


def verb_test():
    """The suite on SQLite, then on a real PostgreSQL; ends with what was skipped and why"""
    install("requirements-dev.lock")
    extra = sys.argv[2:]
    results = [suite("SQLite", extra), suite("PostgreSQL", ["--ds=" + POSTGRES] + extra)]
    for name, code, skipped in results:
        say("\n%s: %s" % (name, "passed" if code == 0 else "FAILED (exit code %d)" % code))
        for line in skipped or ["nothing skipped"]:
            say("  " + line)
    sys.exit(1 if any(code for _, code, _ in results) else 0)


def suite(name, arguments):
    """One run of pytest, shown as it goes; returns its name, exit code and skip lines."""
    say("\n=== tests on %s ===" % name)
    command = [PYTHON, "-m", "pytest", "-q"] + arguments
    process = subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    skipped = []
    try:
        for raw in process.stdout:
            line = raw.decode("utf-8", "replace")
            sys.stdout.write(line)
            sys.stdout.flush()
            if line.startswith("SKIPPED "):
                skipped.append(line.strip())
        process.wait()
    except KeyboardInterrupt:
        process.wait()
        sys.exit(130)
    return name, process.returncode, skipped


# --- check, demo, lock, help ---


def verb_check():
    """Lint, format, types, import contracts, migrations and the deployment check"""
    install("requirements-dev.lock")
    tools = os.path.dirname(PYTHON)
    steps = [
        ("lint", [PYTHON, "-m", "ruff", "check", "."], {}),
        ("format", [PYTHON, "-m", "ruff", "format", "--check", "."], {}),
        ("types", [PYTHON, "-m", "mypy"], {}),
        ("imports", [os.path.join(tools, "lint-imports"), "--no-cache"], {}),
        ("migrations", [PYTHON, "manage.py", "makemigrations", "--check", "--dry-run"], {"DATABASE_URL": ""}),
        (
            "deployment",
            [PYTHON, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
            PRODUCTION_LIKE,
        ),
    ]
    failed = []
    for name, command, environment in steps:
        say("--- " + name)
        if run_step(command, **environment):
            failed.append(name)
    if failed:
        stop("check failed: " + ", ".join(failed))
    say("check passed: " + ", ".join(name for name, _, _ in steps))


def verb_demo():
    """Many schedulers, one job: shows one row per slot, on PostgreSQL (DATABASE_URL, else a private one)"""
    install("requirements-dev.lock")
    migrate = ["manage.py", "migrate", "--verbosity", "0"]
    demo = ["manage.py", "demo", "single-fire"]
    call([PYTHON, "-m", "tests.harness.with_postgresql"] + migrate + ["--"] + demo)


def verb_lock():
    """Write both lock files anew from the ranges (needs uv)"""
    uv = which("uv")
    if not uv:
        stop("uv is needed to write the locks; install it with: pip install uv")
    base = [
        uv,
        "pip",
        "compile",
        "--universal",
        "--python-version",
        "3.11",
        "--generate-hashes",
        "--no-emit-index-url",
    ]
    base += ["--upgrade"] if "--upgrade" in sys.argv[2:] else []
    call(base + ["requirements.txt", "-o", "requirements.lock"], UV_PYTHON_DOWNLOADS="never")
    call(
        base + ["requirements-dev.txt", "-c", "requirements.lock", "-o", "requirements-dev.lock"],
        UV_PYTHON_DOWNLOADS="never",
    )


VERBS = {"run": verb_run, "test": verb_test, "check": verb_check, "demo": verb_demo, "lock": verb_lock}


def main():
    """Do the chore that is named."""
    if len(sys.argv) < 2 or sys.argv[1] not in VERBS:
        say("usage: python3 dev.py VERB")
        for name in ("run", "test", "check", "demo", "lock"):
            say("  %-6s %s" % (name, VERBS[name].__doc__))
        sys.exit(0 if sys.argv[1:] in (["help"], ["--help"], ["-h"]) else 2)
    try:
        VERBS[sys.argv[1]]()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
