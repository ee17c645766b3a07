"""A tiny random Llama behind the product's own forward pass, exact in float32."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from explorer.kernels.attention import FIXED_ORDER
from explorer.kernels.lm_head import LMHead, rows_of_weight
from explorer.models.base import LanguageModel

VOCAB = 97


class RowWiseLinear(torch.nn.Linear):
    """A product that is the same bits for a row whatever the rows beside it."""

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1]).double()
        return (rows[:, None, :] * self.weight.double()).sum(-1).float().view(*x.shape[:-1], -1)


def tiny_model(cls=LanguageModel, exact=True):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        attn_implementation=FIXED_ORDER,
        initializer_range=0.2,
        eos_token_id=None,
    )
    network = LlamaForCausalLM(config).eval()
    if exact:
        for module in network.modules():
            for child in module.children():
                if type(child) is torch.nn.Linear:
                    child.__class__ = RowWiseLinear
    weight = network.lm_head.weight.detach()
    head = LMHead(weight, rows_of_weight(weight))
    head.most_rows, head.padded = 64, True
    return cls(
        network=network,
        tokenizer=None,
        lm_head=head,
        name="tiny",
        backend="fp32",
        device=torch.device("cpu"),
        context_length=512,
        eos_ids=frozenset(),
    )


class TinyTokenizer:
    """Token ids are code points, as far as the vocabulary goes."""

    chat_template = None

    def __call__(self, text):
        return {"input_ids": [ord(c) % VOCAB for c in text]}

    def get_added_vocab(self):
        return {}

    def convert_ids_to_tokens(self, token_id):
        return f"{token_id} "


def tiny_lab(num_heads=3, tree=None, cls=LanguageModel, eos_ids=(), architecture="medusa"):
    """The product's own engine on the tiny model, with untrained heads."""
    from explorer.decoding.tree import chain
    from explorer.heads.heads_config import HeadsConfig
    from explorer.heads.hydra import ARCHITECTURES, HydraHeads
    from explorer.lab.lab import Lab
    from explorer.measuring.head_set import HeadSet

    model = tiny_model(cls)
    model.tokenizer = TinyTokenizer()
    model.eos_ids = frozenset(eos_ids)
    config = HeadsConfig(
        architecture=architecture,
        kind="own",
        num_heads=num_heads,
        num_blocks=1,
        hidden_size=32,
        vocab_size=VOCAB,
    )
    heads = ARCHITECTURES[architecture].create(config, model.lm_head_weight())
    if isinstance(heads, HydraHeads):
        heads.use_embeddings(model.embeddings)
        torch.nn.init.normal_(heads.path_weight, std=0.05)
    trees = {128: tree or chain(2)}
    return Lab(model, {architecture: HeadSet(heads, "tiny", trees, trees)})
