"""The captioner of docs/models.md in PyTorch, with attn's parameter names: convolutions, and an LSTM, a GRU or a Transformer
that reads their grid."""
import math

import torch
from torch import nn
from torch.nn import functional as F

ALIGNMENTS = ("additive", "dot", "scaled", "general", "uniform", "none")
VISION = {"kind": "vision-encoder-decoder", "decoder_type": "lstm", "alignment": "additive", "vocab_size": 13, "d_model": 16,
          "num_heads": 1, "head_dim": 10, "ffn_dim": 24, "decoder_layers": 2, "max_positions": 16, "image_size": 12,
          "num_stages": 2, "stage_channels": 6, "scale_embedding": False, "norm_eps": 1e-5, "dropout": 0.0}


def grid_size(c):
    side = c["image_size"]
    for _ in range(c["num_stages"]):
        side = (side + 1) // 2
    return side


def shapes(c):
    """The parameters of the encoder, the embedding, the output, and of a recurrent decoder."""
    d, positions, channels, out = c["d_model"], grid_size(c) ** 2, 3, {}
    for n in range(c["num_stages"]):
        width = c["stage_channels"] << n
        for k, before in ((1, channels), (2, width)):
            out |= {f"encoder.stages.{n}.conv{k}.weight": (9 * before, width), f"encoder.stages.{n}.conv{k}.bias": (width,)}
        channels = width
    out |= {"encoder.projection.weight": (d, channels), "encoder.projection.bias": (d,), "encoder.norm.weight": (d,),
            "encoder.positions.weight": (positions, d), "encoder.norm.bias": (d,), "output.bias": (c["vocab_size"],),
            "target_embedding.weight": (c["vocab_size"], d), "output.weight": (c["vocab_size"], d)}
    if c["decoder_type"] == "transformer":
        return out
    gates = {"lstm": 4, "gru": 3}[c["decoder_type"]] * d
    for name in ("ih", "hh"):
        out |= {f"decoder.cell.weight_{name}": (gates, d), f"decoder.cell.bias_{name}": (gates,)}
    linears = ["first_h", "out_hidden"] + ["first_c"] * (c["decoder_type"] == "lstm")
    for name in linears:
        out |= {f"decoder.{name}.weight": (d, d), f"decoder.{name}.bias": (d,)}
    if c["alignment"] == "none":
        return out | {"decoder.vector.weight": (d, positions * d), "decoder.vector.bias": (d,)}
    out |= {"decoder.cell.weight_ch": (gates, d), "decoder.out_context.weight": (d, d)}
    if c["alignment"] == "additive":
        a = c["head_dim"]
        out |= {"decoder.query.weight": (a, d), "decoder.query.bias": (a,), "decoder.score.weight": (1, a),
                "decoder.key.weight": (a, d)}
    if c["alignment"] == "general":
        out["decoder.key.weight"] = (d, d)
    return out


