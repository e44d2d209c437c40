"""attn's captioner and the same in PyTorch with the same weights: logits and the gradient of every weight, for each decoder
and alignment. PyTorch in float64 is the reference, and its error in float32 the tolerance, as in test_transformer, with two
differences. A gradient may differ by four roundings of the whole gradient, since that of an alignment is a small difference of
large terms. And PyTorch's error is the largest on NEARBY models: where the gradient depends on few steep scores, an error is
a sum of few roundings times large factors, so a single error is sometimes small by chance."""
import copy
import json
import math

import pytest

torch = pytest.importorskip("torch")
from safetensors.torch import load_file, save_file
from torch.overrides import TorchFunctionMode

from captioner import ALIGNMENTS, VISION, Captioner
from test_transformer import BEGIN, END, PAD, SPECIAL, TRAINING, RoundedLinear, drive, line, no_gradient_of_k, pad, pieces
from yardstick import U

NEARBY = 8
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


class ReluInputs(TorchFunctionMode):
    """Records the smallest magnitude of an input of a ReLU."""
    smallest = math.inf

    def __torch_function__(self, function, types, arguments=(), options=None):
        if function in (torch.relu, torch.nn.functional.relu):
            self.smallest = min(self.smallest, arguments[0].abs().min().item())
        return function(*arguments, **(options or {}))


def draw_smooth_batch(rng, model):
    """Draws a batch without inputs near 0 for ReLU, where rounding decides the gradient."""
    exact = copy.deepcopy(model).double()
    while True:
        batch = draw_batch(rng, model.c)
        with torch.no_grad(), ReluInputs() as inputs:
            loss_of(exact, *batch)
        if inputs.smallest >= 1e-5:
            return batch


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
    images, captions = draw_smooth_batch(rng, model)
    write_checkpoint(tmp_path / "from.safetensors", model, config, settings)
    drive("train", tmp_path / "from.safetensors", 0, tmp_path / "to",
          lines=[line(image.flatten().tolist(), caption) for image, caption in zip(images, captions)])
    return model, images, captions, load_file(tmp_path / "to.first")


def theirs(model, images, captions):
    """PyTorch's logits and gradients."""
    loss, rows = loss_of(model, images, captions)
    loss.backward()
    return {"logits": rows.detach()} | {name: p.grad for name, p in model.names.items()}


def nearby(model):
    """Yields the model, then others whose weights differ by up to 16 roundings: as ill-conditioned, with other roundings."""
    for n in range(NEARBY):
        m = copy.deepcopy(model)
        for p in m.parameters():
            p.data *= 1 + (n > 0) * 16 * U * (2 * torch.rand_like(p) - 1)
        yield m


def split(results):
    """Results by name, in_proj_bias split."""
    return dict(piece for name, x in results.items() for piece in pieces(name, x))


def errors(models, images, captions):
    """For each result, the largest error of PyTorch in float32 on these models."""
    largest = {}
    for model in models:
        single, exact = (split(theirs(m, images, captions)) for m in (copy.deepcopy(model), copy.deepcopy(model).double()))
        largest = {name: max(largest.get(name, 0), (single[name] - e).norm().item()) for name, e in exact.items()}
    return largest


def norm(gradients):
    return torch.cat([g.flatten() for name, g in gradients.items() if name != "logits"]).norm()


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: " ".join(map(str, v.values())))
def test_logits_and_gradients(variant, rng, tmp_path):
    model, images, captions, ours = prepare(variant, rng, tmp_path)
    no_gradient_of_k({name: g for name, g in ours.items() if "in_proj_bias" in name})
    exact = theirs(copy.deepcopy(model).double(), images, captions)
    total, allowed, ours = norm(exact), errors(nearby(model), images, captions), split(ours)
    for name, e in split(exact).items():
        error = (ours[name] - e).norm()
        assert error <= 4 * allowed[name] + 4 * U * (e.norm() if name == "logits" else total), f"{name}: {error:.3g}"


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: " ".join(map(str, v.values())))
def test_bf16(variant, rng, tmp_path):
    """Linear layers, those of each step too, round their operands and nothing else: the error is that of PyTorch in float64
    with such layers."""
    model, images, captions, ours = prepare(variant, rng, tmp_path, SETTINGS | {"precision": "bf16"})
    exact = theirs(copy.deepcopy(model).double(), images, captions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.functional, "linear", lambda x, w, b=None: RoundedLinear.apply(x, w, b))
        rounded = theirs(copy.deepcopy(model).double(), images, captions)
    total = norm(exact)
    lost, costs = ((x["logits"].double() - exact["logits"]).norm() for x in (ours, rounded))
    assert lost >= costs / 4, f"{lost} is not what bf16 loses, {costs}"  # or it would be float32
    for name, e in exact.items():
        error = (rounded[name] - e).norm()
        assert (ours[name] - e).norm() <= 4 * error + 4 * U * (e.norm() if name == "logits" else total), name
