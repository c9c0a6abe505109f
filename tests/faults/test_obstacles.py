"""Stopped processes, lost rights, full disks and narrow encodings give one sentence each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from askew.errors import StoreError
from askew.models.file_memory import FileDigest
from askew.run import dispatch
from askew.run.live import LiveRun
from askew.run.progress import Event
from askew.store.blobs import LocalBlobs
from askew.store.imagefile import EncodedPicture
from askew.store.locks import StoreLock
from askew.store.requests import PictureRequest
from askew.store.store import Store
from askew.types import Picture
from faults.doubles import PatternModel, small_plan
from processes import SOURCE, fork_call

NOBODY = 65_534
NO_UTF8 = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def generate(place: Path, before: Callable[[object], None] | None = None) -> list[Event]:
    """Generate the images of a small plan, and return the events."""
    plan = small_plan(4)
    events: list[Event] = []

    def receive(event: Event) -> None:
        events.append(event)
        if event.kind == "message":
            os.kill(int(event.note.split("kill -CONT ")[1].split("`")[0]), signal.SIGCONT)  # type: ignore[union-attr]

    with Store(place / "store") as store:
        run = LiveRun(place / "run", store, plan, progress=receive)
        outputs = run.pictures(PatternModel(before=before), plan.texts(), plan.images, plan.seed)
    assert all(isinstance(entry, Picture) for row in outputs.values() for entry in row)
    return events


def test_a_stopped_process_is_named_with_the_command_that_continues_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "PATIENCE", 0.3)

    def stop(requests: object) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    process = fork_call(lambda: print(len(generate(tmp_path, stop))))
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    notes = [event.note for event in generate(tmp_path) if event.kind == "message"]
    assert len(notes) == 1
    assert f"process {process.pid} is working on the same images, but is stopped" in str(notes[0])
    while process.poll() is None:  # it stops before each of its batches
        process.send_signal(signal.SIGCONT)
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads the list of locks of Linux")
@pytest.mark.parametrize(("is_stopped", "remedy"), [(True, "kill -CONT"), (False, "kill")])
def test_the_process_that_holds_the_index_is_named(
    is_stopped: bool, remedy: str, tmp_path: Path
) -> None:
    Store(tmp_path).close()

    def hold() -> None:
        with Store(tmp_path) as store, store.index.transaction():
            print("ready", flush=True)
            signal.pause()

    process = fork_call(hold)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    if is_stopped:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    with pytest.raises(StoreError) as caught, Store(tmp_path, timeout=0.1) as store:
        store.put_digests(
            {"a": FileDigest(size=1, modified=1, changed=1, inode=1, digest="0" * 64)}
        )
    with pytest.raises(StoreError, match=rf"command \(process {process.pid}\) is using the store"):
        StoreLock(tmp_path, exclusive=True)
    process.kill()
    process.wait()
    assert f"by process {process.pid} after 0.1 s" in str(caught.value)
    assert f"`{remedy} {process.pid}`" in str(caught.value)
    assert ("but is stopped" in str(caught.value)) == is_stopped


def test_a_running_process_is_named() -> None:
    assert "process 12 is working on the same images. If it hangs" in dispatch.wait_sentence(12, 5)
    assert "another process is working on the same images" in dispatch.wait_sentence(None, 5)


@pytest.mark.parametrize(
    ("setting", "command", "code"),
    [
        pytest.param({"PYTHONIOENCODING": "ascii"}, "runs rm", 0, marks=pytest.mark.slow),
        ({"LC_ALL": "C"}, "check", 2),
    ],
)
def test_an_encoding_without_a_character_shows_its_number(
    setting: Mapping[str, str], command: str, code: int, tmp_path: Path
) -> None:
    folder = tmp_path / "ç–✓"
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **NO_UTF8, **setting}
    done = subprocess.run(
        [sys.executable, "-m", "askew", *command.split(), folder],
        env=environment,
        capture_output=True,
    )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    assert (done.stdout or done.stderr).isascii()


class RightsLost(LocalBlobs):
    """A folder that may not be read after files were written."""

    def put(self, blobs: Mapping[str, bytes]) -> None:
        super().put(blobs)
        os.chmod(self.folder, 0)


def test_rights_that_are_lost_after_writing_are_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)

    def put() -> None:
        place = tmp_path / "store"
        request = PictureRequest(key="key", prompt="a nurse", seed=1, model="m")
        with Store(place, blobs=RightsLost(place / "pictures", place / "incoming")) as store:
            try:
                store.put_pictures([request], [EncodedPicture(b"image")], {})
            except StoreError as error:
                print(error)

    Store(tmp_path / "warm").close()  # a user without rights can import nothing

    def put_without_rights() -> None:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        put()

    output, errors = fork_call(put_without_rights).communicate()
    (tmp_path / "store" / "pictures").chmod(0o755)
    assert "cannot be read. Check the permissions of" in output, errors


@pytest.mark.parametrize("limit", ["size=512k", "size=9m,nr_inodes=9"])
def test_a_disk_that_is_full_when_the_index_opens(limit: str, tmp_path: Path) -> None:
    script = f"""
        mount -t tmpfs -o {limit} tmpfs {tmp_path} || exit 77
        {sys.executable} -c 'from askew.store.store import Store
import os
Store("{tmp_path}/s").close()
try:
    for number in range(20):
        open(f"{tmp_path}/{{number}}", "wb").write(bytes(2**20))
except OSError:
    pass
Store("{tmp_path}/s")'
    """
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], env=environment, capture_output=True, text=True
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this system lets nobody mount a small file system")
    assert "StoreError" in done.stderr
    assert "the disk is full. Free some space" in done.stderr.splitlines()[-1]
