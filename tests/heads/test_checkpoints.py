import json
import pickle
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import save_file

from explorer.heads.checkpoints import load_heads, save_heads
from explorer.heads.head_files import read_tensors
from explorer.heads.hydra import new_heads
from explorer.records.errors import ExplorerError
from explorer.weights import hub
from tests.heads.test_heads import H, K, V, config, kinds, make


def public_tensors(num_blocks: int = 1, own: bool = True, prefix: str = "") -> dict:
    """The layout of FasterDecoding/Medusa and text-generation-inference."""
    heads = make("own", num_blocks)
    tensors = {}
    for k in range(K):
        for b in range(num_blocks):
            tensors[f"{prefix}{k}.{b}.linear.weight"] = heads.block_weight[k, b].detach().clone()
            tensors[f"{prefix}{k}.{b}.linear.bias"] = heads.block_bias[k, b].detach().clone()
        if own:
            tensors[f"{prefix}{k}.{num_blocks}.weight"] = heads.projection[k].detach().clone()
    return tensors


def public_config(folder, **changes) -> None:
    raw = {"medusa_num_heads": K, "medusa_num_layers": 1, "base_model_name_or_path": "some/base"}
    (folder / "config.json").write_text(json.dumps({**raw, **changes}))


def base(lm_head=None, **changes):
    """What heads take from their base model, and are checked against."""
    facts = {"device": torch.device("cpu"), "hidden_size": H, "vocab_size": V}
    return SimpleNamespace(**facts | changes, lm_head=SimpleNamespace(weight=lm_head))


def same(heads, expected) -> bool:
    hidden = torch.randn(4, H)
    return torch.equal(heads(hidden), expected(hidden))


