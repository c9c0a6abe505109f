"""Pretrained networks in folders and Hugging Face Hub repositories, and error messages.

askew loads only safetensors files, and does not run code from a repository.
"""

import errno
import hashlib
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from askew.errors import AskewError, ModelError, UsageError

WEIGHTS = ".safetensors"
SMALL = (".json", ".txt", ".jinja", ".model")
"""Suffixes of small files that affect a network, such as configurations and tokenizers."""

CARD = "README.md"

ANOTHER = "give a complete copy of the model, or choose another model"
NO_SAFETENSORS = (
    "has no weights in the safetensors format, and askew loads no other format, because other "
    "formats can run code; choose another revision or model or, if you trust the "
    "model, load it elsewhere and save it with save_pretrained"
)

NO_MEMORY = re.compile(
    r"out of memory|not enough memory|can't allocate memory|invalid buffer size"
    r"|CUBLAS_STATUS_ALLOC_FAILED",
    re.I,
)
"""Pattern that matches PyTorch's out-of-memory messages on a CPU, on CUDA and on MPS."""

REQUIRED_PACKAGE = re.compile(r"requires the (?:🤗 )?(\S+) library|pip install (?:-\S+ )*([\w.-]+)")
"""Pattern that matches a library's error messages that name a package to install."""

USER_ERRORS = {
    "code": "{name!r} needs code from its repository, and askew does not run such code; choose "
    "a model that the installed transformers or diffusers supports",
    "nowhere": "there is no {name!r}: it is neither a folder on this machine nor a public "
    "repository on the Hugging Face Hub; check the spelling at https://huggingface.co/models, or "
    "log in with `hf auth login` if it is private",
    "gated": "{name!r} is gated; accept its terms at https://huggingface.co/{name} and log in with "
    "`hf auth login`",
    "revision": "{name!r} has no such revision; see https://huggingface.co/{name}/tree/main for "
    "its revisions",
    "package": "{name!r} needs a package that is not installed: {error}",
}
"""Messages for errors that a user can correct (UsageError), for each kind of error."""

MACHINE_ERRORS = {
    "memory": "there is not enough memory for {name!r}; close other programs, or choose a smaller "
    "model or batch",
    "disk": "the disk became full while {name!r} was being downloaded; free some space, or move "
    "the cache with HF_HOME",
    "offline": "{name!r} is not on this machine, and the Hugging Face Hub cannot be reached; "
    "connect to the network (and unset HF_HUB_OFFLINE), or give the folder of a copy",
    "damaged": "the weights of {name!r} are damaged; delete them and download them again ({error})",
    "hub": "the Hugging Face Hub did not provide {name!r}; try again later ({error})",
}
"""Messages for errors caused by the machine or its internet connection (ModelError)."""

CAUSES = {
    "GatedRepoError": "gated",
    "RepositoryNotFoundError": "nowhere",
    "HFValidationError": "nowhere",
    "RevisionNotFoundError": "revision",
    "ImportError": "package",
    "LocalEntryNotFoundError": "offline",
    "ConnectionError": "offline",
    "TimeoutError": "offline",
    "TransportError": "offline",
    "SafetensorError": "damaged",
    "HfHubHTTPError": "hub",
}
"""Kind of error, keyed by the class name of a library's exception."""


