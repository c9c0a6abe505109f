"""Pretrained networks: a folder on this machine or a repository on the Hugging Face Hub, and what
can go wrong.

Only safetensors are loaded, and no code of a repository is run.
"""

import errno
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from askew.errors import AskewError, ModelError, UsageError

WEIGHTS = ".safetensors"
SMALL = (".json", ".txt", ".jinja", ".model")
"""Suffixes of what decides, besides the weights, what a network does: configurations, tokenizers,
chat templates.
"""

CARD = "README.md"

ANOTHER = "name a complete copy of the model, or another one"
NO_SAFETENSORS = (
    "has no weights in the safetensors format, and askew loads no other, since others can run code; choose another "
    "revision or model, or load it once where you trust it and write it again with save_pretrained"
)

NO_MEMORY = re.compile(
    r"out of memory|not enough memory|can't allocate memory|invalid buffer size|CUBLAS_STATUS_ALLOC_FAILED",
    re.I,
)
"""What PyTorch says on a CPU, on cuda and on mps."""

OF_USERS = {
    "code": "{name!r} runs only with code of its own repository, and askew runs none: choose a model that the "
    "installed transformers or diffusers knows by itself",
    "nowhere": "there is no {name!r}, neither a folder here nor a public repository on the Hugging Face Hub: check the"
    " spelling at https://huggingface.co/models, or log in with `hf auth login` if it is private",
    "gated": "{name!r} is gated: accept its terms at https://huggingface.co/{name} and log in with `hf auth login`",
    "revision": "{name!r} has no such revision: see https://huggingface.co/{name}/tree/main for those it has",
    "package": "{name!r} needs a package that is not installed: {error}",
}
OF_MACHINES = {
    "memory": "there is not enough memory for {name!r}: close other programs, or choose a smaller model or batch",
    "disk": "the disk is full while {name!r} is downloaded: make room, or move the cache with HF_HOME",
    "offline": "{name!r} is not on this machine and the Hugging Face Hub cannot be reached: connect to the network "
    "(and unset HF_HUB_OFFLINE), or name the folder of a copy",
    "damaged": "the weights of {name!r} are damaged: delete them and download them again ({error})",
    "hub": "the Hugging Face Hub did not give {name!r}; try again later ({error})",
}
"""What can be wrong with a network, in the hands of users (UsageError) and of machines
(ModelError).
"""