@kinds
@pytest.mark.parametrize("num_blocks", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_own_format_comes_back(tmp_path, kind, num_blocks, dtype):
    heads = make(kind, num_blocks).to(dtype)
    heads.config.accuracy = {"top1": [0.5]}
    assert save_heads(heads, tmp_path / "heads") == tmp_path / "heads"
    lm_head = heads.projection if kind == "shared" else None
    if kind == "shared" and num_blocks == 0:
        assert (tmp_path / "heads" / "model.safetensors").stat().st_size < 1000
    back = load_heads(tmp_path / "heads", base(lm_head))
    assert back.config == heads.config
    assert same(back, heads)
    assert back.block_weight.dtype == dtype
    assert not any(p.requires_grad for p in back.parameters())
    assert sorted(p.name for p in (tmp_path / "heads").iterdir()) == [
        "config.json",
        "model.safetensors",
    ]


def test_dtype_can_be_chosen(tmp_path):
    save_heads(make("draft_vocab"), tmp_path)
    heads = load_heads(tmp_path, dtype=torch.bfloat16)
    assert heads.projection.dtype == torch.bfloat16
    assert heads.token_map.dtype == torch.int64


@pytest.mark.parametrize("num_blocks", [0, 1, 2])
@pytest.mark.parametrize("name", ["medusa_lm_head.pt", "medusa_lm_head.safetensors"])
def test_fasterdecoding_heads(tmp_path, name, num_blocks):
    tensors = public_tensors(num_blocks)
    (torch.save if name.endswith(".pt") else save_file)(tensors, tmp_path / name)
    public_config(tmp_path, medusa_num_layers=num_blocks)
    heads = load_heads(tmp_path)
    assert (heads.config.kind, heads.config.num_blocks, heads.config.vocab_size) == (
        "own",
        num_blocks,
        V,
    )
    assert heads.config.base_model == "some/base"
    assert same(heads, make("own", num_blocks))


def test_tgi_heads_share_the_lm_head(tmp_path):
    save_file(public_tensors(own=False), tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    shared = make("shared")
    heads = load_heads(tmp_path, base(shared.projection))
    assert heads.config.kind == "shared"
    torch.testing.assert_close(heads.features(torch.ones(1, H))[:, 0], heads.features(
        torch.ones(2, H))[:, 1])  # fmt: skip
    assert heads(torch.randn(2, H)).shape == (K, 2, V)


@pytest.mark.parametrize("layout", ["one file", "shards", "bin"])
def test_full_checkpoint_of_medusa_1_0(tmp_path, layout):
    tensors = public_tensors(prefix="medusa_head.")
    rest = {"model.embed_tokens.weight": torch.zeros(V, H)}
    if layout == "one file":
        save_file(tensors | rest, tmp_path / "model.safetensors")
    elif layout == "bin":
        torch.save(tensors | rest, tmp_path / "pytorch_model.bin")
    else:
        save_file(rest, tmp_path / "model-1.safetensors")
        save_file(tensors | {"lm_head.weight": torch.zeros(V, H)}, tmp_path / "model-2.safetensors")
        where = dict.fromkeys(tensors, "model-2.safetensors") | {
            "model.embed_tokens.weight": "model-1.safetensors"
        }
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    public_config(tmp_path, vocab_size=V, hidden_size=H)
    assert same(load_heads(tmp_path, base()), make("own"))


@pytest.mark.parametrize("named", [2, K + 3])
def test_the_tensors_decide_how_many_heads_there_are(tmp_path, named):
    save_file(public_tensors(), tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path, medusa_num_heads=named)
    heads = load_heads(tmp_path)
    assert heads.config.num_heads == K
    assert heads.origin.differences == [
        f"config.json says medusa_num_heads = {named}, but by the tensors it is {K}, which is used."
    ]


def test_the_format_is_known_by_the_tensors_and_a_true_config_json_raises_no_alarm(tmp_path):
    for name, tensors in {
        "medusa": public_tensors(),
        "tgi": public_tensors(own=False),
        "vllm": vllm_tensors(),
        "modelopt": public_tensors(prefix="medusa_heads."),
        "whole": public_tensors(prefix="medusa_head."),
    }.items():
        (tmp_path / name).mkdir()
        save_file(tensors, tmp_path / name / "model.safetensors")
        public_config(tmp_path / name, hidden_size=H, vocab_size=V)
        origin = load_heads(tmp_path / name, base(make("shared").projection)).origin
        assert (origin.format, origin.differences) == (name, [])
        assert origin.title


def test_modelopts_names_before_its_export(tmp_path):
    tensors = {}
    for name, tensor in public_tensors().items():
        k, b, what = name.split(".", 2)
        inner = "lm_head.weight" if what == "weight" else f"medusa_layers.{b}.{what}"
        tensors[f"medusa_heads.{k}.{inner}"] = tensor
    save_file(tensors | {"lm_head.weight": torch.zeros(V, H)}, tmp_path / "model.safetensors")
    public_config(tmp_path)
    assert same(load_heads(tmp_path), make("own"))


@pytest.mark.parametrize("name", ["medusa_lm_head.pt", "medusa_lm_head.safetensors"])
def test_old_heads_that_repeat_one_block(tmp_path, name):
    """Their blocks are one module: a pickle names it twice, safetensors keep it once."""
    tensors = public_tensors()
    for k in range(K):
        tensors[f"{k}.2.weight"] = tensors.pop(f"{k}.1.weight")
        if name.endswith(".pt"):
            for what in ("weight", "bias"):
                tensors[f"{k}.1.linear.{what}"] = tensors[f"{k}.0.linear.{what}"]
    (torch.save if name.endswith(".pt") else save_file)(tensors, tmp_path / name)
    public_config(tmp_path, medusa_num_layers=2)
    heads = load_heads(tmp_path)
    assert heads.config.num_blocks == 2
    assert heads.origin.differences == []
    for block in (0, 1):
        assert torch.equal(heads.block_weight[:, block], make("own").block_weight[:, 0])


def test_blocks_that_lack_are_not_made_up(tmp_path):
    tensors = {k: v for k, v in public_tensors(3).items() if not k.startswith("1.2.linear")}
    save_file(tensors, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match="incomplete"):
        load_heads(tmp_path)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn, torch.bool])
def test_weights_that_are_no_floating_point_numbers(tmp_path, dtype):
    tensors = {name: tensor.to(dtype) for name, tensor in public_tensors().items()}
    save_file(tensors, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match=r"are stored as .* save them again as bfloat16"):
        load_heads(tmp_path)


@pytest.mark.parametrize("architecture", ["medusa", "hydra"])
@kinds
def test_fewer_heads_on_purpose(tmp_path, kind, architecture):
    heads = new_heads(config(kind, architecture=architecture))
    for name, tensor in heads.state_dict().items():
        if tensor is not None and name != "token_map":
            tensor.copy_(torch.randn(tensor.shape))
    embeddings, lm_head = torch.randn(V, H), torch.randn(V, H)
    place = base(lm_head, embeddings=embeddings)
    save_heads(heads, tmp_path)
    all_of_them, fewer = load_heads(tmp_path, place), load_heads(tmp_path, place, num_heads=2)
    assert fewer.config.num_heads == 2
    hidden, path = torch.randn(5, H), torch.randint(V, (5, K))
    # A library product over fewer heads may round its last bits otherwise.
    torch.testing.assert_close(fewer(hidden, path[:, :2]), all_of_them(hidden, path)[:2])
    with pytest.raises(ExplorerError, match=rf"holds {K} heads, and {K + 1} were asked for"):
        load_heads(tmp_path, place, num_heads=K + 1)


