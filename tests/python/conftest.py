"""Random numbers of tests: a new seed per run, or ATTN_SEED."""
import os
import random
import sys

import pytest


@pytest.fixture(scope="session")
def seed():
    n = int(os.environ.get("ATTN_SEED", random.SystemRandom().randrange(2**32)))
    print(f"ATTN_SEED={n}")
    return n


@pytest.fixture
def rng(seed, request):
    """A generator per test, independent of the other tests. Seeds PyTorch too, if it is imported."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed + sum(map(ord, request.node.name)))
    return random.Random(f"{seed} {request.node.name}")
