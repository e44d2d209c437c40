"""Shared by the scripts of bench/."""
import time


def timed(call, clock=time.perf_counter):
    """Seconds of call()."""
    start = clock()
    call()
    return clock() - start


def cpu_name():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "?")
