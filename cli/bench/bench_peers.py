"""The helper of attn bench: runs attention of another program. Arguments: its name, threads. bench_peers.c describes the
requests. Inputs are dense; with strided=1 they are (B, L, H, E) in memory."""
import os
import resource
import sys
import time

stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # not mixed with what a library prints


class Cannot(Exception):
    pass


def reply(text, data=b""):
    stdout.write(text.encode() + b"\n" + data)
    stdout.flush()


def read_case(words):
    """The options, as strings and integers, and the inputs: name to (dtype, shape, bytes)."""
    case = dict(word.split("=", 1) for word in words)
    inputs = {}
    for item in filter(None, case.pop("inputs").split(";")):
        name, dtype, shape = item.split(":")
        shape = tuple(map(int, shape.split(",")))
        size = {"float32": 4, "bool": 1}.get(dtype, 2)
        for n in shape:
            size *= n
        inputs[name] = dtype, shape, bytearray(stdin.read(size))
    return {key: int(value) if value.isdigit() else value for key, value in case.items()}, inputs


# ---- PyTorch ----

class Torch:
    def __init__(self, threads):
        import torch
        self.torch, self.version = torch, torch.__version__
        torch.set_num_threads(threads)
        torch.manual_seed(0)

    def tensor(self, dtype, shape, data, strided):
        if strided:
            b, h, l, e = shape
            return self.torch.frombuffer(data, dtype=getattr(self.torch, dtype)).view(b, l, h, e).transpose(1, 2)
        return self.torch.frombuffer(data, dtype=getattr(self.torch, dtype)).view(shape)

    def prepare(self, case, inputs):
        """Returns the call, which returns tensors."""
        torch, F = self.torch, self.torch.nn.functional
        self.torch.set_num_threads(case["threads"])
        if case["path"] in ("train", "generate"):
            return (self.train if case["path"] == "train" else self.generate)(case)
        t = {name: self.tensor(*x, case["strided"] and len(x[1]) == 4) for name, x in inputs.items()}
        q, k, v = t["q"], t["k"], t["v"]
        mask = self.mask(case, t)
        options = {"attn_mask": mask, "is_causal": bool(case["causal"]) and mask is None,
                   "enable_gqa": q.shape[-3] != k.shape[-3]}
        sdpa = F.scaled_dot_product_attention
        scale = q.shape[-1] ** -0.5
        causal = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril().logical_not() if case["causal"] else None

        def weights(scores):
            return torch.softmax(scores if causal is None else scores.masked_fill(causal, -torch.inf), -1)

        if case["path"] == "backward":
            inputs = [x.requires_grad_() for x in (q, k, v)]
            with torch.enable_grad():
                out = sdpa(*inputs, **options)
            return lambda: torch.autograd.grad(out, inputs, t["d_o"], retain_graph=True)
        if case["path"] == "packed":
            lengths = [int(n) for n in str(case["lengths"]).split(",")]
            parts = list(zip(*(x[None].split(lengths, 2) for x in (q, k, v))))
            return lambda: [torch.cat([sdpa(*part, is_causal=bool(case["causal"])) for part in parts], 2)]
        if case["path"] == "summary":
            def summary():
                p = weights(q @ k.mT * scale)
                return p.sum(-2), *p.topk(case["top"], -1), torch.special.entr(p).sum(-1)
            return summary
        if case["path"] == "general":
            return lambda: [sdpa(q @ t["w"], k, v, scale=1.0)]
        if case["additive"]:
            return lambda: [weights(torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ t["additive"]) @ v]
        if case["softcap"]:
            cap = case["softcap"]
            return lambda: [weights(cap * torch.tanh(q @ k.mT * (scale / cap))) @ v]
        if case["weights"]:
            def with_weights():
                p = weights(q @ k.mT * scale)
                return p @ v, p
            return with_weights
        if case["lse"]:
            return lambda: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, bool(case["causal"]))
        if case["dropout"]:
            return lambda: [sdpa(q, k, v, dropout_p=0.1, **options)]
        return lambda: [sdpa(q, k, v, **options)]

    def train(self, case):
        """A step of AdamW, with random tokens."""
        torch = self.torch
        model = (decoder if case["decoder"] else encoder_decoder)(torch, case)
        source = torch.randint(4, case["vocab"], (case["batch"], case["tokens"]))
        target = torch.randint(4, case["vocab"], (case["batch"], case["tokens"] + 1))
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)

        def step():
            with torch.enable_grad():
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cpu", torch.bfloat16, enabled=case["dtype"] == "bf16"):
                    logits = model(source, target)
                    loss = torch.nn.functional.cross_entropy(logits.view(-1, case["vocab"]), target.view(-1))
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            return [loss.detach()]
        return step

    def generate(self, case):
        """generate() of transformers, with random weights and tokens."""
        try:
            import transformers
        except ImportError:
            raise Cannot("transformers is not installed") from None
        common = {"vocab_size": case["vocab"], "bos_token_id": 1, "eos_token_id": None, "pad_token_id": 0}
        if case["decoder"]:
            model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
                n_embd=case["width"], n_head=case["heads"], n_layer=case["layers"], n_positions=128, **common))
        else:
            sides = {f"{side}_{key}": case[name] for side in ("encoder", "decoder") for key, name in
                     [("layers", "layers"), ("attention_heads", "heads"), ("ffn_dim", "ffn")]}
            model = transformers.MarianMTModel(transformers.MarianConfig(
                d_model=case["width"], max_position_embeddings=128, decoder_start_token_id=1, forced_eos_token_id=None,
                activation_function="relu", **sides, **common))
        model.eval()
        source = self.torch.randint(4, case["vocab"], (case["batch"], case["tokens"]))
        options = {"attention_mask": self.torch.ones_like(source), "max_new_tokens": case["new"], "do_sample": False,
                   "min_new_tokens": case["new"], "num_beams": case["beams"]}
        return lambda: [model.generate(source, **options)]

    def mask(self, case, t):
        """ALiBi and windows as masks; float masks in the queries' type."""
        torch, rows, keys = self.torch, t["q"].shape[-2], t["k"].shape[-2]
        i, j = torch.arange(rows)[:, None], torch.arange(keys)
        if case["window"]:
            return (j <= i) & (j > i - case["window"])
        if case["alibi"]:
            bias = -t["slopes"][:, None, None] * (i - j).abs()
            return (bias.masked_fill(j > i, -torch.inf) if case["causal"] else bias).to(t["q"].dtype)
        mask = t.get("mask")
        return mask if mask is None or mask.dtype == torch.bool else mask.to(t["q"].dtype)

    def bytes(self, x):
        return x.float().contiguous().numpy()

    def guard(self):
        return self.torch.no_grad()


