"""A real PostgreSQL server in a temporary folder, on a free loopback port."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

_USER = "hubbub"  # the superuser inside the server
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "80",
    "fsync": "on",  # durability is what is tested
    "synchronous_commit": "on",
}


class Server:
    """One server; as root it runs under the user `postgres`, since it refuses root."""

    def __init__(self, program: str) -> None:
        self._programs = Path(program).resolve().parent
        self.folder = Path(tempfile.mkdtemp(prefix="hubbub-postgres-"))
        self._as: dict[str, Any] = {"cwd": self.folder}
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            self._as |= {"user": "postgres", "group": "postgres", "extra_groups": []}
        self._data = self.folder / "data"
        self.port = 0
        self._databases = 0

    def make(self) -> None:
        """Make the server's data folder and start it."""
        options = ["--auth=trust", f"--username={_USER}", "--no-locale", "--encoding=UTF8", "--no-sync"]
        self._run("initdb", "--pgdata", str(self._data), *options)
        self.start()

    def start(self) -> None:
        """Start it, on its old port if it had one; after a crash the old processes may take a moment to leave."""
        for _ in range(20):
            port = self.port or _free_port()
            settings = " ".join(f"-c {name}='{value}'" for name, value in (_SETTINGS | {"port": str(port)}).items())
            try:
                self._run("pg_ctl", "start", "--wait", "-D", str(self._data), "-l", str(self._log), "-o", settings)
            except subprocess.CalledProcessError:
                time.sleep(0.25)
            else:
                self.port = port
                return
        raise RuntimeError(f"PostgreSQL does not start: {self._log.read_text()[-2000:]}")

    def kill(self) -> None:
        """SIGKILL to the postmaster: what a power cut looks like to its clients."""
        os.kill(int((self._data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def remove(self) -> None:
        """Stop the server, whatever state it is in, and delete its folder."""
        try:
            if (self._data / "postmaster.pid").exists():
                self._run("pg_ctl", "stop", "--wait", "--mode=immediate", "-D", str(self._data))
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The URL of a database that is empty."""
        self._databases += 1
        name = f"ledger{self._databases}"
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def drop_database(self, url: str) -> None:
        self.execute(f'DROP DATABASE "{url.rpartition("/")[2]}" WITH (FORCE)')

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._as,
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
