"""attn's models and PyTorch's nn.Transformer with the same weights: logits, the gradient of every weight, weights after
steps of AdamW; and attn's checkpoints in PyTorch.

PyTorch in float64 is the reference, and its error in float32 the tolerance: no bound for a whole model in float32 is known,
but two correct implementations have similar errors. `near` has the factor. In bf16 the tolerance is the error of PyTorch's
autocast, and that of float64 with linear layers that round their operands.
"""
import copy
import json
import math
import os
import subprocess

import pytest

torch = pytest.importorskip("torch")
from safetensors.torch import load_file, save_file
from torch import nn

from yardstick import BF16, U, near

DRIVE = os.environ["ATTN_DRIVE_MODEL"]
PAD, BEGIN, END, SPECIAL = 0, 1, 2, 4
torch.set_num_threads(1)
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")


def drive(*arguments, lines=()):
    done = subprocess.run([DRIVE, *map(str, arguments)], input="".join(f"{l}\n" for l in lines), capture_output=True,
                          text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def line(*sides):
    return "|".join(" ".join(map(str, side)) for side in sides)


# ---- PyTorch's model, with what surrounds its layers ----

ACTIVATIONS = {"relu": torch.relu, "gelu": nn.functional.gelu,
               "gelu_tanh": lambda x: nn.functional.gelu(x, approximate="tanh")}


def sinusoids(length, width):
    angle = torch.arange(length, dtype=torch.float64)[:, None] * 10000.0 ** -(torch.arange(0, width, 2) / width).double()
    return torch.stack([angle.sin(), angle.cos()], -1).reshape(length, width)


class Aligned(nn.MultiheadAttention):
    """Multi-head attention with another score than q . k / sqrt(E), from the equations of docs/models.md."""

    def __init__(self, c):
        d, heads = c["d_model"], c["num_heads"]
        super().__init__(d, heads, bias=c["bias"], batch_first=True)
        self.kind, self.scale, e = c["alignment"], c.get("scale", 1), d // heads
        if self.kind in ("additive", "general"):
            self.score_weight = nn.Parameter(torch.empty((heads, e) if self.kind == "additive" else (d, e)))

    def scores(self, q, k):
        if self.kind == "uniform":  # gradients of 0
            return 0 * (q @ k.mT)
        if self.kind == "additive":
            return (torch.tanh(q[:, :, :, None] + k[:, :, None]) * self.score_weight[None, :, None, None]).sum(-1)
        if self.kind == "general":
            q = torch.einsum("bhie,hef->bhif", q, self.score_weight.unflatten(0, (self.num_heads, -1)))
        return q @ k.mT

    def forward(self, query, key, value, key_padding_mask=None, attn_mask=None, **_):
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (nn.functional.linear(x, w, b).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                   for x, w, b in zip((query, key, value), self.in_proj_weight.chunk(3), biases))
        z = self.scores(q, k).float() * self.scale if q.dtype == torch.bfloat16 else self.scores(q, k) * self.scale
        for mask in (attn_mask, None if key_padding_mask is None else key_padding_mask[:, None, None]):
            if mask is not None:
                z = z.masked_fill(mask.bool(), -math.inf)
        y = (z.softmax(-1).to(v.dtype) @ v).transpose(1, 2).flatten(2)
        return nn.functional.linear(y, self.out_proj.weight, self.out_proj.bias), None


class Reference(nn.Module):
    """A PyTorch model with attn's parameter names. A decoder-only model is PyTorch's encoder with a causal mask."""

    def __init__(self, c):
        super().__init__()
        self.c, d = c, c["d_model"]
        shape = dict(d_model=d, nhead=c["num_heads"], dim_feedforward=c["ffn_dim"], dropout=0.0,
                     activation=ACTIVATIONS[c["activation"]], layer_norm_eps=c["norm_eps"], batch_first=True,
                     norm_first=c["norm_first"], bias=c["bias"])
        norm = lambda: nn.LayerNorm(d, c["norm_eps"]) if c["final_norm"] else None
        if c["kind"] == "encoder-decoder":
            whole = nn.Transformer(num_encoder_layers=c["encoder_layers"], num_decoder_layers=c["decoder_layers"], **shape)
            self.encoder, self.decoder = whole.encoder, whole.decoder
            self.encoder.norm, self.decoder.norm = norm(), norm()
        else:
            stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(**shape), c[f"{c['kind']}_layers"], norm(),
                                          enable_nested_tensor=False)
            setattr(self, c["kind"], stack)
        for layer in [m for m in self.modules() if isinstance(m, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer))]:
            for name in ("self_attn", "multihead_attn"):
                if "alignment" in c and hasattr(layer, name):
                    setattr(layer, name, Aligned(c))
        for side in ("source", "target"):
            if c["kind"] != {"source": "decoder", "target": "encoder"}[side]:
                setattr(self, f"{side}_embedding", nn.Embedding(c["vocab_size"], d))
                if c["positions"] == "learned":
                    setattr(self, f"{side}_positions", nn.Embedding(c["max_positions"], d))
        if c["share_encoder_decoder_embeddings"]:
            del self.source_embedding
        if not c["tie_word_embeddings"]:
            self.output = nn.Linear(d, c["vocab_size"], bias=c["bias"])
        for m in self.modules():  # ours have them without biases of linear layers as well
            if isinstance(m, nn.LayerNorm) and m.bias is None:
                m.bias = nn.Parameter(torch.zeros(d))
        for p in self.parameters():  # norms and biases would begin as ones and zeros, which hide much
            nn.init.normal_(p, std=0.3 if p.dim() == 2 else 0.2)
            if p.dim() == 2:
                p.data /= math.sqrt(p.shape[1] / 8)
        for name, p in self.named_parameters():
            if "norm" in name and name.endswith("weight"):
                p.data += 1

    def embed(self, side, ids):
        table = getattr(self, f"{side}_embedding", None) or self.target_embedding
        x = table(ids) * (math.sqrt(self.c["d_model"]) if self.c["scale_embedding"] else 1)
        if self.c["positions"] == "learned":
            x = x + getattr(self, f"{side}_positions").weight[: ids.shape[1]]
        if self.c["positions"] == "sinusoidal":
            x = x + sinusoids(self.c["max_positions"], self.c["d_model"])[: ids.shape[1]].to(x.dtype)
        return x

    def forward(self, source, target):
        """Takes padded batches of token ids; returns the logits of all positions."""
        kind = self.c["kind"]
        no_keys = None if source is None else source == PAD
        future = None if target is None else torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        if kind != "decoder":
            x = memory = self.encoder(self.embed("source", source), src_key_padding_mask=no_keys)
        if kind == "encoder-decoder":
            x = self.decoder(self.embed("target", target), memory, tgt_mask=future,
                             tgt_key_padding_mask=target == PAD, memory_key_padding_mask=no_keys)
        if kind == "decoder":
            x = self.decoder(self.embed("target", target), mask=future, src_key_padding_mask=target == PAD)
        if not self.c["tie_word_embeddings"]:
            return self.output(x)
        return nn.functional.linear(x, (self.source_embedding if kind == "encoder" else self.target_embedding).weight)


