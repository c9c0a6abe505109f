"""Studies without runs, a served study, and raters that send requests as a browser does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import raw_requests
from askew.people.assignment import assign, checks_for, repeated, with_new_links
from askew.people.folder import IMAGES, StudyFolder
from askew.people.rating.server import Address, StudyServer
from askew.people.records import (
    CANNOT_TELL,
    PREFER_NOT,
    SPECIAL_ANSWERS,
    ExclusionRules,
    FrameEntry,
    Item,
    StudyAxis,
    StudyPlan,
)
from askew.store.files import sha256
from askew.store.imagefile import EncodedPicture, encode
from image_collections import noise_image
from raw_requests import Answer

GENDER = StudyAxis("gender", ("male", "female"), "nominal", "How do viewers describe the person?")


def plan_of(raters: int, per_item: int, **changes: object) -> StudyPlan:
    fields: dict[str, object] = {
        "kind": "label",
        "version": 1,
        "title": "A study of images",
        "purpose": "We study images.",
        "contact": "ann@example.org",
        "retention": "for a month",
        "instruction": "Answer the questions.",
        "seed": 0,
        "raters": raters,
        "raters_per_item": per_item,
        "axes": (GENDER,),
        "rules": ExclusionRules(),
        "sources": (),
    }
    return StudyPlan(**{**fields, **changes})  # type: ignore[arg-type]


def label_items(digests: Sequence[str], axis: StudyAxis = GENDER) -> list[Item]:
    return [
        Item(
            id=f"i{number:05d}",
            role="item",
            question=axis.question,
            options=axis.values,
            special=(CANNOT_TELL, PREFER_NOT),
            groups=((digest,),),
            axis=axis.name,
            scale=axis.scale,
        )
        for number, digest in enumerate(digests, 1)
    ]


def write_folder(
    path: Path,
    items: Sequence[Item],
    frame: Sequence[FrameEntry] = (),
    raters: int = 3,
    per_item: int = 3,
    **changes: object,
) -> StudyFolder:
    """Write a study folder with these items, with links for all raters."""
    folder = StudyFolder(path)
    path.mkdir(parents=True, exist_ok=True)
    checks = checks_for(items[0], SPECIAL_ANSWERS)
    repeats = [repeated(item) for item in items]
    plan = plan_of(raters, per_item, **changes)
    records = assign(items, checks, raters, per_item, plan.seed)
    used = {name for record in records for name in record.items}
    every_item = [item for item in (*items, *checks, *repeats) if item.id in used]
    folder.write_items(every_item, frame)
    folder.write_plan(plan)
    folder.write_raters(records)
    return StudyFolder.opened(path)


def small_study(path: Path, images: int = 12, raters: int = 3) -> StudyFolder:
    """Write a label study of noise images."""
    (path / IMAGES).mkdir(parents=True)
    digests = []
    for number in range(images):
        encoded = encode(noise_image(number))
        assert isinstance(encoded, EncodedPicture)
        digests.append(sha256(encoded.data))
        (path / IMAGES / f"{digests[-1]}.png").write_bytes(encoded.data)
    frame = [
        FrameEntry(
            id=digest,
            prompt="a photo of a nurse",
            set="initial",
            labels={"gender": {"clip/secret-model": "female" if number % 3 else "male"}},
            strata={"gender": "female" if number % 3 else "male"},
        )
        for number, digest in enumerate(digests)
    ]
    return write_folder(path, label_items(digests), frame, raters)


def links_of(folder: StudyFolder) -> dict[str, str]:
    """Give all raters new links, and return their secrets."""
    raters, tokens = with_new_links(folder.raters(), [rater.id for rater in folder.raters()])
    folder.write_raters(raters)
    return tokens


@dataclass
class RaterClient:
    """A client of a served study."""

    server: StudyServer

    @property
    def host(self) -> str:
        return self.server.url.partition("://")[2]

    def send(self, method: str, path: str, body: bytes = b"", **headers: str | None) -> Answer:
        """Send a request. A header that is None is left out."""
        usual: dict[str, str | None] = {"Sec-Fetch-Site": "same-origin"}
        if method == "POST":
            usual["Origin"] = "null"
        return raw_requests.send(self.host, method, path, body, usual, headers)

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.send("GET", path, **headers)

    def post(
        self, path: str, fields: dict[str, str] | None = None, **headers: str | None
    ) -> Answer:
        return self.send("POST", path, urlencode(fields or {}).encode(), **headers)


@contextmanager
def served(folder: StudyFolder) -> Iterator[RaterClient]:
    """Serve a study until the context ends."""
    server = StudyServer(folder, Address(port=0))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield RaterClient(server)
    finally:
        server.stop()
        thread.join(10)
