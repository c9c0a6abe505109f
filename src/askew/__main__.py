"""Entry point of the command line. This module handles stream failures, signals and the exit code.

`askew` and `python -m askew` start here, before slow imports.
"""

import io
import os
import signal
import sys
from typing import Any

from askew.errors import STOPPED


class TolerantStream(io.FileIO):
    """Output stream that drops bytes that cannot be written.

    The attribute `lost` contains the first write error.
    """

    lost: OSError | None = None

    def write(self, data: Any) -> int:
        """Write the bytes. After the first failure, all remaining bytes are dropped."""
        if self.lost is None:
            try:
                return super().write(data)
            except OSError as error:
                self.lost = error
        return len(data)


def main() -> None:
    """Run the command line, and exit with its exit code."""
    # signals of a scheduler, a container or a closed terminal, unless they are ignored
    for name in ("SIGTERM", "SIGHUP"):
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
    # end at once, without waiting for threads that wait for a server
    if code == 130:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _lasting(stream: Any) -> Any:
    """Return a stream that accepts any text, even if writing fails or `stream` is None."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    try:
        outlet = TolerantStream(stream.fileno(), "w", closefd=False)
    except OSError:  # text that stays in this process cannot be lost
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        stream.encoding,
        # a character that the encoding of a terminal or a pipe lacks is written as its number
        "backslashreplace",
        line_buffering=stream.line_buffering,
    )


def _unwritten() -> int:
    """Return exit code 0, or print an error and return 1 if output could not be written.

    A closed pipe is not an error, because the program that reads it needs no more output.
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
