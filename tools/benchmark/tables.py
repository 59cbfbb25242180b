"""What tools/benchmark/run prints: the machine and the Markdown tables."""
import datetime
import os
from pathlib import Path
import platform

OURS = ("mirrortrain", "2 replicas, 1 thread each")
RATIOS = [  # title, the rows of which the best counts
    ("TensorFlow, MirroredStrategy on 2 CPU replicas", [("tensorflow", "mirrored2")]),
    ("TensorFlow, one device", [("tensorflow", "one")]),
    ("PyTorch, its best", [("torch", strategy) for strategy in ("one", "compiled", "ddp2")]),
    ("JAX, its best", [("jax", strategy) for strategy in ("one", "sharded2")]),
    ("mirrortrain, 1 replica with 2 threads", [("mirrortrain", "1 replica, 2 threads")]),
]


def cpu_field(name):
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(name):
            return line.split(":", 1)[1].strip()
    return ""


def cpu_flags():
    return cpu_field("flags").split()


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    wide = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in cpu_flags()]
    return (f"{datetime.date.today()}, {cpu_field('model name')} ({' '.join(wide)}), {len(os.sched_getaffinity(0))} cores, "
            f"{memory:.0f} GiB, {system}, load before the start {os.getloadavg()[0]:.1f}")


def speed(results, tool, strategy, model, batch):
    result = results.get((tool, strategy, model, batch))
    return result["examples_per_second"] if result else 0


def row(*cells):
    print("| " + " | ".join(cells) + " |")


def print_tables(description, options, results, smallest):
    columns = [(model, batch) for model in options.models for batch in options.batches]
    print(f"\n{description}\n\nThousand examples per second, the time to the first step, and the most MiB of the largest process:\n")
    row("", *(f"{model} {batch}" for model, batch in columns), "first step after", "memory")
    row(*["---"] * (len(columns) + 3))
    for tool, strategy in dict.fromkeys(key[:2] for key in results):
        found = [results.get((tool, strategy, *column)) for column in columns]
        name = next((result["tool"] for result in found if result), tool)
        starts = [result["first_step_seconds"] for result in found if result]
        span = f"{min(starts):.2f} to {max(starts):.2f} s" if starts else ""
        row(f"{name}, {strategy}", *(f"{result['examples_per_second'] / 1000:.1f}" if result else "failed" for result in found),
            span, str(max((result.get("peak_mebibytes") or 0 for result in found if result), default=0) or ""))
    print(f"\nmirrortrain with {OURS[1]} is so many times as fast as:\n")
    row("", *(f"{model} {batch}" for model, batch in columns))
    row(*["---"] * (len(columns) + 1))
    for title, rows in RATIOS:
        best = [max(speed(results, *one, *column) for one in rows) for column in columns]
        ours = [speed(results, *OURS, *column) for column in columns]
        if any(best) and any(ours):
            row(title, *(f"{a / b:.2f}" if a and b else "" for a, b in zip(ours, best)))
    if smallest is not None:
        print(f"\nA whole one-step run of configs/tiny.yaml, start to exit: {smallest:.3f} s")
