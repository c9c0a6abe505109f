"""Jobs whose bucket fails in every way lose nothing, and get nothing wrong."""

from __future__ import annotations

import io
import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_share import alone, assert_equal, gather, left, share

from askew.store import bucket
from askew.store.merge import merge_all
from askew.store.pack_address import opened_packs
from askew.store.store import Store
from faulty_proxy import FAULTS, Faults, faulty

pytestmark = pytest.mark.slow

SECRET = "verysecretvalue"
KEY = "AKIAEXAMPLEKEY"


@pytest.fixture(scope="module")
def proxy() -> Iterator[Faults]:
    """Run an S3 server with the bucket `packs` behind a proxy."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    request = urllib.request.Request(f"http://{host}:{port}/packs", method="PUT")
    urllib.request.urlopen(request).close()
    with faulty(urlsplit(f"http://{host}:{port}").port or 0, seconds=3) as faults:
        yield faults
    server.stop()


@pytest.mark.parametrize("kind", ["", *FAULTS])
def test_nothing_is_lost_and_nothing_is_wrong(
    kind: str, proxy: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setattr(bucket.Bucket.__init__, "__defaults__", (60.0, 2.0))
    address = f"s3://packs/{kind or 'none'}"
    proxy.kind = kind
    proxy.share = 0.05 if kind == "hang" else 0.3
    proxy.hits = 0
    damaged = 0
    for _ in range(10):  # a pack that seems damaged at each reading is made again
        for job in ("1/2", "2/2"):
            share(address, job)
        with Store(tmp_path / "merged") as store:
            report = merge_all(opened_packs(address), store)
        damaged += len(report.damaged)
        if not (report.absent or report.damaged):
            break
    proxy.share = 0.0
    assert proxy.hits > 0 or not kind
    # only a bit that flips on the way each time is taken for damage
    assert damaged == 0 or kind == "corrupt"
    assert left(tmp_path / "merged").left == 0
    assert_equal(alone(tmp_path, "merged"), alone(tmp_path, "alone"))
    for path in opened_packs(address).paths():
        assert SECRET.encode() not in (opened_packs(address).get(path) or b"")


def test_credentials_are_in_no_log(
    proxy: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doubles import small_plan

    from askew.run.share import make_share

    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setattr(bucket.Bucket.__init__, "__defaults__", (0.1, 1.0))
    proxy.kind = ""
    log = tmp_path / "log.jsonl"
    report = make_share(small_plan(), gather, shard="1/1", packs="s3://packs/logged", log=log)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(Exception, match="has not answered") as raised:
        make_share(small_plan(), gather, shard="1/1", packs="s3://packs/logged", log=log)
    texts = io.StringIO()
    json.dump([log.read_text(), *report.lines(), str(raised.value)], texts)
    assert SECRET not in texts.getvalue()
    assert KEY not in texts.getvalue()