def decoder(torch, case):
    """GPT-2 as a plain module: pre-norm, learned positions, tied output."""
    nn, d = torch.nn, case["width"]

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.wide, self.narrow = nn.Linear(d, case["ffn"]), nn.Linear(case["ffn"], d)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = (y.view(b, t, case["heads"], -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(d, -1))
            o = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(o.transpose(1, 2).reshape(b, t, d))
            return x + self.narrow(nn.functional.gelu(self.wide(self.norm2(x)), approximate="tanh"))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(case["vocab"], d), nn.Embedding(128, d)
            self.layers, self.norm = nn.ModuleList(Layer() for _ in range(case["layers"])), nn.LayerNorm(d)

        def forward(self, source, target):
            x = self.tokens(target) + self.positions(torch.arange(target.shape[1]))
            for layer in self.layers:
                x = layer(x)
            return self.norm(x) @ self.tokens.weight.T
    return Decoder()


def encoder_decoder(torch, case):
    nn, d, t = torch.nn, case["width"], case["tokens"]

    class EncoderDecoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.source, self.target = nn.Embedding(case["vocab"], d), nn.Embedding(case["vocab"], d)
            self.middle = nn.Transformer(d, case["heads"], case["layers"], case["layers"], case["ffn"], 0.0,
                                         batch_first=True, norm_first=True)
            self.output, self.positions = nn.Linear(d, case["vocab"]), torch.randn(128, d)
            self.mask = nn.Transformer.generate_square_subsequent_mask(t + 1)

        def forward(self, source, target):
            return self.output(self.middle(self.source(source) * d ** 0.5 + self.positions[:t],
                                           self.target(target) * d ** 0.5 + self.positions[:t + 1],
                                           tgt_mask=self.mask, tgt_is_causal=True))
    return EncoderDecoder()


# ---- ONNX Runtime, OpenVINO: float32 through NumPy ----

def arrays(inputs):
    import numpy as np
    return {name: np.frombuffer(data, {"float32": "f4", "float16": "f2", "bool": "?"}[dtype]).reshape(shape)
            for name, (dtype, shape, data) in inputs.items()}


def require_plain(case, *also):
    """Refuses what has no operator."""
    for key, what in {"window": "windows", "alibi": "ALiBi", "softcap": "softcap", "weights": "returned weights",
                      "lse": "log-sum-exp", "additive": "additive scores", "dropout": "dropout",
                      "strided": "other layouts"}.items():
        if case[key] and key not in also:
            raise Cannot(f"no {what}")
    if case["path"] != "forward":
        raise Cannot({"backward": "no backward", "packed": "no packed sequences", "summary": "no summaries",
                      "general": "no general scores"}[case["path"]])


class Guarded:
    def guard(self):
        import contextlib
        return contextlib.nullcontext()

    def bytes(self, x):
        import numpy as np
        return np.ascontiguousarray(x, "f4")


class Onnxruntime(Guarded):
    """Attention of opset 23."""

    def __init__(self, threads):
        import onnx
        import onnxruntime
        self.ort, self.onnx, self.version = onnxruntime, onnx, onnxruntime.__version__

    def session(self, case, x):
        helper, kinds = self.onnx.helper, {"float32": 1, "float16": 10, "bool": 9}
        names = ["q", "k", "v"] + ["mask"] * ("mask" in x)
        node = helper.make_node("Attention", names, ["o"], is_causal=case["causal"], softcap=float(case["softcap"]))
        values = [helper.make_tensor_value_info(n, kinds[x[n].dtype.name], x[n].shape) for n in names]
        out = helper.make_tensor_value_info("o", kinds[x["q"].dtype.name], None)
        model = helper.make_model(helper.make_graph([node], "attention", values, [out]), ir_version=10,
                                  opset_imports=[helper.make_opsetid("", 23)])
        options = self.ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = case["threads"], 1
        options.log_severity_level = 4
        return self.ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]), names

    def prepare(self, case, inputs):
        require_plain(case, "softcap")
        if case["dtype"] == "bf16":
            raise Cannot("no bf16")
        x = arrays(inputs)
        if "mask" in x and x["mask"].shape[2] == 1:  # its rows do not broadcast
            x["mask"] = x["mask"].repeat(x["q"].shape[2], 2)
        session, names = self.session(case, x)
        binding = session.io_binding()
        for name in names:
            binding.bind_cpu_input(name, x[name])
        binding.bind_output("o", "cpu")

        def call():
            session.run_with_iobinding(binding)
            return binding
        return call

    def first(self, result):
        return result.copy_outputs_to_cpu()[0]


