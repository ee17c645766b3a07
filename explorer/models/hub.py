"""Heads from the Hugging Face Hub, with errors that say what to do."""

from __future__ import annotations

from pathlib import Path

from explorer.errors import ExplorerError

_WANTED = ["config.json", "medusa_lm_head.*", "model*.safetensors", "model.safetensors.index.json"]


def fetch_heads(folder_or_repo_id: str | Path) -> Path:
    """The local folder itself, or the folder of the downloaded (or cached) Hub repo."""
    folder = Path(folder_or_repo_id).expanduser()
    if folder.is_dir():
        return folder
    name = str(folder_or_repo_id)
    if not is_repo_id(name):
        raise ExplorerError(
            f"There is no folder {name} with heads: give an existing folder or a Hub repo id "
            "such as owner/name."
        )
    return _download(name)


def is_repo_id(name: str) -> bool:
    """Whether `name` reads as owner/name, and not as a path or a URL."""
    parts = name.split("/")
    allowed = all(c.isalnum() or c in "-_./" for c in name)
    return len(parts) == 2 and allowed and all(p and p[0].isalnum() for p in parts)


def _download(repo_id: str) -> Path:
    import httpx
    import huggingface_hub
    from huggingface_hub import errors

    try:
        return Path(huggingface_hub.snapshot_download(repo_id, allow_patterns=_WANTED))
    except (errors.GatedRepoError, errors.RepositoryNotFoundError) as error:
        raise ExplorerError(
            f"The Hub has no repo {repo_id} that you may read: check the name, and log in with "
            "`hf auth login` if it is private or gated."
        ) from error
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, httpx.HTTPError) as error:
        raise ExplorerError(
            f"The heads {repo_id} cannot be downloaded, because the Hugging Face Hub does not "
            "answer: check the network, or download them elsewhere and give the folder."
        ) from error
    except (errors.HFValidationError, OSError) as error:
        raise ExplorerError(
            f"The heads {repo_id} cannot be downloaded ({type(error).__name__}: {error})."
        ) from error
