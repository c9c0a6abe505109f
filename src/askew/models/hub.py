"""Pretrained networks: a folder on this machine or a repository on the Hugging Face Hub, and what can go wrong.

Only safetensors are loaded, and no code of a repository is run.
"""

from __future__ import annotations

import errno
import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from askew.errors import AskewError, ModelError, UsageError

WEIGHTS = ".safetensors"
READ_BY_LOADERS = (WEIGHTS, ".json", ".txt", ".jinja", ".model")
"""Suffixes of the files that decide what a network does: weights, configurations, tokenizers, chat templates."""

ANOTHER = "name a complete copy of the model, or another one"
NO_SAFETENSORS = (
    "has no weights in the safetensors format, and askew loads no other, since others can run code; choose another "
    "revision or model, or load it once where you trust it and write it again with save_pretrained"
)

NOT_FOUND = re.compile(r"(?:no file named|not find|not appear to have).*safetensors", re.S)
NO_MEMORY = re.compile(
    r"out of memory|not enough memory|can't allocate memory|invalid buffer size|CUBLAS_STATUS_ALLOC_FAILED", re.I
)
"""What PyTorch says on a CPU, on cuda and on mps."""


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A pretrained network that exists.

    name      as the user wrote it
    location  what `from_pretrained` takes: the folder, or the repository's id
    revision  the commit of a repository, to be given to `from_pretrained`; None for a folder
    identity  what changes whenever the network could: the commit, or a digest of the folder's files
    """

    name: str
    location: str
    revision: str | None
    identity: str


def find_pretrained(name: str, revision: str | None = None) -> Pretrained:
    """The folder or the repository that `name` means; a folder comes first. Downloads nothing but a list of files.

    Without a network, a repository that was downloaded before is found in the local cache. Raises UsageError for
    what does not exist, is gated, or has no safetensors, and ModelError where the Hub cannot be reached.
    """
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        if revision:
            raise UsageError(f"{name!r} is a folder, which has no revision {revision!r}: leave the revision out")
        return Pretrained(name, str(folder), None, _folder_digest(folder.resolve()))
    if name.startswith(("/", ".", "~")) or name.count("/") > 1 or not name:
        raise UsageError(f"there is no folder {name!r}: give the folder of a model, or its ID on the Hugging Face Hub")
    with explained(name):
        return Pretrained(name, name, commit := _commit(name, revision), commit)


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turns whatever goes wrong while the network `name` is found, downloaded or loaded into an error for users.

    The message is one sentence that says what is wrong and what to do next. Other errors pass as they are.
    """
    try:
        yield
    except AskewError:
        raise
    except Exception as error:
        explanation = explain(name, error)
        if explanation is None:
            raise
        raise explanation from error


@contextmanager
def loadable(name: str, library: str, part: str = "") -> Iterator[None]:
    """Whatever a library says against the files of the network `name`, or of a part of it, becomes a UsageError.

    What `explained` knows keeps its own message.
    """
    try:
        with explained(name):
            yield
    except AskewError:
        raise
    except Exception as error:  # tokenizers raises bare exceptions
        what = f"the {part} of {name!r}" if part else repr(name)
        first = str(error).strip().partition("\n")[0]
        raise UsageError(f"{what} cannot be loaded by {library} ({first}): {ANOTHER}") from error


