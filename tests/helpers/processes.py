"""What the system says of other processes, in a way that Linux and macOS share."""

import subprocess


def children_of(pid: int) -> list[int]:
    """Return the ids of the child processes of a process."""
    listed = _ps("-ax", "-o", "pid=,ppid=")
    pairs = (tuple(map(int, line.split())) for line in listed.splitlines())
    return [child for child, parent in pairs if parent == pid]


def is_running(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    state = _ps("-o", "stat=", "-p", str(pid)).strip()
    return bool(state) and not state.startswith("Z")


def command_line(pid: int) -> str:
    """Return the command line of a process."""
    return _ps("-ww", "-o", "command=", "-p", str(pid)).strip()


def _ps(*options: str) -> str:
    # A process that has ended is not an error here: ps then exits with 1 and prints nothing.
    return subprocess.run(["ps", *options], capture_output=True, text=True, check=False).stdout