KINDS = dict(
    pair.split("=")
    for pair in "GatedRepoError=gated RepositoryNotFoundError=nowhere HFValidationError=nowhere "
    "RevisionNotFoundError=revision ImportError=package LocalEntryNotFoundError=offline ConnectionError=offline "
    "TimeoutError=offline TransportError=offline SafetensorError=damaged HfHubHTTPError=hub".split()
)
"""Which of these an exception of the Hub's client, of a loader or of the network is, by the name of
its class.
"""


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A pretrained network that exists.

    name      as the user wrote it
    folder    where its small files lie: the user's folder, or one in the cache of the Hub's client
    files     all its files, as paths with slashes
    identity  what changes whenever the network could: the commit, or a digest of the folder's files
    on_hub    whether it is a repository, whose weights may not be here yet
    """

    name: str
    folder: Path
    files: tuple[str, ...]
    identity: str
    on_hub: bool

    def fetch(self, files: Iterable[str]) -> Path:
        """Its folder, in which `files` lie from now on. Raises ModelError if they cannot be
        downloaded.
        """
        if not self.on_hub:
            return self.folder
        from huggingface_hub import HfApi
        from huggingface_hub.errors import LocalEntryNotFoundError

        wanted = list(files)
        with explain_errors(self.name):
            try:
                return _snapshot(self.name, self.identity, wanted, local_files_only=True)
            except LocalEntryNotFoundError:
                HfApi().model_info(
                    self.name
                )  # without a network this fails at once, a download after 24 s
                return _snapshot(self.name, self.identity, wanted)


def find_pretrained(name: str, revision: str | None = None) -> Pretrained:
    """The folder or the repository that `name` means; a folder comes first. Downloads small files
    alone.

    Without a network, a repository that was downloaded before is found in the local cache. Raises
    UsageError for what does not exist, is gated, or has no safetensors, and ModelError where the
    Hub cannot be reached.
    """
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        if revision:
            raise UsageError(
                f"{name!r} is a folder, which has no revision {revision!r}: leave the revision out"
            )
        files = _files_below(folder)
        digest = hashlib.sha256()
        for file in files:
            if file.endswith((WEIGHTS, *SMALL)):
                facts = (folder / file).stat()
                own = _file_digest(folder.resolve() / file, facts.st_size, facts.st_mtime_ns)
                digest.update(file.encode() + b"\0" + own)
        found = Pretrained(name, folder, files, digest.hexdigest()[:16], on_hub=False)
    elif name.startswith(("/", ".", "~")) or name.count("/") > 1 or not name:
        raise UsageError(
            f"there is no folder {name!r}: give the folder of a model, or its ID on the Hugging Face Hub"
        )
    else:
        from huggingface_hub import get_cached_repo_tree
        from huggingface_hub.errors import CachedRepoTreeNotFoundError

        with explain_errors(name):
            folder = _snapshot(name, revision, [*(f"*{suffix}" for suffix in SMALL), CARD])
            try:
                files = tuple(
                    sorted(file.path for file in get_cached_repo_tree(name, revision=folder.name))
                )
            except (
                CachedRepoTreeNotFoundError
            ):  # downloaded by an older client, and there is no network to ask
                files = _files_below(folder)
        found = Pretrained(name, folder, files, folder.name, on_hub=True)
    if not any(file.endswith(WEIGHTS) for file in found.files):
        raise UsageError(f"{name!r} {NO_SAFETENSORS}")
    return found


def file_state(name: str, revision: str | None = None) -> object:
    """What changes whenever the files of the network `name` do. Those of a folder are not read."""
    path = Path(name).expanduser()
    if not name or not path.exists():
        return find_pretrained(name, revision).identity
    return [
        (file, facts.st_size, facts.st_mtime_ns)
        for file in _files_below(path)
        if (facts := (path / file).stat())
    ]


def _snapshot(
    name: str, revision: str | None, files: list[str], *, local_files_only: bool = False
) -> Path:
    """The cache's folder of a repository, with the files that fit these patterns; no progress bars
    in logs.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    with nullcontext() if sys.stderr.isatty() else disable_progress_bars():
        return Path(
            snapshot_download(
                name, revision=revision, allow_patterns=files, local_files_only=local_files_only
            )
        )


def _files_below(folder: Path) -> tuple[str, ...]:
    return tuple(
        path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()
    )


@lru_cache
def _file_digest(path: Path, size: int, changed: int) -> bytes:
    """SHA-256 of a file, remembered until its size or time of change is another."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


@contextmanager
def explain_errors(name: str, library: str = "", part: str = "") -> Iterator[None]:
    """Turns what goes wrong while the network `name` is found, downloaded or loaded into an error
    for users.

    The message is one sentence that says what is wrong and what to do next. With the name of a
    `library`, whatever else it says against the files of the network, or of a part of it, becomes a
    UsageError; without, it passes.
    """
    try:
        yield
    except AskewError:
        raise
    except Exception as error:  # tokenizers raises bare exceptions
        chain: list[BaseException] = [error]
        while (
            before := chain[-1].__cause__ or chain[-1].__context__
        ) is not None and before not in chain:
            chain.append(before)
        for cause in reversed(chain):
            meaning = _meaning(cause)
            if meaning:
                kind, sentences = (
                    (UsageError, OF_USERS) if meaning in OF_USERS else (ModelError, OF_MACHINES)
                )
                raise kind(sentences[meaning].format(name=name, error=_told(cause))) from error
        if not library:
            raise
        what = f"the {part} of {name!r}" if part else repr(name)
        raise UsageError(
            f"{what} cannot be loaded by {library} ({_told(error)}): {ANOTHER}"
        ) from error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory, of the machine or of its GPU, did not suffice."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and bool(NO_MEMORY.search(str(error)))
    )


def _meaning(error: BaseException) -> str | None:
    """Which of `OF_USERS` and `OF_MACHINES` an exception is."""
    if "trust_remote_code" in str(error):
        return "code"
    if is_out_of_memory(error):
        return "memory"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "disk"
    return next(
        (KINDS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in KINDS), None
    )


def _told(error: BaseException) -> str:
    """The first line of what an exception says, or how to install the package that it misses."""
    first = str(error).strip().partition("\n")[0]
    if not isinstance(error, ImportError):
        return first
    required = re.search(
        r"requires the (?:🤗 )?(\S+) library|pip install (?:-\S+ )*([\w.-]+)", str(error)
    )
    package = next(filter(None, required.groups())) if required else error.name
    return f"pip install {package.lower()}" if package else first