class Captioner(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, self.names = c, {}
        for name, shape in shapes(c).items():
            std = 0.8 if "query" in name or "key" in name or "score" in name else 0.2  # weights far from equal
            p = nn.Parameter(torch.randn(shape) * std / (math.sqrt(shape[-1] / 8) if len(shape) == 2 else 1))
            self.names[name] = p
            self.register_parameter(name.replace(".", "_"), p)
        if c["decoder_type"] == "transformer":
            layer = nn.TransformerDecoderLayer(c["d_model"], c["num_heads"], c["ffn_dim"], 0.0, "relu", batch_first=True,
                                               norm_first=True)
            self.decoder = nn.TransformerDecoder(layer, c["decoder_layers"], nn.LayerNorm(c["d_model"]))
            self.names |= {f"decoder.{n}": p for n, p in self.decoder.named_parameters()}
        with torch.no_grad():
            for name, p in self.names.items():
                if "norm" in name and name.endswith("weight"):
                    p += 1
                elif p.dim() == 1 and self.c["decoder_type"] == "transformer":
                    p += 0.1 * torch.randn_like(p)

    def linear(self, name, x):
        return F.linear(x, self.names[name + ".weight"], self.names.get(name + ".bias"))

    def encode(self, images):
        """images (N, size, size, 3) from -1 to 1; returns (N, P, D)."""
        x = images.permute(0, 3, 1, 2)
        for n in range(self.c["num_stages"]):
            for k, stride in ((1, 2), (2, 1)):
                w = self.names[f"encoder.stages.{n}.conv{k}.weight"]
                w = w.view(3, 3, -1, w.shape[1]).permute(3, 2, 0, 1)
                x = F.relu(F.conv2d(x, w, self.names[f"encoder.stages.{n}.conv{k}.bias"], stride, 1))
        z = self.linear("encoder.projection", x.permute(0, 2, 3, 1).flatten(1, 2))
        return F.layer_norm(z + self.names["encoder.positions.weight"], z.shape[-1:], self.names["encoder.norm.weight"],
                            self.names["encoder.norm.bias"], self.c["norm_eps"])

    def weights(self, h, z, keys):
        kind, d = self.c["alignment"], h.shape[-1]
        if kind == "uniform":
            return torch.full(z.shape[:2], 1 / z.shape[1], dtype=z.dtype)
        if kind == "additive":
            e = torch.tanh(self.linear("decoder.query", h)[:, None] + keys) @ self.names["decoder.score.weight"][0]
        else:
            e = (keys @ h[..., None])[..., 0] * (d ** -0.5 if kind == "scaled" else 1)
        return e.softmax(-1)

    def cell(self, x_gates, h_gates, h, c):
        if self.c["decoder_type"] == "gru":
            (xr, xz, xn), (hr, hz, hn) = x_gates.chunk(3, -1), h_gates.chunk(3, -1)
            update, new = torch.sigmoid(xz + hz), torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
            return (1 - update) * new + update * h, None
        i, f, g, o = (x_gates + h_gates).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def first(self, z):
        v = self.linear("decoder.vector", z.flatten(1)) if self.c["alignment"] == "none" else z.mean(1)
        return self.linear("decoder.first_h", v), self.linear("decoder.first_c", v) if self.c["decoder_type"] == "lstm" else None

    def keys(self, z):
        return self.linear("decoder.key", z) if self.c["alignment"] in ("additive", "general") else z

    def step(self, word, z, keys, h, c):
        """word (N, D); returns h, c, what the output layer reads, and the weights (N, P)."""
        gates = F.linear(word, self.names["decoder.cell.weight_ih"], self.names["decoder.cell.bias_ih"])
        a = context = None
        if self.c["alignment"] != "none":
            a = self.weights(h, z, keys)
            context = (a[:, None] @ z)[:, 0]
            gates = gates + F.linear(context, self.names["decoder.cell.weight_ch"])
        h_gates = F.linear(h, self.names["decoder.cell.weight_hh"], self.names["decoder.cell.bias_hh"])
        h, c = self.cell(gates, h_gates, h, c)
        y = word + self.linear("decoder.out_hidden", h)
        return h, c, y if context is None else y + self.linear("decoder.out_context", context), a

    def forward(self, images, target):
        """target (N, T) token ids; returns the logits (N, T, V), and the weights (N, T, P) of a recurrent decoder."""
        z, words = self.encode(images), self.names["target_embedding.weight"][target]
        if self.c["decoder_type"] == "transformer":
            from test_transformer import sinusoids
            words = words + sinusoids(target.shape[1], self.c["d_model"]).to(words.dtype)
            future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
            return self.linear("output", self.decoder(words, z, tgt_mask=future)), None
        h, c = self.first(z)
        keys, outputs, seen = self.keys(z), [], []
        for t in range(target.shape[1]):
            h, c, y, a = self.step(words[:, t], z, keys, h, c)
            outputs.append(y), seen.append(a)
        return self.linear("output", torch.stack(outputs, 1)), None if seen[0] is None else torch.stack(seen, 1)