class Openvino(Guarded):
    def __init__(self, threads):
        import openvino
        self.ov, self.version = openvino, openvino.__version__.split("-")[0]

    def prepare(self, case, inputs):
        require_plain(case)
        if case["dtype"] != "f32":
            raise Cannot(f"no {case['dtype']}")
        x = arrays(inputs)
        if x["q"].shape[1] != x["k"].shape[1]:
            raise Cannot("no grouped heads")
        from openvino import opset13 as ops
        names = ["q", "k", "v"] + ["mask"] * ("mask" in x)
        parameters = [ops.parameter(x[n].shape, x[n].dtype.type, name=n) for n in names]
        node = ops.scaled_dot_product_attention(*parameters, causal=bool(case["causal"]))
        model = self.ov.Model([node], parameters, "attention")
        compiled = self.ov.Core().compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": str(case["threads"]), "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1"})
        request = compiled.create_infer_request()
        for n, name in enumerate(names):
            request.set_input_tensor(n, self.ov.Tensor(x[name], shared_memory=False))

        def call():
            request.infer()
            return request
        return call

    def first(self, result):
        return result.get_output_tensor(0).data


# ---- CTranslate2: generation ----

class Ctranslate2(Guarded):
    def __init__(self, threads):
        import ctranslate2
        self.ct2, self.version = ctranslate2, ctranslate2.__version__

    def prepare(self, case, inputs):
        import random
        import tempfile
        if case["decoder"]:
            raise Cannot("its decoders are not measured")
        with tempfile.TemporaryDirectory() as folder:
            words = random_translator(case, folder)
            kind = {"f32": "float32", "bf16": "bfloat16"}[case["dtype"]]
            translator = self.ct2.Translator(folder, compute_type=kind, inter_threads=1, intra_threads=case["threads"])
        source = [random.choices(words[3:], k=case["tokens"]) for _ in range(case["batch"])]

        def call():
            results = translator.translate_batch(source, beam_size=case["beams"], min_decoding_length=case["new"],
                                                 max_decoding_length=case["new"], max_batch_size=0)
            assert all(len(r.hypotheses[0]) == case["new"] for r in results)
            return [[0.0]]
        return call


