"""A server that is killed after each answer, or while it stores an answer, loses and doubles nothing."""

from __future__ import annotations

import gc
import http.client
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from askew.people.folder import IMAGES, StudyFolder
from askew.people.rating.server import Address, StudyServer
from study_folders import RaterClient, label_items, links_of, write_folder

ANSWERS = 200


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    """Return a study in which the only rater has 200 questions or more."""
    items = label_items([f"{number:064x}" for number in range(ANSWERS)])
    (tmp_path / "study" / IMAGES).mkdir(parents=True)
    return write_folder(tmp_path / "study", items, raters=1, per_item=1)


@contextmanager
def forked(server: StudyServer) -> Iterator[int]:
    """Run a server in a fork of this process, which has imported it, and kill it at the end."""
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            server.run()
        finally:
            os._exit(1)
    try:
        yield process
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


@pytest.mark.slow
def test_no_acknowledged_answer_is_lost_when_the_server_is_killed_200_times(
    study: StudyFolder,
) -> None:
    link = f"/s/{links_of(study)['r001']}"
    study.consent("r001")
    items = study.raters()[0].items[:ANSWERS]
    server = StudyServer(study, Address(port=0))
    client = RaterClient(server)
    moments = random.Random(7)
    unanswered = 0
    gc.freeze()
    for number, item in enumerate(items):
        fields = {"answer": study.items[item].options[number % 2]}
        if number % 4 == 1:
            unanswered += not was_answered(server, client, link, item, fields, moments)
        with forked(server):
            reply = client.post(f"{link}/{item}", fields)
            assert reply.status == 303, number
        # read from the disk, as a new server does
        stored = StudyFolder(study.path).answers()
        assert stored["r001", item].answer == (fields["answer"],), number
    gc.unfreeze()
    assert unanswered >= 10
    folder = StudyFolder.opened(study.path)
    given = folder.answers()
    assert [given["r001", item].answer[0] for item in items] == [
        folder.items[item].options[number % 2] for number, item in enumerate(items)
    ]
    assert len(given) == ANSWERS


def was_answered(
    server: StudyServer,
    client: RaterClient,
    link: str,
    item: str,
    fields: dict[str, str],
    moments: random.Random,
) -> bool:
    """Send an answer to a server that is killed at a random moment. Return whether it replied."""
    connection = http.client.HTTPConnection(client.host, timeout=60)
    with forked(server) as process:
        body = f"answer={fields['answer']}"
        headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request("POST", f"{link}/{item}", body, headers)
        time.sleep(moments.uniform(0, 0.06))
        os.kill(process, signal.SIGKILL)
        # the next server may accept a connection that this server did not accept
        connection.sock.settimeout(0.05)
        try:
            return connection.getresponse().status == 303
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
