"""Handling of Ctrl-C. The first Ctrl-C lets paid calls and workers finish what they have begun."""

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
    """Make the first Ctrl-C set the flag `stop`, and the second raise KeyboardInterrupt.

    The function has no effect outside the main thread, or in a program that handles Ctrl-C itself.

    Parameters
    ----------
    stop
        Flag that ends the run.
    tell
        Function called after the first Ctrl-C, with the sentence to show.
    sentence
        Sentence that states what the run is waiting for.
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
