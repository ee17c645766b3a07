"""What a network gives its LM head, whatever stands between the head and the layers."""

from __future__ import annotations

from typing import NoReturn

import torch
from transformers import PreTrainedModel


class _Reached(Exception):  # noqa: N818 - no error: it carries the result out of a forward pass
    def __init__(self, hidden: torch.Tensor) -> None:
        self.hidden = hidden


def lm_head_input(network: PreTrainedModel, **inputs: object) -> torch.Tensor:
    """The rows [b, n, H] that the LM head is given in a pass over `inputs`; it is not run itself.

    Raises what the pass raises, and RuntimeError where it never comes to the LM head.
    """
    hook = network.get_output_embeddings().register_forward_pre_hook(_stop)
    try:
        network(**inputs)
    except _Reached as reached:
        return reached.hidden
    finally:
        hook.remove()
    raise RuntimeError("the pass never came to the LM head")


def _stop(_: torch.nn.Module, arguments: tuple[torch.Tensor, ...]) -> NoReturn:
    raise _Reached(arguments[0])
