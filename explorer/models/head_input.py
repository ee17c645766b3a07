"""The input of a network's LM head, even if other operations precede the head."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from transformers import PreTrainedModel


class _Reached(Exception):  # noqa: N818 - no error: it carries the result out of a forward pass
    def __init__(self, hidden: torch.Tensor) -> None:
        self.hidden = hidden


def lm_head_input(network: PreTrainedModel, **inputs: Any) -> torch.Tensor:
    """The rows [b, n, H] that the LM head gets in a pass over `inputs`; the head does not run.

    Raises what the pass raises, and RuntimeError if it never reaches the LM head.
    """
    hook = network.get_output_embeddings().register_forward_pre_hook(_stop)
    try:
        network(**inputs)
    except _Reached as reached:
        return reached.hidden
    finally:
        hook.remove()
    raise RuntimeError("the pass never reached the LM head")


def _stop(_: torch.nn.Module, arguments: tuple[torch.Tensor, ...]) -> NoReturn:
    raise _Reached(arguments[0])
