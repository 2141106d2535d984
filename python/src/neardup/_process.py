"""Runs the program: passes arguments, shows log and progress, and returns its result."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

log = logging.getLogger("neardup")


class Error(Exception):
    """A failed run, with the program's message, which says what to do next, and its exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message, status)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])


def binary() -> str:
    """Returns the program that was installed with this module, or else the first one on the PATH."""
    beside = str(Path(__file__).parents[1] / "bin")  # where pip --target puts it
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), beside]
    if found := shutil.which("neardup", path=os.pathsep.join(folders)) or shutil.which("neardup"):
        return found
    raise Error("there is no program neardup among Python's scripts or on the PATH; install the wheel again")


def arguments(options: Mapping[str, Any]) -> list[str]:
    """Returns options as flags, without those that are None."""
    flags = []
    for name, value in options.items():
        flag = name.rstrip("_").replace("_", "-")
        if isinstance(value, Mapping):
            value = [f"{key}={one}" for key, one in value.items()]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, bool):
                one = str(one).lower()
            if one is not None:
                flags.append(f"--{flag}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return flags


class Sink:
    """The program's standard input. Each write also handles the log so far, and fails once the program has ended."""

    def __init__(self, pipe: IO[bytes], listen: Callable[[], None]) -> None:
        self.pipe, self.listen = pipe, listen
        self.closed = self.broken = False

    def write(self, data: bytes) -> int:
        self.listen()
        try:
            return self.pipe.write(data)
        except BrokenPipeError:
            self.broken = True
            raise

    def flush(self) -> None:
        """Does nothing, since the pipe is flushed when it is closed."""


def run(
    command: str,
    flags: Sequence[str],
    feed: Callable[[Sink], None] | None = None,
    files: Sequence[int] = (),
    words: Sequence[str] = (),
) -> dict[str, Any]:
    """Runs a command, which reads what feed writes and may open files, and returns the JSON that it prints. words are
    arguments that may begin with a hyphen."""
    progress = Progress()
    level = log.getEffectiveLevel()
    flags = [*flags, "--json", "--log-format=json", *["-v"] * ((level <= logging.INFO) + (level <= logging.DEBUG))]
    with tempfile.TemporaryFile() as printed, _Lifeline() as end:
        process = subprocess.Popen(
            [binary(), command, *flags, f"--caller={end}", *(["--", *words] if words else [])],
            stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.PIPE,
            pass_fds=[*files, end],
            pipesize=1 << 20,
            start_new_session=True,  # Ctrl-C reaches only Python, which sends it on once: twice would leave files
        )
        assert process.stderr is not None
        said: SimpleQueue[bytes | None] = SimpleQueue()
        reader = threading.Thread(target=_read, args=(process.stderr, said), daemon=True)
        told = _Log(progress)
        try:
            reader.start()
            if feed:
                _feed(process, feed, lambda: told.hear_all(said))
            while (line := said.get()) is not None:
                told.hear(line)
            process.wait()
        except BaseException:
            _stop(process)
            raise
        finally:
            reader.join()
            process.stderr.close()
            progress.close()
        printed.seek(0)
        return _result(command, process.returncode, printed.read(), told)


class _Lifeline:
    """A pipe whose end tells the program that this process has ended, for whatever reason."""

    def __enter__(self) -> int:
        self.ends = os.pipe()
        return self.ends[0]

    def __exit__(self, *_: object) -> None:
        for end in self.ends:
            os.close(end)


def _read(pipe: IO[bytes], said: SimpleQueue[bytes | None]) -> None:
    for line in pipe:
        said.put(line)
    said.put(None)


def _feed(process: subprocess.Popen[bytes], feed: Callable[[Sink], None], listen: Callable[[], None]) -> None:
    assert process.stdin is not None
    sink = Sink(process.stdin, listen)
    try:
        feed(sink)
    except Exception:
        if not sink.broken:
            raise
    with contextlib.suppress(BrokenPipeError):  # the program reports the reason
        process.stdin.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stops the program as Ctrl-C does, and at once on a second Ctrl-C."""
    while True:
        try:
            process.send_signal(signal.SIGINT)
            process.wait()
            break
        except KeyboardInterrupt:
            continue
    if process.stdin:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


def _result(command: str, code: int, printed: bytes, told: _Log) -> dict[str, Any]:
    try:
        answer = json.loads(printed)
    except ValueError:
        answer = {}
    if code == 0 and isinstance(answer, dict):
        return answer
    message = answer.get("error") or told.error or told.rest[-2000:].strip()
    if code < 0 and not message:
        message = f"{signal.Signals(-code).name} ended neardup; if it ran out of memory, set memory to a lower value"
    message = re.sub(r"; see neardup \w+ --help", f"; see help(neardup.{command})", message)
    raise Error(_in_words(message), code if code >= 0 else 128 - code)


def _in_words(message: str) -> str:
    """Returns a message with keyword arguments in place of flags, except in shell commands."""
    return re.sub(
        r"(neardup [a-z][^;)]*)|--([a-z][a-z0-9-]*)", lambda found: found[1] or found[2].replace("-", "_"), message
    )


class _Log:
    """The program's log, line by line."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.error, self.rest = progress, "", ""

    def hear_all(self, said: SimpleQueue[bytes | None]) -> None:
        while True:
            try:
                line = said.get_nowait()
            except Empty:
                return
            if line is None:
                said.put(None)  # for the reader that waits for the end
                return
            self.hear(line)

    def hear(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
            level, message = logging.getLevelName(entry["level"].replace("WARN", "WARNING")), entry["msg"]
        except (ValueError, TypeError, KeyError):
            self.rest += line.decode(errors="replace")
            return
        if "progress" in entry:
            self.progress.update(entry["progress"].get("fraction"), message)
        elif level == logging.ERROR:
            self.error = message  # to be raised
        else:
            self.progress.erase()
            log.log(level, _in_words(message), extra={"details": entry})


class Progress:
    """Shows progress on one line of a terminal, or as a bar in a notebook, for only one run at a time."""

    shown = threading.Lock()

    def __init__(self) -> None:
        self.show: Callable[[float | None, str], None] | None = None
        if log.getEffectiveLevel() > logging.WARNING or not self.shown.acquire(blocking=False):
            return
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        self.handle: Any = None
        if hasattr(shell, "kernel"):
            self.show = self.in_notebook
        elif sys.stderr is not None and sys.stderr.isatty():
            self.show = self.on_terminal
        else:
            self.shown.release()

    def update(self, fraction: float | None, message: str) -> None:
        if self.show:
            self.show(fraction, message)
        else:
            log.info(_in_words(message))

    def on_terminal(self, fraction: float | None, message: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        bar = "" if fraction is None else f"[{'=' * int(fraction * 20):<20}] "
        sys.stderr.write("\r" + (bar + message)[:width].ljust(width) + "\r")
        sys.stderr.flush()

    def erase(self) -> None:
        """Erases the line, for a line of the log."""
        if self.show == self.on_terminal:
            self.on_terminal(None, "")

    def in_notebook(self, fraction: float | None, message: str) -> None:
        from IPython.display import HTML, display

        value = "" if fraction is None else f' value="{fraction}"'
        bar = HTML(f"<progress{value}></progress> {message}" if message else "")
        if self.handle is None:
            self.handle = display(bar, display_id=True)
        else:
            self.handle.update(bar)

    def close(self) -> None:
        if self.show is None:
            return
        self.erase()
        if self.handle is not None:
            self.show(None, "")
        self.show = None
        self.shown.release()