def vllm_tensors():
    """The public tensors under vLLM's names."""
    out = {}
    for name, tensor in public_tensors().items():
        k, b, what = name.split(".", 2)
        if what == "weight":
            out[f"lm_heads.{k}.weight"] = tensor
        else:
            out[f"blocks.{k}.layers.{b}.{what.removeprefix('linear.')}"] = tensor
    return out


def test_heads_in_vllms_layout(tmp_path):
    save_file(vllm_tensors(), tmp_path / "model.safetensors")
    public_config(tmp_path, num_heads=K, model_type="medusa", architectures=["MedusaModel"])
    assert same(load_heads(tmp_path), make("own"))


def test_heads_in_vllms_layout_without_biases(tmp_path):
    tensors = {n: t for n, t in vllm_tensors().items() if not n.endswith("bias")}
    save_file(tensors, tmp_path / "model.safetensors")
    public_config(tmp_path, num_heads=K)
    assert not load_heads(tmp_path).block_bias.any()


@pytest.mark.parametrize("rows", ["of the map", "whole"])
def test_vllms_heads_with_a_projection_each_and_a_token_map(tmp_path, rows):
    token_map = torch.tensor([7, 3, 30, 11])
    tensors = vllm_tensors() | {"token_map": token_map}
    if rows == "of the map":
        for k in range(K):
            tensors[f"lm_heads.{k}.weight"] = tensors[f"lm_heads.{k}.weight"][token_map]
    save_file(tensors, tmp_path / "model.safetensors")
    public_config(tmp_path, num_heads=K)
    with pytest.raises(ExplorerError, match="load them together with their base model"):
        load_heads(tmp_path)
    heads, hidden = load_heads(tmp_path, base()), torch.randn(50, H)
    expected = make("own")(hidden)[..., token_map]
    assert torch.equal(heads(hidden)[..., token_map], expected)
    assert torch.equal(heads.propose(hidden, 1)[0][..., 0].T, token_map[expected.argmax(-1)])


@pytest.mark.parametrize("name", ["medusa_lm_head.safetensors", "pytorch_model.bin"])
def test_heads_in_several_files(tmp_path, name):
    where = {}
    for i, (key, tensor) in enumerate(public_tensors().items()):
        part = f"part-{i % 2}{Path(name).suffix}"
        where[key] = part
        content = {key: tensor} | (read_tensors(tmp_path / part) if i > 1 else {})
        (save_file if part.endswith("safetensors") else torch.save)(content, tmp_path / part)
    (tmp_path / f"{name}.index.json").write_text(json.dumps({"weight_map": where}))
    public_config(tmp_path)
    assert same(load_heads(tmp_path), make("own"))
    (tmp_path / "part-1").with_suffix(Path(name).suffix).unlink()
    with pytest.raises(ExplorerError, match="damaged or incomplete"):
        load_heads(tmp_path)


@pytest.mark.parametrize("shape", [(0,), (), (H * H,), (0, H)])
@pytest.mark.parametrize("spoilt", ["0.0.linear.weight", "1.1.weight"])
def test_tensors_that_were_not_gathered(tmp_path, shape, spoilt):
    tensors = public_tensors() | {spoilt: torch.zeros(shape)}
    save_file(tensors, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match=r"not whole: .* ZeRO-3 and FSDP"):
        load_heads(tmp_path)


def test_all_tensors_empty(tmp_path):
    tensors = {name: torch.empty(0) for name in public_tensors()}
    torch.save(tensors, tmp_path / "medusa_lm_head.pt")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match="not whole"):
        load_heads(tmp_path)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"hidden_size": H + 1}, "hidden states of size 16"),
        ({"vocab_size": V + 1}, "vocabulary of size 40"),
    ],
)
def test_heads_of_another_base_are_refused(tmp_path, expected, message):
    save_heads(make("draft_vocab"), tmp_path)
    with pytest.raises(ExplorerError, match=message):
        load_heads(tmp_path, base(**expected))


class Hostile:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code ran')",))


