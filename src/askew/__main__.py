"""The command line as a process: streams that may fail, Ctrl-C and SIGTERM at any moment, and the
exit code.

`askew` and `python -m askew` begin here, before anything that takes time is imported.
"""

import io
import os
import signal
import sys
from typing import Any

from askew.errors import STOPPED


class TolerantStream(io.FileIO):
    """Where the bytes of a stream go. What cannot be written is dropped, and `lost` says why."""

    lost: OSError | None = None

    def write(self, data: Any) -> int:
        """Pass on, or drop: a reader that has gone stays gone, and a disk that is full is not tried
        again.
        """
        if self.lost is None:
            try:
                return super().write(data)
            except OSError as error:
                self.lost = error
        return len(data)


def main() -> None:
    """Run the command line and leave with its exit code."""
    for name in (
        "SIGTERM",
        "SIGHUP",
    ):  # of a scheduler, a container, a closed terminal; not where they are ignored
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    try:
        sys.stdout = _lasting(sys.stdout)
        sys.stderr = _lasting(sys.stderr)
        from askew.cli import run

        code = run(sys.argv[1:]) or _unwritten()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(f"askew: {STOPPED}", file=sys.stderr)
        code = 130
    if code == 130:  # at once, without waiting for threads that wait for a server
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _lasting(stream: Any) -> Any:
    """A text stream over an outlet; over nothing where there is no stream."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    try:
        outlet = TolerantStream(stream.fileno(), "w", closefd=False)
    except OSError:  # text that stays in this process cannot be lost
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
    )


def _unwritten() -> int:
    """1, and a sentence, if what was asked for could not be written; a reader that wanted no more
    is content.
    """
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if (
        not isinstance(raw, TolerantStream)
        or raw.lost is None
        or isinstance(raw.lost, BrokenPipeError)
    ):
        return 0
    print(f"askew: cannot write to standard output: {raw.lost.strerror}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    main()
