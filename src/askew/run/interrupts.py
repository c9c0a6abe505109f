"""Ctrl-C while calls that cost money, or several workers, are busy: the first one waits for them."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

CALLS = "stopping: waiting for the calls in progress, which are paid. Press Ctrl-C again to stop at once"
PARTS = (
    "stopping: waiting for the images that workers have begun. Press Ctrl-C again to stop at once"
)


@contextmanager
def patient_interrupt(
    stop: threading.Event, tell: Callable[[str], None], sentence: str
) -> Iterator[None]:
    """Let the first Ctrl-C set `stop`; a second one raises KeyboardInterrupt.

    Nothing changes outside of the main thread, or in a program that handles the signal itself.

    Parameters
    ----------
    stop
        The flag.
    tell
        Receives the sentence after the first Ctrl-C.
    sentence
        What the run waits for.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop.set()
        tell(sentence)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
