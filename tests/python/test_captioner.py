"""attn's captioner and the same in PyTorch with the same weights: logits and the gradient of every weight, for each decoder
and alignment. PyTorch in float64 is the reference, and its error in float32 the tolerance, as in test_transformer; with four roundings of the whole gradient, since that of an
alignment is a small difference of large terms."""
import copy
import json

import pytest

torch = pytest.importorskip("torch")
from safetensors.torch import load_file, save_file

from captioner import ALIGNMENTS, VISION, Captioner
from test_transformer import BEGIN, END, PAD, SPECIAL, TRAINING, RoundedLinear, drive, line, no_gradient_of_k, pad, pieces
from yardstick import U, near

SETTINGS = TRAINING | {"label_smoothing": 0.0, "batch_size": 4}
VARIANTS = [{"decoder_type": kind, "alignment": a} for kind in ("lstm", "gru") for a in ALIGNMENTS]
VARIANTS += [{"decoder_type": "transformer", "num_heads": 4, "head_dim": 4}, {"image_size": 14, "num_stages": 1}]


def write_checkpoint(path, model, config, settings=SETTINGS):
    weights = {name: p.detach().clone().contiguous() for name, p in model.names.items()}
    zeros = {f"adamw.{k}.{name}": torch.zeros_like(p) for k in "mv" for name, p in weights.items()}
    save_file(weights | zeros, path, metadata={"config": json.dumps(config), "training": json.dumps(settings),
                                               "tokenizer": "{}", "run": "{}"})


def draw_batch(rng, config):
    size = config["image_size"]
    images = torch.tensor([rng.randrange(256) for _ in range(4 * size * size * 3)]).view(4, size, size, 3)
    return images, [[rng.randrange(SPECIAL, config["vocab_size"]) for _ in range(n)] for n in (3, 9, 1, 6)]


def loss_of(model, images, captions):
    target, labels = pad([[BEGIN] + c for c in captions]), pad([c + [END] for c in captions])
    p = next(model.parameters())
    logits, _ = model(images.to(p.dtype) * (2 / 255) - 1, target)
    rows = logits[labels != PAD]
    return torch.nn.functional.cross_entropy(rows, labels[labels != PAD]), rows


def prepare(variant, rng, tmp_path, settings=SETTINGS):
    """A model, its batch, and our logits and gradients."""
    config = VISION | variant
    if config["decoder_type"] == "transformer":
        del config["alignment"]
    torch.manual_seed(rng.randrange(2**31))
    model = Captioner(config)
    images, captions = draw_batch(rng, config)
    write_checkpoint(tmp_path / "from.safetensors", model, config, settings)
    drive("train", tmp_path / "from.safetensors", 0, tmp_path / "to",
          lines=[line(image.flatten().tolist(), caption) for image, caption in zip(images, captions)])
    return model, images, captions, load_file(tmp_path / "to.first")


def theirs(model, m, images, captions):
    m.names = dict(zip(model.names, (dict(m.named_parameters())[n] for n in names_of(model))))
    loss, rows = loss_of(m, images, captions)
    loss.backward()
    return {"logits": rows.detach()}, {name: p.grad for name, p in m.names.items()}


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: " ".join(map(str, v.values())))
def test_logits_and_gradients(variant, rng, tmp_path):
    model, images, captions, ours = prepare(variant, rng, tmp_path)
    both = [theirs(model, m, images, captions) for m in (copy.deepcopy(model), copy.deepcopy(model).double())]
    near(ours["logits"], both[0][0]["logits"], both[1][0]["logits"], "logits")
    no_gradient_of_k({name: g for name, g in ours.items() if "in_proj_bias" in name})
    total = torch.cat([g.flatten() for g in both[1][1].values()]).norm()
    for name in both[0][1]:
        for (piece, o), (_, s), (_, e) in zip(*(pieces(name, g[name]) for g in (ours, both[0][1], both[1][1]))):
            assert (o - e).norm() <= 4 * (s - e).norm() + 4 * U * total, piece


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: " ".join(map(str, v.values())))
def test_bf16(variant, rng, tmp_path):
    """Linear layers, those of each step too, round their operands and nothing else: the error is that of PyTorch in float64
    with such layers."""
    model, images, captions, ours = prepare(variant, rng, tmp_path, SETTINGS | {"precision": "bf16"})
    exact = theirs(model, copy.deepcopy(model).double(), images, captions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.functional, "linear", lambda x, w, b=None: RoundedLinear.apply(x, w, b))
        rounded = theirs(model, copy.deepcopy(model).double(), images, captions)
    ours, exact, rounded = ({"logits": x[0]["logits"]} | x[1] if isinstance(x, tuple) else x for x in (ours, exact, rounded))
    total = torch.cat([g.flatten() for name, g in exact.items() if name != "logits"]).norm()
    lost, costs = ((x["logits"].double() - exact["logits"]).norm() for x in (ours, rounded))
    assert lost >= costs / 4, f"{lost} is not what bf16 loses, {costs}"  # or it would be float32
    for name, e in exact.items():
        error = (rounded[name] - e).norm()
        assert (ours[name] - e).norm() <= 4 * error + 4 * U * (e.norm() if name == "logits" else total), name


def names_of(model):
    """PyTorch's name of each of attn's parameters."""
    by_identity = {id(p): name for name, p in model.named_parameters()}
    return [by_identity[id(p)] for p in model.names.values()]