@dataclass(frozen=True, slots=True)
class Pretrained:
    """Pretrained network in a folder or a repository.

    Attributes
    ----------
    name
        Name of the network as the user wrote it.
    folder
        Folder that contains the network's small files. This folder belongs to the user, or to the
        cache of the Hub's client.
    files
        Paths of all files of the network, relative to the folder, with slashes as separators.
    identity
        Text that changes when the network changes: the commit, or a digest of the folder's files.
    on_hub
        True if the network is in a repository on the Hub. The weights may not have been downloaded
        yet.
    """

    name: str
    folder: Path
    files: tuple[str, ...]
    identity: str
    on_hub: bool

    def is_here(self, files: Collection[str]) -> bool:
        """Check whether `files` are on this machine, without a request to the Hub."""
        if not self.on_hub:
            return True
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            folder = _snapshot(self.name, self.identity, list(files), local_files_only=True)
        except LocalEntryNotFoundError:
            return False
        return all((folder / file).exists() for file in files)

    def fetch(self, files: Iterable[str]) -> Path:
        """Download `files` if they are missing, and return the folder that contains them.

        Raises
        ------
        ModelError
            If the files cannot be downloaded.
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
                # Without a network this request fails at once, a download only after 24 s.
                HfApi().model_info(self.name)
                return _snapshot(self.name, self.identity, wanted)


def find_pretrained(
    name: str, revision: str | None = None, *, needs_weights: bool = True
) -> Pretrained:
    """Find a network: the folder with this name or, if there is no such folder, the repository.

    Only small files are downloaded. Without an internet connection, askew can use only repositories
    in the local cache.

    Parameters
    ----------
    name
        Folder, or ID of a repository.
    revision
        Branch, tag or commit of a repository.
    needs_weights
        If false, a network that has only configuration files and no weights is accepted.

    Raises
    ------
    UsageError
        If the network does not exist, is gated, or has no safetensors files.
    ModelError
        If the Hub cannot be reached.
    """
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        if revision:
            raise UsageError(
                f"{name!r} is a folder and has no revision {revision!r}; omit -M revision"
            )
        network = _find_in_folder(name, folder)
    elif name.startswith(("/", ".", "~")) or name.count("/") > 1 or not name:
        raise UsageError(
            f"there is no folder {name!r}; give the folder of a model, or its ID on the Hugging "
            "Face Hub"
        )
    else:
        network = _find_on_hub(name, revision)
    if needs_weights and not any(file.endswith(WEIGHTS) for file in network.files):
        raise UsageError(f"{name!r} {NO_SAFETENSORS}")
    return network


def _find_in_folder(name: str, folder: Path) -> Pretrained:
    """Return a description of the network in a folder.

    The network's identity is a digest of the relevant files.
    """
    files = _files_below(folder)
    digest = hashlib.sha256()
    for file in files:
        if file.endswith((WEIGHTS, *SMALL)):
            facts = (folder / file).stat()
            content = _file_digest(folder.resolve() / file, facts.st_size, facts.st_mtime_ns)
            digest.update(file.encode() + b"\0" + content)
    return Pretrained(
        name=name, folder=folder, files=files, identity=digest.hexdigest()[:16], on_hub=False
    )


def _find_on_hub(name: str, revision: str | None) -> Pretrained:
    """Download the small files of a repository, and return a description of its network."""
    from huggingface_hub import get_cached_repo_tree
    from huggingface_hub.errors import CachedRepoTreeNotFoundError

    with explain_errors(name):
        patterns = [f"*{suffix}" for suffix in SMALL]
        folder = _snapshot(name, revision, [*patterns, CARD])
        try:
            tree = get_cached_repo_tree(name, revision=folder.name)
            files = tuple(sorted(file.path for file in tree))
        except CachedRepoTreeNotFoundError:
            # An older client downloaded it, and the Hub cannot be asked without a network.
            files = _files_below(folder)
    return Pretrained(name=name, folder=folder, files=files, identity=folder.name, on_hub=True)


def file_state(name: str, revision: str | None = None) -> object:
    """Return a value that changes when a network's files change.

    The value is computed without reading the files.
    """
    path = Path(name).expanduser()
    if not name or not path.exists():
        return find_pretrained(name, revision).identity
    state = []
    for file in _files_below(path) if path.is_dir() else [""]:
        facts = (path / file).stat()
        state.append((file, facts.st_size, facts.st_mtime_ns))
    return state


def _snapshot(
    name: str, revision: str | None, files: list[str], *, local_files_only: bool = False
) -> Path:
    """Download the files that match the patterns in `files`, and return their folder in the cache.

    Progress bars appear only in a terminal, not in logs.
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


def digest_of_file(path: Path) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a file."""
    facts = path.stat()
    return _file_digest(path.resolve(), facts.st_size, facts.st_mtime_ns).hex()[:16]


@lru_cache
def _file_digest(path: Path, size: int, changed: int) -> bytes:
    """Return the SHA-256 of a file.

    The digest is cached until the file's size or modification time changes.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


@contextmanager
def explain_errors(name: str, library: str = "", part: str = "") -> Iterator[None]:
    """Convert library exceptions raised in this context into user-facing errors.

    The messages state what is wrong and what to do.

    Parameters
    ----------
    name
        Name of the network that is found, downloaded or loaded in the context.
    library
        Library that loads the network. If a library is given, unknown exceptions are also converted
        to UsageError. If no library is given, unknown exceptions are raised unchanged.
    part
        Part of the network that is loaded.
    """
    try:
        yield
    except AskewError:
        raise
    # tokenizers raises bare exceptions.
    except Exception as error:
        explanation = _explanation(error, name)
        if explanation is not None:
            raise explanation from error
        if not library:
            raise
        subject = f"the {part} of {name!r}" if part else repr(name)
        raise UsageError(
            f"{subject} cannot be loaded by {library} ({_first_line(error)}); {ANOTHER}"
        ) from error


def _explanation(error: BaseException, name: str) -> AskewError | None:
    """Return a user-facing error; None if neither the exception nor its causes are known."""
    for cause in reversed(_causes(error)):
        key = _known_error(cause)
        if key in USER_ERRORS:
            return UsageError(USER_ERRORS[key].format(name=name, error=_first_line(cause)))
        if key is not None:
            return ModelError(MACHINE_ERRORS[key].format(name=name, error=_first_line(cause)))
    return None


def _causes(error: BaseException) -> list[BaseException]:
    """Return an exception followed by the chain of its causes."""
    chain = [error]
    while True:
        cause = chain[-1].__cause__ or chain[-1].__context__
        if cause is None or cause in chain:
            return chain
        chain.append(cause)


def is_out_of_memory(error: BaseException) -> bool:
    """Check whether an exception was raised because the machine or its GPU ran out of memory."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and bool(NO_MEMORY.search(str(error)))
    )


def _known_error(error: BaseException) -> str | None:
    """Return an exception's key in `USER_ERRORS` or `MACHINE_ERRORS`; None if it has no key."""
    if "trust_remote_code" in str(error):
        return "code"
    if is_out_of_memory(error):
        return "memory"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "disk"
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((CAUSES[name] for name in names if name in CAUSES), None)


def _first_line(error: BaseException) -> str:
    """Return an exception's first line, or the command that installs a missing package."""
    first = str(error).strip().partition("\n")[0]
    if not isinstance(error, ImportError):
        return first
    required = REQUIRED_PACKAGE.search(str(error))
    package = next(filter(None, required.groups())) if required else error.name
    return f"pip install {package.lower()}" if package else first
