#!/usr/bin/env python3
"""The captioner against the same model in PyTorch: a training step (64 pictures, forward, backward, AdamW), and greedy
captions one by one; one thread, interleaved, in CPU time.

    bench/compare_captioner.py --command build/release/attn [--steps 20] [--repetitions 3]
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from timing import cpu_name

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "python"))
from captioner import VISION, Captioner

BATCH, WORDS, LENGTH = 64, 34, 11  # LENGTH: mean words of a caption, begin token included


def child_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def train_attn(command, config, steps, folder):
    """Seconds of CPU time for `steps` steps: a longer run less a shorter one."""
    def run(count):
        return child_seconds([command, "train", "captions", "--steps", str(count), "--threads", "1", "--validate-every",
                              "100000", "--max-validation-examples", "1", "--test-examples", "0", "--config",
                              json.dumps(config), "--overwrite", "-o", str(folder / "model.safetensors")])
    return run(steps + 2) - run(2)


class TorchRun:
    def __init__(self, config):
        self.model = Captioner(config)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.images = torch.rand(BATCH, 48, 48, 3) * 2 - 1
        self.lengths = torch.tensor([4, 10, 16] * BATCH)[:BATCH]  # of one, two and three objects
        self.target = torch.randint(4, WORDS, (BATCH, 16))
        self.labels = self.target.masked_fill(torch.arange(16) >= self.lengths[:, None], -100)

    def train(self, steps):
        start = time.thread_time()
        for _ in range(steps):
            self.optimizer.zero_grad()
            logits, _ = self.model(self.images, self.target)
            torch.nn.functional.cross_entropy(logits.flatten(0, 1), self.labels.flatten()).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        return time.thread_time() - start

    @torch.no_grad()
    def caption(self, count):
        m, start = self.model, time.thread_time()
        for n in range(count):
            z = m.encode(self.images[n % BATCH:n % BATCH + 1])
            (h, c), keys, word = m.first(z), m.keys(z), torch.tensor([1])
            for _ in range(LENGTH):
                h, c, y, _ = m.step(m.names["target_embedding.weight"][word], z, keys, h, c)
                word = m.linear("output", y).argmax(-1)
        return time.thread_time() - start


def caption_attn(command, folder, count):
    model = str(folder / "model.safetensors")
    run = lambda n: child_seconds([command, "caption", model, "--examples", str(n), "--threads", "1",
                                   "--max-new-tokens", str(LENGTH)])
    return run(count + 1) - run(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    base = VISION | {"vocab_size": WORDS, "d_model": 128, "head_dim": 64, "image_size": 48, "stage_channels": 32}
    print(f"# {cpu_name()}, PyTorch {torch.__version__}, one thread; minimum (median) of {options.repetitions}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for decoder in ({}, {"decoder_type": "gru"}):
            torch_run = TorchRun(base | decoder)
            torch_run.train(2)
            pairs = [(train_attn(options.command, decoder, options.steps, folder), torch_run.train(options.steps))
                     for _ in range(options.repetitions)]
            captions = [(caption_attn(options.command, folder, 200), torch_run.caption(200))
                        for _ in range(options.repetitions)]
            for what, times, count in (("training", pairs, options.steps * BATCH), ("captions", captions, 200)):
                ours, theirs = zip(*times)
                rate = lambda t: f"{count / min(t):7.0f} ({count / statistics.median(t):7.0f}) images/s"
                print(f"{decoder.get('decoder_type', 'lstm'):5} {what:9} attn {rate(ours)}  PyTorch {rate(theirs)}  "
                      f"ratio {min(theirs) / min(ours):.2f}", flush=True)


if __name__ == "__main__":
    main()
