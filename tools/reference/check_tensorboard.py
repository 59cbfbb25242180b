"""Prints what TensorBoard's own reader sees in a run's events: check_tensorboard.py RUN_FOLDER_OR_FILE [MODEL.keras]

Of a folder also its sub-runs. Histograms of weights at the steps of checkpoints are compared with what tf.summary makes of
model.safetensors there, pictures are decoded. Where plain sgd moved the weights between the checkpoints of two steps in a row
(checkpoint: {every_steps: 1, keep: 1000}), that gives the gradient, whose norms and range are compared. The graph is compared
with the one that TensorBoard makes of MODEL.keras, which `export RUN --raw` has written. Ends with 1 where the reader finds no
scalars, where steps are out of order or twice, or where anything compared is wrong. Needs: pip install tensorboard numpy
safetensors pillow pyyaml.
"""
import io
import json
from pathlib import Path
import sys
import zipfile

import numpy as np
from PIL import Image
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.plugins.graph.keras_util import keras_model_to_graph_def
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.util import tensor_util
import yaml

wrong = []


def check(is_right, what):
    if not is_right:
        wrong.append(what)
    return "" if is_right else "  WRONG"


def order(name, points):
    steps = [point.step for point in points]
    rising = all(a < b for a, b in zip(steps, steps[1:]))
    return f"steps {steps[0]} to {steps[-1]} {'in order' if rising else 'OUT OF ORDER'}{check(rising, name)}"


def array(point):
    return tensor_util.make_ndarray(point.tensor_proto)


def weights_at(run, step):
    file = run / "checkpoints" / f"step-{step:06}" / "model.safetensors"
    return load_file(file) if file.exists() else {}


def plain_rate(run):
    """The learning rate of sgd that changes weights by its product with the gradient alone; None for other updates."""
    config = yaml.safe_load((run / "config.yaml").read_text()) if (run / "config.yaml").exists() else {}
    optimizer, gradients = config.get("optimizer") or {}, config.get("gradients") or {}
    is_plain = (isinstance(optimizer, dict) and optimizer.get("type") == "sgd" and not optimizer.get("momentum")
                and not optimizer.get("weight_decay") and not optimizer.get("clipnorm")
                and not gradients.get("clip_norm") and not gradients.get("clip_value")
                and gradients.get("accumulate_steps", 1) == 1)
    rate = optimizer.get("learning_rate") if is_plain else None
    return rate if isinstance(rate, (int, float)) else None


def gradients_at(run, step):
    """What moved each variable in a step, and how much of it may be the weights' rounding."""
    rate = plain_rate(run)
    before, after = weights_at(run, step - 1), weights_at(run, step)
    if rate is None or not before or not after:
        return {}
    rounding = lambda w: 1.2e-7 * (np.abs(w).max() + 1e-3) / rate
    return {name: ((w.astype(np.float64) - after[name]) / rate, rounding(w)) for name, w in before.items()}


def compare_norms(run, tag, points):
    """The number of norms compared: of a layer, or of all."""
    layer, compared = tag.removeprefix("gradient_norm").removeprefix("/"), 0
    for point in points:
        found = {name: of for name, of in gradients_at(run, point.step).items()
                 if not layer or name.startswith(layer + "/")}
        if not found:
            continue
        expected = np.sqrt(sum((gradient ** 2).sum() for gradient, _ in found.values()))
        slack = np.sqrt(sum(gradient.size * rounding ** 2 for gradient, rounding in found.values()))
        norm = array(point).item()
        check(abs(norm - expected) <= 1e-5 * expected + slack,
              f"{tag} at step {point.step}: {norm} instead of {expected}")
        compared += 1
    return compared


def print_scalar(run, tag, points):
    compared = compare_norms(run, tag, points) if tag.startswith("gradient_norm") else 0
    print(f"{tag}: {len(points)} points, {order(tag, points)}, last value {array(points[-1]).item():.9g}, "
          f"{points[-1].wall_time - points[0].wall_time:.3f} s" +
          (f", {compared} equal to the weights' moves" if compared else ""))


