"""Shared by the scripts of bench/."""
import time


def timed(call):
    """Seconds of call()."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cpu_name():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "?")
