"""What a test draws: anew in each run, and once more with ATTN_SEED=n."""
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
    """Of a test alone, whatever the others draw; and PyTorch's, where it is used, begins anew."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed + sum(map(ord, request.node.name)))
    return random.Random(f"{seed} {request.node.name}")