def print_gradient_histogram(run, tag, points):
    compared = 0
    for point in points:
        of = gradients_at(run, point.step).get(tag.removesuffix("/gradient_histogram"))
        if of is None:
            continue
        gradient, rounding = of
        found = array(point)
        same = (found[:, 2].sum() == gradient.size and abs(found[0, 0] - gradient.min()) <= rounding
                and abs(found[-1, 1] - gradient.max()) <= rounding)
        counts, _ = np.histogram(gradient, bins=np.append(found[:, 0], found[-1, 1]))
        near = np.abs(counts - found[:, 2]).sum() <= max(2, 0.05 * gradient.size)  # rounding moves some over an edge
        check(same and near, f"{tag} at step {point.step}: {found} instead of {counts}")
        compared += 1
    print(f"{tag}: {len(points)} histograms, {order(tag, points)}, {compared} as numpy.histogram's of the weights' moves")


def print_histogram(run, tag, points):
    compared = 0
    for point in points:
        weights = weights_at(run, point.step).get(tag.removesuffix("/histogram"))
        if weights is None:
            continue
        expected = tensor_util.make_ndarray(histogram_pb(tag, weights).value[0].tensor)
        found = array(point)
        same = np.array_equal(found[:, 2], expected[:, 2]) and np.allclose(found, expected, rtol=1e-14, atol=0)
        check(same, f"{tag} at step {point.step}: {found} instead of {expected}")
        compared += 1
    last = array(points[-1])
    print(f"{tag}: {len(points)} histograms, {order(tag, points)}, {compared} equal to tf.summary's; the last of "
          f"{int(last[:, 2].sum())} numbers from {last[0, 0]:.6g} to {last[-1, 1]:.6g}")


def print_pictures(tag, points):
    for point in points:
        width, height, *files = array(point)
        sizes = {Image.open(io.BytesIO(file)).size for file in files}
        good = sizes == {(int(width), int(height))}
        print(f"{tag}: step {point.step}: {len(files)} pictures of {int(width)} x {int(height)}"
              f"{check(good, f'{tag}: sizes {sizes}')}")


def print_graph(graph, model):
    for node in graph.node:
        shape = [dim.size for dim in node.attr["_output_shapes"].list.shape[0].dim]
        print(f"graph: {node.name} ({node.op}) of {list(node.input)}: {shape}, "
              f"{node.attr['parameters'].i if 'parameters' in node.attr else 0} parameters")
    if model is None:
        return
    config = json.loads(zipfile.ZipFile(model).read("config.json"))
    scope = len(config["config"]["name"]) + 1
    expected = {node.name[scope:]: [name[scope:] for name in node.input] for node in
                keras_model_to_graph_def(config).node}
    found = {node.name: list(node.input) for node in graph.node}
    print(f"graph: {len(expected)} nodes as TensorBoard makes them of {model}"
          f"{check(found == expected, f'graph: {found} instead of {expected}')}")


def print_run(run, folder, model):
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0})  # 0: keep every point
    events.Reload()
    tags = events.Tags()
    scalars = 0
    for tag in sorted(tags["tensors"]):
        plugin = events.SummaryMetadata(tag).plugin_data.plugin_name
        points = events.Tensors(tag)
        if plugin == "scalars":
            scalars += 1
            print_scalar(run, tag, points)
        elif tag.endswith("/gradient_histogram"):
            print_gradient_histogram(run, tag, points)
        elif plugin == "histograms":
            print_histogram(run, tag, points)
        elif plugin == "images":
            print_pictures(tag, points)
        elif plugin == "text":
            lines = [array(point).item().decode().count("\n") for point in points]
            print(f"{tag}: texts of {lines} lines, {order(tag, points)}")
        elif plugin != "graphs":  # printed below
            print(f"{tag}: {len(points)} tensors of the plugin {plugin}")
    if tags["graph"]:
        print_graph(events.Graph(), model)
    return scalars


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    run = Path(sys.argv[1])
    folders = [run] + sorted({file.parent for file in run.glob("*/events.out.tfevents.*")})
    scalars = 0
    for folder in folders:
        if len(folders) > 1:
            print(f"[{folder.relative_to(run)}]")
        scalars += print_run(run, folder, *sys.argv[2:] or [None])
    if scalars == 0:
        sys.exit(f"{run}: TensorBoard's reader finds no scalars")
    for what in wrong:
        print(f"wrong: {what}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