def test_hostile_pickle_is_not_opened(tmp_path):
    public_config(tmp_path)
    torch.save({"0.0.linear.weight": Hostile()}, tmp_path / "medusa_lm_head.pt")
    with pytest.raises(ExplorerError, match="could run code"):
        load_heads(tmp_path)
    (tmp_path / "medusa_lm_head.pt").write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(ExplorerError, match="could run code"):
        load_heads(tmp_path)


@pytest.mark.parametrize("name", ["medusa_lm_head.pt", "medusa_lm_head.safetensors"])
@pytest.mark.parametrize("keep", [0, 3, 900])
def test_cut_files(tmp_path, name, keep):
    public_config(tmp_path)
    (torch.save if name.endswith(".pt") else save_file)(public_tensors(), tmp_path / name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:keep])
    with pytest.raises(ExplorerError, match=r"cannot be read|could run code"):
        load_heads(tmp_path)


def drop(key):
    return lambda tensors: tensors.pop(key)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop("projection"), "incomplete"),
        (drop("block_bias"), "incomplete"),
        (lambda t: t.update(projection=torch.zeros(V, H + 1)), "do not match their config"),
        (lambda t: t["projection"].fill_(float("nan")), "not numbers"),
    ],
)
def test_spoilt_own_format(tmp_path, spoil, message):
    heads = save_heads(make("own"), tmp_path)
    tensors = {k: v.clone() for k, v in make("own").state_dict().items()}
    spoil(tensors)
    save_file(tensors, heads / "model.safetensors")
    with pytest.raises(ExplorerError, match=message):
        load_heads(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("1.0.linear.bias"), "incomplete"),
        (lambda t: t.update({"1.0.linear.weight": torch.zeros(3, 3)}), "differ in shape"),
        (lambda t: t.update({"2.1.weight": torch.zeros(3, H)}), "differ in shape"),
        (lambda t: [t.pop(k) for k in list(t)] and t.update(other=torch.zeros(1)), "no Medusa"),
    ],
)
def test_spoilt_public_format(tmp_path, change, message):
    tensors = public_tensors()
    change(tensors)
    save_file(tensors, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match=message):
        load_heads(tmp_path)


@pytest.mark.parametrize(
    "name", ["64.0.weight", "0.17.linear.bias", "99999999999.1.weight", "0.99999999999.linear.bias"]
)
def test_more_heads_than_any_checkpoint_has(tmp_path, name):
    save_file(public_tensors() | {name: torch.zeros(2)}, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path, medusa_num_heads=None)
    with pytest.raises(ExplorerError, match="no Medusa checkpoint has that many"):
        load_heads(tmp_path)


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"kind": "own"}', '{"num_heads": "many"}', "[" * 9999]
)
def test_spoilt_config(tmp_path, text):
    save_heads(make("own"), tmp_path)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ExplorerError, match=r"config\.json"):
        load_heads(tmp_path)


@pytest.mark.parametrize("field", ["medusa_num_heads", "medusa_num_layers"])
@pytest.mark.parametrize("value", ["many", -1, 10**9, [1]])
def test_hostile_public_config(tmp_path, field, value):
    save_file(public_tensors(), tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path, **{field: value})
    assert load_heads(tmp_path).config.num_heads == K


def test_places_without_heads(tmp_path):
    with pytest.raises(ExplorerError, match=r"no config\.json"):
        load_heads(tmp_path)
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match="no head weights"):
        load_heads(tmp_path)
    with pytest.raises(ExplorerError, match="no folder"):
        load_heads(tmp_path / "nothing")
    with pytest.raises(ExplorerError, match="no folder"):
        load_heads("../../etc/passwd")


@pytest.mark.parametrize(
    ("raised", "said"),
    [(LocalEntryNotFoundError("no route"), "cannot be reached"), (ValueError("TLS"), "broke off")],
)
def test_hub_errors_are_one_sentence(monkeypatch, raised, said):
    def fails(*_, **__):
        raise raised

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fails)
    with pytest.raises(ExplorerError, match=said):
        hub.heads_folder("owner/heads")


def test_a_full_disk(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="cannot be saved"):
        save_heads(make("own"), tmp_path / "file")


def test_config_is_written_for_people(tmp_path):
    save_heads(make("draft_vocab"), tmp_path)
    raw = json.loads((tmp_path / "config.json").read_text())
    assert raw["kind"] == "draft_vocab"
    assert raw["draft_vocab_size"] == 12
    assert raw["base_model"] == config("draft_vocab").base_model
