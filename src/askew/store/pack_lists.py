"""Lists of the packs that runs need. `askew merge` uses these lists to find missing packs."""

import json
from collections.abc import Sequence

from askew.store.files import digest_of
from askew.store.foreign import json_value
from askew.store.pack_storage import PLANS, PackStorage

ATTEMPTS = 4
"""Number of times that askew tries to read a file that seems damaged.

The damage may have occurred during the transfer.
"""


def write_list(packs: PackStorage, plan_hash: str, number: int, paths: Sequence[str]) -> None:
    """Write the list of packs that one round of a run needs, unless the list already exists."""
    content = {"plan": plan_hash, "round": number, "packs": list(paths)}
    text = json.dumps({**content, "sha256": digest_of(content)}, indent=0)
    packs.put(f"{PLANS}/{plan_hash}-{number}.json", text.encode("ascii"))


def read_list(packs: PackStorage, path: str) -> list[str] | None:
    """Return the paths of packs in a list; None if the list is damaged."""
    for _ in range(ATTEMPTS):
        try:
            content = json_value(packs.get(path) or b"{}")
        except ValueError:
            continue
        if isinstance(content, dict) and content.pop("sha256", None) == digest_of(content):
            return list(content["packs"])
    return None
