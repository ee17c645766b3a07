"""Files of the Hugging Face Hub, with errors that say what to do."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from explorer.records.errors import ExplorerError

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
_TIMEOUT_SECONDS = 10
HEADS = [
    "config.json",
    "medusa_lm_head.*",
    "hydra_lm_head.*",
    "model*.safetensors",
    "model.safetensors.index.json",
]


def is_hub_id(text: str) -> bool:
    """True if `text` has the form of a Hub repository's id: `owner/repo` or `repo`."""
    return _HUB_ID.fullmatch(text) is not None and ".." not in text and "--" not in text


def cached(repo: str, filename: str) -> Path | None:
    """The file in the Hub client's own cache, or None. Uses no network."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repo, filename)
    return Path(found) if isinstance(found, str) else None


def hub_folder() -> Path:
    """Where the Hub client keeps what it downloads."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def download(repo: str, filename: str, folder: Path | None = None) -> Path:
    """The file `filename` of `repo`, in `folder` or (by default) the Hub client's own cache.

    Raises ExplorerError: no such repository or file, access refused, offline; OSError: disk full.
    """
    import huggingface_hub

    with hub_errors(repo, filename), _quiet_log():
        return Path(
            huggingface_hub.hf_hub_download(
                repo, filename, local_dir=folder, etag_timeout=_TIMEOUT_SECONDS
            )
        )


def local_heads(folder_or_repo_id: str | Path) -> Path | None:
    """The local folder itself, or None if `source` names a repository of the Hub.

    Raises ExplorerError if it can be neither.
    """
    folder = Path(folder_or_repo_id).expanduser()
    if folder.is_dir():
        return folder
    name = str(folder_or_repo_id)
    if not is_hub_id(name) or "/" not in name:
        raise ExplorerError(
            f"There is no folder {name} with heads: give an existing folder or a Hub id such as "
            "owner/name."
        )
    return None


def gguf_files(repo: str) -> list[str]:
    """Names of the GGUF files of a repository; none if the Hub cannot be reached."""
    import huggingface_hub

    try:
        with _quiet_log():
            return [n for n in huggingface_hub.list_repo_files(repo) if n.endswith(".gguf")]
    except Exception:  # offline, no such repository: the present error says so already
        return []


def heads_folder(folder_or_repo_id: str | Path) -> Path:
    """The local folder itself, or the folder of the downloaded (or cached) repository of heads.

    Raises ExplorerError: no such folder or repository, access refused, offline.
    """
    import huggingface_hub

    folder = local_heads(folder_or_repo_id)
    if folder is not None:
        return folder
    name = str(folder_or_repo_id)
    with hub_errors(name), _quiet_log():
        return Path(
            huggingface_hub.snapshot_download(
                name, allow_patterns=HEADS, etag_timeout=_TIMEOUT_SECONDS
            )
        )


@contextmanager
def hub_errors(repo: str, filename: str | None = None) -> Iterator[None]:
    """Turn what the Hub client raises into one clear sentence (ExplorerError)."""
    from huggingface_hub import errors

    what = f"{repo}:{filename}" if filename else repo
    try:
        yield
    except errors.GatedRepoError as error:
        raise ExplorerError(
            f"'{what}' is gated: accept its terms on the Hub and run 'hf auth login', or choose "
            "another model."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ExplorerError(
            f"The Hub has no repository '{repo}' that you may read: check its name, or run "
            "'hf auth login' if it is private."
        ) from error
    except errors.RemoteEntryNotFoundError as error:
        raise ExplorerError(
            f"The Hub repository '{repo}' has no file '{filename}': check the file's name."
        ) from error
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        raise ExplorerError(
            f"'{what}' is not on this machine and the Hub cannot be reached: connect to the "
            "network, or give a local file or folder."
        ) from error
    except (errors.HfHubHTTPError, errors.HFValidationError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ExplorerError(
            f"'{what}' could not be fetched from the Hub ({reason:.200}): try again later, "
            "or give a local file or folder."
        ) from error
    except OSError:
        raise  # a full disk
    except Exception as error:  # anything that breaks a transfer: sockets, TLS, the xet client
        raise ExplorerError(
            f"The download of '{what}' broke off ({error!r:.200}): try again, or give a local "
            "file or folder."
        ) from error


@contextmanager
def _quiet_log() -> Iterator[None]:
    """Hide the client's retry lines: the error that follows says enough."""
    from huggingface_hub.utils import logging

    before = logging.get_verbosity()
    if not os.environ.get("HF_HUB_VERBOSITY"):
        logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)