def random_translator(case, folder):
    """Writes a model with random weights. Returns its words."""
    import numpy as np
    from ctranslate2.specs import TransformerSpec
    rng, d, f, v = np.random.default_rng(1), case["width"], case["ffn"], case["vocab"]

    def matrix(rows, columns):
        return (rng.standard_normal((rows, columns)) * columns ** -0.5).astype("f4")

    def linear(spec, rows, columns):
        spec.weight, spec.bias = matrix(rows, columns), np.zeros(rows, "f4")

    def norm(spec):
        spec.gamma, spec.beta = np.ones(d, "f4"), np.zeros(d, "f4")

    def attention(spec, rows):
        norm(spec.layer_norm)
        for part, count in zip(spec.linear, rows):
            linear(part, count, d)

    spec = TransformerSpec.from_config((case["layers"], case["layers"]), case["heads"], pre_norm=True)
    for side in (spec.encoder, spec.decoder):
        norm(side.layer_norm)
        side.position_encodings.encodings = matrix(128, d)
        for layer in side.layer:
            attention(layer.self_attention, (3 * d, d))
            if side is spec.decoder:
                attention(layer.attention, (d, 2 * d, d))
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, f, d), linear(layer.ffn.linear_1, d, f)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = matrix(v, d)
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = True
    linear(spec.decoder.projection, v, d)
    words = ["<unk>", "<s>", "</s>"] + [f"w{n}" for n in range(v - 3)]
    spec.register_source_vocabulary(words), spec.register_target_vocabulary(words)
    spec.validate(), spec.save(folder)
    return words


# ---- Requests ----

def timed(call, count, threads):
    limited = resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY
    clock = time.process_time if threads == 1 and not limited else time.perf_counter
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def serve(peer):
    call, threads = None, 1
    for line in iter(stdin.readline, b""):
        word, *words = line.decode().split()
        if word == "run":
            with peer.guard():
                reply(f"seconds {timed(call, int(words[0]), threads):.9g}")
            continue
        case, inputs = read_case(words)
        threads, call = case["threads"], None
        try:
            with peer.guard():
                call = peer.prepare(case, inputs)
                result = call()
                first = peer.first(result) if hasattr(peer, "first") else result[0]
                data = peer.bytes(first.transpose(1, 2) if case.get("strided") else first)
            reply(f"result {data.size}", data.tobytes())
        except Exception as error:
            reply("cannot " + (str(error) or type(error).__name__).replace("\n", " ")[:80])


def main():
    kinds = {"torch": Torch, "onnxruntime": Onnxruntime, "openvino": Openvino, "ctranslate2": Ctranslate2}
    try:
        peer = kinds[sys.argv[1]](int(sys.argv[2]))
    except Exception as error:
        return reply("absent " + ("not installed" if isinstance(error, ImportError) else str(error)[:80]))
    reply(f"ready {peer.version}")
    serve(peer)


main()