def pad(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


class Batch:
    """Padded pairs with begin and end tokens; PyTorch ignores the labels of padding."""

    def __init__(self, pairs):
        self.lines = [line(*pair) for pair in pairs]
        self.source = pad([source + [END] for source, _ in pairs])
        self.target = pad([[BEGIN] + target for _, target in pairs])
        self.labels = pad([target + [END] for _, target in pairs])

    def rows(self, logits):
        return logits[self.labels != PAD]

    def loss(self, model, smoothing):
        logits = model(self.source, self.target)
        return nn.functional.cross_entropy(self.rows(logits), self.labels[self.labels != PAD],
                                           label_smoothing=smoothing), self.rows(logits)


# ---- Ours ----

BASE = {"kind": "encoder-decoder", "vocab_size": 23, "d_model": 24, "num_heads": 3, "ffn_dim": 40, "encoder_layers": 2,
        "decoder_layers": 2, "max_positions": 24, "positions": "sinusoidal", "activation": "gelu", "norm_first": True,
        "final_norm": True, "bias": True, "share_encoder_decoder_embeddings": False, "tie_word_embeddings": False, "scale_embedding": True,
        "norm_eps": 1e-5, "dropout": 0.0}
# AdamW's epsilon bounds the effect of a rounding error of a gradient on a weight, learning_rate / epsilon. With 1e-8, a
# gradient of rounding errors only would move its weight by a whole step, differently in each implementation.
TRAINING = {"lr_schedule": "cosine", "learning_rate": 3e-3, "warmup_steps": 4, "steps": 20, "beta1": 0.9, "beta2": 0.98,
            "epsilon": 1e-3, "weight_decay": 0.1, "max_grad_norm": 0.5, "label_smoothing": 0.1,
            "gradient_accumulation_steps": 1, "batch_size": 5, "max_tokens": 256, "max_length": 64, "seed": 1, "step": 0,
            "skipped_steps": 0, "examples_seen": 0}
STEPS = 10


def write_checkpoint(path, model, config, training):
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    zeros = {f"adamw.{k}.{name}": torch.zeros_like(p) for k in "mv" for name, p in weights.items()}
    words = {"config": json.dumps(config), "training": json.dumps(training), "tokenizer": "{}", "run": "{}"}
    save_file(weights | zeros, path, metadata=words)


def train(model, config, training, steps, batch, path):
    write_checkpoint(path / "from.safetensors", model, config, training)
    to = path / "to.safetensors"
    said = drive("train", path / "from.safetensors", steps, to, lines=batch.lines)
    return load_file(to), load_file(f"{to}.first"), load_file(f"{to}.last"), [[*map(float, l.split())] for l in said]


def pieces(name, x, whole=False):
    """Splits in_proj_bias into q's and v's. k's does not affect the softmax of dot products, so its gradient is only
    rounding."""
    if "in_proj_bias" not in name or whole:
        return [(name, x)]
    q, _, v = x.chunk(3)
    return [(f"{name} q", q), (f"{name} v", v)]


def layer_norm(tensors, name):
    """The norm of the weights and the bias of the layer that a tensor is of."""
    layer = name.rpartition(".")[0]
    return math.sqrt(sum(t.double().square().sum().item() for n, t in tensors.items() if n.rpartition(".")[0] == layer))


def all_near(ours, single, exact, what, u=U, of_layer=False):
    """of_layer: a bias may be a small difference of large terms, one for each token: its roundings are those of its layer."""
    assert set(exact) <= set(ours), set(exact) - set(ours)
    for name in exact:
        size = layer_norm(exact, name) if of_layer else None
        additive = name.rsplit(".", 1)[0] + ".score_weight"
        whole = additive in exact and exact[additive].shape[0] < exact[name].shape[0] // 3
        for (piece, o), (_, s), (_, e) in zip(*(pieces(name, t[name], whole) for t in (ours, single, exact))):
            near(o, s, e, f"{what} {piece}", u, size)


def no_gradient_of_k(gradients):
    """Checks that the gradient of k's bias, 0 in exact arithmetic, is rounding of fewer than 2^9 terms of q's and v's size."""
    for name in gradients:
        if "in_proj_bias" in name:
            q, k, v = gradients[name].double().chunk(3)
            assert k.norm() <= 2**9 * U * (q.norm() + v.norm()), name


def make_pairs(rng, kind, count=5):
    words = lambda n: [rng.randrange(SPECIAL, BASE["vocab_size"]) for _ in range(n)]
    pairs = []
    for _ in range(count):
        n = rng.randrange(1, 17)
        pairs.append(([] if kind == "decoder" else words(n), words(n if kind == "encoder" else rng.randrange(17))))
    return pairs


def draw_batch(rng, model):
    """Draws a batch without inputs near 0 for ReLU, where rounding decides the gradient."""
    exact, least = copy.deepcopy(model).double(), [0.0]
    for name, layer in exact.named_modules():
        if name.endswith("linear1"):
            layer.register_forward_hook(lambda _, __, y: least.append(y.abs().min().item()))
    while min(least) < 1e-5:
        batch = Batch(make_pairs(rng, model.c["kind"]))
        least.clear()
        exact(batch.source, batch.target)
        if model.c["activation"] != "relu":
            break
    return batch


VARIANTS = {
    "pre-norm": {},
    "post-norm": {"norm_first": False, "final_norm": False},
    "post-norm, final norm": {"norm_first": False, "activation": "gelu_tanh"},
    "ReLU": {"activation": "relu"},
    "tied, shared": {"tie_word_embeddings": True, "share_encoder_decoder_embeddings": True},
    "learned positions": {"positions": "learned", "scale_embedding": False, "norm_eps": 1e-3},
    "no biases": {"bias": False, "positions": "none"},
    "decoder": {"kind": "decoder", "tie_word_embeddings": True, "positions": "learned"},
    "encoder": {"kind": "encoder", "norm_first": False},
    "encoder, tied": {"kind": "encoder", "tie_word_embeddings": True},
    "dot": {"alignment": "dot", "scale": 0.2},
    "general": {"alignment": "general", "scale": 0.3, "tie_word_embeddings": True},
    "additive": {"alignment": "additive"},
    "additive decoder": {"kind": "decoder", "alignment": "additive", "scale": 2.0, "bias": False},
    "uniform": {"alignment": "uniform"},
}


def rate(step, t=TRAINING):
    if step < t["warmup_steps"]:
        return t["learning_rate"] * step / t["warmup_steps"]
    return t["learning_rate"] * (1 + math.cos(math.pi * (step - t["warmup_steps"]) / (t["steps"] - t["warmup_steps"]))) / 2


def exact_loss(model, batch):
    return batch.loss(model, TRAINING["label_smoothing"])


def optimize(model, batch, steps, loss_of=exact_loss):
    """Trains the model; returns loss, gradient norm, learning rate, logits and gradients of each step."""
    groups = [[p for p in model.parameters() if (p.dim() == 2) == matrix] for matrix in (True, False)]
    optimizer = torch.optim.AdamW([{"params": groups[0], "weight_decay": TRAINING["weight_decay"]},
                                   {"params": groups[1], "weight_decay": 0.0}], lr=1.0,
                                  betas=(TRAINING["beta1"], TRAINING["beta2"]), eps=TRAINING["epsilon"])
    said = []
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.zero_grad()
        loss, logits = loss_of(model, batch)
        loss.backward()
        gradient = torch.cat([p.grad.double().flatten() for p in model.parameters()])
        norm = nn.utils.clip_grad_norm_(model.parameters(), TRAINING["max_grad_norm"])
        said.append((loss.item(), norm.item(), rate(step), logits.detach().double(), gradient))
        optimizer.step()
    return said


def steps_near(ours, single, exact):
    """A single number of PyTorch may be exact by chance, so its error is not a tolerance. The error of a loss is at most
    twice that of its worst logit, the error of a norm at most the norm of the gradient's error."""
    logits, gradient = (single[n] - exact[n] for n in (3, 4))
    assert abs(ours[0] - exact[0]) <= 4 * 2 * logits.abs().max() + 4 * U * exact[0], "loss"
    assert abs(ours[1] - exact[1]) <= 4 * gradient.norm() + 4 * U * exact[1], "norm"
    assert abs(ours[2] - exact[2]) <= 1e-8 * exact[2], "rate"


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_gradients_and_steps(variant, rng, tmp_path):
    config = BASE | VARIANTS[variant]
    model, steps = Reference(config), 1 if config["activation"] == "relu" else STEPS
    batch = draw_batch(rng, model)
    weights, first, last, said = train(model, config, TRAINING, steps, batch, tmp_path)
    both = {}
    for precision, m in (("single", copy.deepcopy(model)), ("exact", copy.deepcopy(model).double())):
        loss, logits = batch.loss(m, TRAINING["label_smoothing"])
        loss.backward()
        gradients = {name: p.grad.clone() for name, p in m.named_parameters()}
        m.zero_grad()
        steps_said = optimize(m, batch, steps)
        both[precision] = logits.detach(), gradients, {n: p.detach() for n, p in m.named_parameters()}, steps_said
    single, exact = both["single"], both["exact"]
    near(first["logits"], single[0], exact[0], "logits")
    if config.get("alignment") != "additive":
        no_gradient_of_k(first)
    all_near(first, single[1], exact[1], "gradient", of_layer=True)
    all_near(weights, single[2], exact[2], "weight")
    for o, s, e in zip(said, single[3], exact[3], strict=True):
        steps_near(o, s, e)


# ---- bf16 ----

def to_bf16(x):
    return x.float().bfloat16().to(x.dtype)


class RoundedLinear(torch.autograd.Function):
    """attn's bf16 linear layer: operands are rounded, sums and biases are not."""

    @staticmethod
    def forward(context, x, w, b):
        context.save_for_backward(to_bf16(x), to_bf16(w))
        y = to_bf16(x) @ to_bf16(w).T
        return y if b is None else y + b

    @staticmethod
    def backward(context, dy):
        x, w = context.saved_tensors
        rows = to_bf16(dy).flatten(0, -2)
        return to_bf16(dy) @ w, rows.T @ x.flatten(0, -2), dy.flatten(0, -2).sum(0) if context.needs_input_grad[2] else None


def rounded_loss(model, batch):
    """Replaces nn.functional.linear, which all linear layers of PyTorch use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nn.functional, "linear", lambda x, w, b=None: RoundedLinear.apply(x, w, b))
        return exact_loss(model, batch)


def autocast_loss(model, batch):
    with torch.autocast("cpu", torch.bfloat16):
        loss, logits = exact_loss(model, batch)
    return loss, logits.float()


def in_bf16(model, batch):
    """Logits and gradients with autocast, in float64, and in float64 with rounded operands."""
    found = []
    for m, way in ((copy.deepcopy(model), autocast_loss), (copy.deepcopy(model).double(), exact_loss),
                   (copy.deepcopy(model).double(), rounded_loss)):
        loss, logits = way(m, batch)
        loss.backward()
        found.append({"logits": logits.detach()} | {name: p.grad for name, p in m.named_parameters()})
    return found


def moves(model, batch, way, dtype):
    """The change of every weight after ten steps."""
    m = copy.deepcopy(model).to(dtype)
    optimize(m, batch, STEPS, way)
    return {name: (p - q.to(p.dtype)).detach() for (name, p), q in zip(m.named_parameters(), model.parameters())}


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "ReLU"])  # whose corner no batch keeps away from by 2^-8
def test_bf16(variant, rng, tmp_path):
    """The error is at most that of autocast, which rounds sums too, and that of rounding the operands."""
    config = BASE | VARIANTS[variant]
    model = Reference(config)
    batch = draw_batch(rng, model)
    weights, first, _, said = train(model, config, TRAINING | {"precision": "bf16"}, STEPS, batch, tmp_path)
    theirs, exact, rounded = in_bf16(model, batch)
    all_near(first, theirs, exact, "bf16", BF16)
    all_near(first, rounded, exact, "factors in bf16")
    lost, costs = ((x["logits"].double() - exact["logits"]).norm() for x in (first, rounded))
    assert lost >= costs / 4, f"{lost} is not what bf16 loses, {costs}"  # or it would be float32
    assert len(said) == STEPS and all(w.dtype == torch.float32 for w in weights.values())
    began = dict(model.named_parameters())
    all_near({name: weights[name] - w.detach() for name, w in began.items()},
             *(moves(model, batch, way, dtype) for way, dtype in ((autocast_loss, None), (exact_loss, torch.float64))),
             "moved in bf16", BF16)


@pytest.mark.parametrize("variant", VARIANTS)
def test_checkpoint_loads_in_pytorch(variant, rng, tmp_path):
    """A checkpoint loads in PyTorch by name, strictly, and gives the same logits."""
    config = BASE | VARIANTS[variant]
    batch = Batch(make_pairs(rng, config["kind"]))
    weights, _, last, _ = train(Reference(config), config, TRAINING, 2, batch, tmp_path)
    weights = {name: w for name, w in weights.items() if not name.startswith("adamw.")}
    single, exact = Reference(config), Reference(config).double()
    single.load_state_dict(weights), exact.load_state_dict(weights)
    with torch.no_grad():
        near(last["logits"], *(batch.rows(m(batch.source, batch.target)) for m in (single, exact)), "logits")


def test_multihead_attention(rng, tmp_path):
    """A layer whose feed-forward part is 0 and an output that is 1: x + attention(norm(x))."""
    config = BASE | {"kind": "encoder", "encoder_layers": 1, "vocab_size": 24, "final_norm": False, "positions": "none",
                     "scale_embedding": False}
    model = Reference(config)
    layer = model.encoder.layers[0]
    for p in (layer.linear2.weight, layer.linear2.bias, model.output.bias):
        nn.init.zeros_(p)
    nn.init.eye_(model.output.weight)
    batch = Batch(make_pairs(rng, "encoder"))
    _, first, _, _ = train(model, config, TRAINING, 0, batch, tmp_path)
    with torch.no_grad():
        def theirs(m):
            x = m.source_embedding(batch.source)
            h = m.encoder.layers[0].norm1(x)
            attention = nn.MultiheadAttention(24, 3, batch_first=True, dtype=x.dtype)
            attention.load_state_dict(m.encoder.layers[0].self_attn.state_dict())
            return batch.rows(x + attention(h, h, h, key_padding_mask=batch.source == PAD)[0])
        near(first["logits"], theirs(model), theirs(copy.deepcopy(model).double()), "attention")
