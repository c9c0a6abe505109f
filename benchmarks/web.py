"""The web app with 500 runs of 200,000 images, and with a run of 1,300 images: time and memory.

The 500 runs exist only in the index and as folders with small files. The run of 1,300 images is an
audit of the planted model, which is made once. Times are CPU seconds of the server's process, of the
first and of a repeated request.

    python -m benchmarks.web
    python -m benchmarks.web --images 100 --work /tmp/web
"""

import argparse
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import askew
from askew.web.index import RunFacts, RunIndex, run_id, stamp_of
from askew.web.server import WebServer

RUNS = 500
IMAGES = 400
"""Number of synthetic runs, and of images of each."""

PLAN = 'method = "audit"\nmodel = "studio/planted"\n'
MEGABYTE = 2**20


def main() -> None:
    """Print times, sizes and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--images", type=int, default=650, help="number of images for each of two prompts"
    )
    parser.add_argument(
        "--work", type=Path, help="folder in which the run with many images is kept"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        real = make_run(work / "real", options.images)
        synthetic = Path(temporary) / "synthetic"
        fill(synthetic)
        measure_start([synthetic, real.parent])
        measure([synthetic, real.parent], real)


def make_run(folder: Path, images: int) -> Path:
    """Make an audit of two prompts, unless it exists, and return its folder."""
    run = folder / "many"
    askew.audit(
        ["a photo of a nurse", "a photo of a mechanic"],
        model="studio/planted",
        axes=["gender", "age", "ethnicity"],
        images=images,
        counterfactuals="none",
        embedder="none",
        run=run,
    )
    return run


def fill(folder: Path) -> None:
    """Make folders of synthetic runs, and an index that contains them."""
    index = RunIndex([folder], folder / ".web" / "web.sqlite")
    index.write(lambda: add_runs(index, folder))
    index.close()


def add_runs(index: RunIndex, folder: Path) -> None:
    """Make folders of synthetic runs, and add them to an index."""
    draws = random.Random(0)
    for number in range(RUNS):
        run = folder / f"run-{number:03}"
        run.mkdir(parents=True)
        (run / "plan.toml").write_text(PLAN, encoding="utf-8")
        (run / "results.json").write_text("{}", encoding="utf-8")
        facts = RunFacts(
            id=run_id(run),
            folder=run,
            state="done",
            method="audit",
            model=f"studio/planted, bias {number / RUNS:.2f}",
            prompts="\n".join(f"a photo of a nurse, number {k}" for k in range(10)),
            headline="22 of 24 images of “a photo of a nurse” are labeled female: 92 %.",
            fault="",
            images=IMAGES,
            size=MEGABYTE,
            changed=float(number),
        )
        images = [draws.randbytes(32).hex() for _ in range(IMAGES)]
        index.put(facts, stamp_of(run), images)


def measure_start(folders: list[Path]) -> None:
    """Start the command, and print the time until it prints its address and answers."""
    command = [sys.executable, "-m", "askew", "serve", *map(str, folders), "--no-browser"]
    begun = time.perf_counter()
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    match = re.search(r"http://([\d.]+):(\d+)(/\S+)", process.stdout.readline())
    assert match is not None
    connection = HTTPConnection(match[1], int(match[2]))
    connection.request("GET", match[3])
    connection.getresponse().read()
    seconds = time.perf_counter() - begun
    process.terminate()
    process.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"ready after {seconds:.2f} s ({used.ru_utime + used.ru_stime:.2f} s CPU)")


def measure(folders: list[Path], run: Path) -> None:
    """Serve the runs, and print a line for each request."""
    begun = time.process_time()
    server = WebServer(folders, port=0)
    threading.Thread(target=server.run, daemon=True).start()
    for folder in server.site.index.scan():
        server.site.index.read(folder)
    print(f"start, with one run to read: {time.process_time() - begun:.2f} s CPU")
    connection = HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", f"/?t={server.site.session.token}")
    answer = connection.getresponse()
    answer.read()
    cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]

    def request(path: str) -> bytes:
        begun = time.process_time()
        connection.request("GET", path, headers={"Cookie": cookie})
        content = connection.getresponse().read()
        seconds = time.process_time() - begun
        print(f"  {path[:60]:<62}{1000 * seconds:6.0f} ms{len(content) / 1000:9.0f} kB")
        return content

    address = f"/runs/{run_id(run)}"
    for title in ("first requests", "repeated requests"):
        print(title)
        listed = request("/")
        request("/?q=nurse&sort=name")
        request(address)
        request(f"{address}/images?axis=gender")
    shown = len(re.findall(rb'href="/runs/[0-9a-f]{16}"', listed))
    print(f"{shown} runs listed; memory of the process {memory():.0f} MB")
    server.stop()


def memory() -> float:
    """Return the resident memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


if __name__ == "__main__":
    main()
