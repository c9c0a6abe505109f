"""Handle Ctrl-C; the first Ctrl-C lets paid calls and workers finish the work in progress."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

CALLS = (
    "stopping: waiting for the calls in progress, which cost money. Press Ctrl-C again to stop "
    "immediately"
)
PARTS = (
    "stopping: waiting for the images that workers are generating. Press Ctrl-C again to stop "
    "immediately"
)


@contextmanager
def patient_interrupt(
    stop: threading.Event, tell: Callable[[str], None], sentence: str
) -> Iterator[None]:
    """Make the first Ctrl-C set the flag `stop`, and the second Ctrl-C raise KeyboardInterrupt.

    This function has no effect outside the main thread, or in a program that handles Ctrl-C itself.

    Parameters
    ----------
    stop
        Flag that ends the run.
    tell
        Function that shows the sentence when Ctrl-C is pressed for the first time.
    sentence
        Sentence that states which work the run is waiting for.
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