def explain(name: str, error: BaseException) -> AskewError | None:
    """What an exception of the Hub's client, of a loader or of the machine means to a user; None if nothing known."""
    for cause in _causes(error):
        found = _refused(name, cause) or _failed(name, cause)
        if found is not None:
            return found
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory, of the machine or of its GPU, did not suffice."""
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(NO_MEMORY.search(str(error))))


def _refused(name: str, error: BaseException) -> UsageError | None:
    """The request cannot be met as it is. The more special exceptions come first: some derive from others."""
    from huggingface_hub import errors

    text = str(error)
    if isinstance(error, errors.GatedRepoError):
        return UsageError(
            f"{name!r} is gated: accept its terms at https://huggingface.co/{name} and log in with `hf auth login`"
        )
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        return UsageError(
            f"there is no {name!r}, neither a folder here nor a public repository on the Hugging Face Hub: check the "
            f"spelling at https://huggingface.co/models, or log in with `hf auth login` if it is private"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return UsageError(
            f"{name!r} has no such revision: see https://huggingface.co/{name}/tree/main for those it has"
        )
    if "trust_remote_code" in text:
        return UsageError(
            f"{name!r} runs only with code of its own repository, and askew runs none: choose a model that the "
            f"installed transformers or diffusers knows by itself"
        )
    if isinstance(error, OSError | ValueError) and NOT_FOUND.search(text):
        return UsageError(f"{name!r} {NO_SAFETENSORS}")
    if isinstance(error, ImportError):
        return UsageError(f"{name!r} needs a package that is not installed: {_lacking_package(error)}")
    return None


def _failed(name: str, error: BaseException) -> ModelError | None:
    """The request was right, the network or the machine was not."""
    from huggingface_hub import errors

    classes = {kind.__name__ for kind in type(error).__mro__}
    if (
        isinstance(error, errors.LocalEntryNotFoundError | ConnectionError | TimeoutError)
        or "TransportError" in classes
    ):
        return ModelError(
            f"{name!r} is not on this machine and the Hugging Face Hub cannot be reached: connect to the network "
            f"(and unset HF_HUB_OFFLINE), or name the folder of a copy"
        )
    if is_out_of_memory(error):
        return ModelError(
            f"there is not enough memory for {name!r}: close other programs, or choose a smaller model or batch"
        )
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return ModelError(f"the disk is full while {name!r} is downloaded: make room, or move the cache with HF_HOME")
    if "SafetensorError" in classes:
        return ModelError(f"the weights of {name!r} are damaged: delete them and download them again ({error})")
    if isinstance(error, errors.HfHubHTTPError):
        return ModelError(f"the Hugging Face Hub did not give {name!r}; try again later ({str(error).splitlines()[0]})")
    return None


def _lacking_package(error: ImportError) -> str:
    """How to install it, as far as an import error tells."""
    required = re.search(r"requires the (?:🤗 )?(\S+) library|pip install (?:-\S+ )*([\w.-]+)", str(error))
    package = next((part for part in required.groups() if part), "") if required else error.name or ""
    return f"pip install {package.lower()}" if package else str(error).strip().partition("\n")[0]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exceptions that led to `error`, the first one first, and `error` itself."""
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None and before not in chain:
        chain.append(before)
    return reversed(chain)


def _commit(name: str, revision: str | None) -> str:
    """The commit that a revision (the default branch if None) means now, or meant at the last download."""
    from huggingface_hub import HfApi

    commit = HfApi().resolve_revision(name, revision=revision).resolved
    if not any(file.endswith(WEIGHTS) for file in files_at(name, commit)):
        raise UsageError(f"{name!r} {NO_SAFETENSORS}")
    return commit


def fetch(network: Pretrained, files: Callable[[str], bool]) -> Path:
    """The folder in which a network's files lie. Those of a repository for which `files` holds are downloaded first."""
    from huggingface_hub import snapshot_download

    if network.revision is None:
        return Path(network.location)
    wanted = [name for name in files_at(network.location, network.revision) if files(name)]
    with explained(network.name), bars_on_a_terminal_alone():
        return Path(snapshot_download(network.location, revision=network.revision, allow_patterns=wanted))


@contextmanager
def bars_on_a_terminal_alone() -> Iterator[None]:
    """Downloads show how far they are where a person can see it, and stay out of logs."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if sys.stderr.isatty() or are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


@lru_cache
def files_at(name: str, commit: str) -> tuple[str, ...]:
    """The files of a repository at a commit; without a network, those that were downloaded before, weights among them.

    Raises ModelError if neither can be had: a dry run leaves small files alone in the cache.
    """
    from huggingface_hub import snapshot_download

    try:
        return files_listed(name, commit)
    except ModelError:
        with explained(name):
            found = files_below(Path(snapshot_download(name, revision=commit, local_files_only=True)))
        if not any(file.endswith(WEIGHTS) for file in found):
            raise
        return found


def files_listed(name: str, commit: str) -> tuple[str, ...]:
    """The files of a repository at a commit, as the Hub lists them now. Raises ModelError if it does not."""
    from huggingface_hub import HfApi

    with explained(name):  # unlike list_repo_files, this does not try for half a minute where there is no network
        return tuple(found.rfilename for found in HfApi().model_info(name, revision=commit).siblings or ())


def files_below(folder: Path) -> tuple[str, ...]:
    """All files in a folder, as paths with slashes, sorted."""
    return tuple(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()))


def _folder_digest(folder: Path) -> str:
    """A digest of all files that a loader may read. Raises UsageError if there are no safetensors among them."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in READ_BY_LOADERS and path.is_file())
    if not any(path.suffix == WEIGHTS for path in files):
        raise UsageError(f"{str(folder)!r} {NO_SAFETENSORS}")
    digest = hashlib.sha256()
    for path in files:
        facts = path.stat()
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(_file_digest(path, facts.st_size, facts.st_mtime_ns))
    return digest.hexdigest()[:16]


@lru_cache
def _file_digest(path: Path, size: int, changed: int) -> bytes:
    """SHA-256 of a file, remembered until its size or time of change is another."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
