"""What tools/benchmark/run does on a GPU: which runs there are, in which order, and how they are timed and told."""
import gzip
import itertools
import re
import struct
import subprocess

import tables

PRECISIONS = ["tf32", "float32", "mixed_bfloat16"]
PEERS = {"torch": ["one", "captured", "graphs", "compiled"], "jax": ["one", "epoch"]}
COMPILED = ("graphs", "compiled")  # they take a minute before the first step
# What is not on Fashion-MNIST: its batches, its precisions (None: all that are asked for), the examples of an epoch (of gpt2
# the windows of the plays), and the most epochs that are timed.
LARGE = {
    "resnet50": ([256], ["mixed_bfloat16"], 2560, 10),
    "lstm": ([128], None, 8192, 10),
    "gpt2": ([8], ["mixed_bfloat16"], 1152, 2),
    "vit": ([64], ["mixed_bfloat16"], 640, 3),
    "mobilenet": ([256], ["mixed_bfloat16"], 2560, 5),
}
MODELS = ["mlp", "cnn", *LARGE]
SMALL = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")


def made_up_data(small, folder, examples):
    """Writes a data set of so many pictures in Fashion-MNIST's files: the small one's, over and over. Its values look like pictures,
    and a step's time depends on nothing else."""
    for name, values_at, size in zip(SMALL, (16, 8), (28 * 28, 1)):
        content = gzip.open(small / name).read()
        header, values = content[:values_at], content[values_at:]
        whole = (values * (1 + examples * size // len(values)))[:examples * size]
        header = header[:4] + struct.pack(">I", examples) + header[8:]
        (folder / name).write_bytes(gzip.compress(header + whole, compresslevel=1))
    return folder


def tf32_key(program):
    """The configuration's key that turns tf32 off, as `training.tf32`; None where there is none."""
    reference = subprocess.run([program, "config", "reference"], capture_output=True, text=True).stdout
    section = None
    for line in reference.splitlines():
        if line.startswith("## "):
            section = line.split()[1]
        if re.match(r"\| `tf32` ", line):
            return f"{section}.tf32"
    return None


def settings_of(precision, key):
    """What makes mirrortrain compute in a precision, or None where it cannot be chosen."""
    if precision == "mixed_bfloat16":
        return ["training.precision=mixed_bfloat16"]
    if key is None:
        return ["training.precision=float32"] if precision == "tf32" else None  # tf32 is what float32 means then
    return ["training.precision=float32", f"{key}={'true' if precision == 'tf32' else 'false'}"]


def precisions_of(options, model):
    only = LARGE[model][1] if model in LARGE else None
    return [precision for precision in options.precisions if only is None or precision in only]


def epochs_of(options, model):
    return min(options.epochs, LARGE[model][3]) if model in LARGE else options.epochs


def jobs(options):
    """(model, batch, tool, strategy, precision, settings of mirrortrain) in the order of what one wants to know first: time may run
    out. Compiling comes last."""
    key = tf32_key(options.program) if "mirrortrain" in options.only else None
    found = []
    for model in options.models:
        batches = LARGE[model][0] if model in LARGE else options.batches
        for batch, precision in itertools.product(batches, precisions_of(options, model)):
            settings = settings_of(precision, key)
            if "mirrortrain" in options.only and settings is not None:
                found.append((model, batch, "mirrortrain", "1 GPU", precision, ["strategy.devices=[cuda:0]", *settings]))
            for peer, strategies in PEERS.items():
                if peer in options.only and (model not in LARGE or peer == "torch"):
                    found += [(model, batch, peer, strategy, precision, None) for strategy in strategies]
    return sorted(found, key=lambda job: (job[3] in COMPILED, options.precisions.index(job[4])))


def logging_settings(steps):
    """Step events at about each quarter of an epoch: in long ones after multiples of 16 steps, which a GPU gets together."""
    every = max(16, steps // 4 // 16 * 16) if steps >= 48 else max(1, steps // 4)
    return [f"logging.every_steps={every}", "logging.tensorboard=false"]


def epoch_speeds(events, steps):
    """Seconds per step in each epoch but the first, between its first and its last step event: a whole epoch of a small model
    is shorter than writing its checkpoint."""
    speeds = []
    for epoch in range(2, 1 + max(event.get("epoch", 1) for event in events)):
        inside = [event for event in events if event["event"] == "step" and (event["step"] - 1) // steps + 1 == epoch]
        if len(inside) > 1:
            first, last = inside[0], inside[-1]
            speeds.append((last["seconds"] - first["seconds"]) / (last["step"] - first["step"]))
    return speeds


def machine():
    """The GPUs and their driver as nvidia-smi tells them, after the rest of the machine."""
    try:
        gpus = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True).stdout.strip().replace("\n", "; ")
    except OSError:
        gpus = "GPU unknown: no nvidia-smi"
    return f"{tables.machine()}; {gpus}"


def print_tables(description, results):
    """`results`: (tool, "strategy, precision", model, batch) -> result or None. One row for each way, one column for each model and
    batch; then how many times as fast mirrortrain is as each peer's fastest way in the same precision."""
    columns = list(dict.fromkeys(key[2:] for key in results))
    names = [f"{model} {batch}" for model, batch in columns]
    print(f"\n{description}\n\nThousand examples per second, and the time to the first step:\n")
    tables.row("", *names, "first step after")
    tables.row(*["---"] * (len(columns) + 2))
    for way in dict.fromkeys(key[:2] for key in results):
        found = [results.get((*way, *column)) for column in columns]
        name = next((result["tool"] for result in found if result), way[0])
        starts = [result["first_step_seconds"] for result in found if result]
        tables.row(f"{name}, {way[1]}", *(f"{result['examples_per_second'] / 1000:.1f}" if result else "" for result in found),
                   f"{min(starts):.1f} to {max(starts):.1f} s" if starts else "failed")
    ratios = []
    for precision, peer in itertools.product(PRECISIONS, PEERS):
        best = [fastest(results, peer, precision, column) for column in columns]
        ours = [fastest(results, "mirrortrain", precision, column) for column in columns]
        if any(a and b for a, b in zip(ours, best)):
            ratios.append((f"{peer}'s best, {precision}", *(f"{a / b:.2f}" if a and b else "" for a, b in zip(ours, best))))
    if ratios:
        print("\nmirrortrain is so many times as fast as:\n")
        tables.row("", *names)
        tables.row(*["---"] * (len(columns) + 1))
        for ratio in ratios:
            tables.row(*ratio)


def fastest(results, tool, precision, column):
    return max((result["examples_per_second"] for key, result in results.items()
                if result and key[0] == tool and key[1].endswith(f", {precision}") and key[2:] == column), default=0)
