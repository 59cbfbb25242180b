#!/usr/bin/env python3
"""Compares what ONNX Runtime computes from `mirrortrain export RUN` with what `mirrortrain predict RUN` gives.

    pip install onnx onnxruntime numpy pyyaml pillow
    tools/reference/check_onnx.py RUN... [--data FILE] [--program build/mirrortrain] [--raw]

For each run, the examples are those of FILE (.npy, .npz, .csv or a picture), else those of its test, validation or
training data if they are arrays or a table. Every output is compared at batch sizes 1, 3 and 7; the largest difference
allowed is 1e-5, relative to numbers above 1. The exit code is the number of runs that differ.
"""
import argparse
import csv
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import yaml

BATCH_SIZES = (1, 3, 7)
MOST_ROWS = 60


def idx_array(path):
    raw = pathlib.Path(path).read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    axes = raw[3]
    dims = np.frombuffer(raw, ">i4", axes, 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(dims)


def source_of(run):
    data = yaml.safe_load((run / "config.yaml").read_text())["data"]
    for split in ("test", "validation", "train"):
        source = data.get(split)
        if isinstance(source, dict) and "format" in source:
            return split, source
    raise SystemExit(f"{run}: no split whose examples can be read; give --data")


def file_of(value):
    return value["file"] if isinstance(value, dict) else value


def arrays_of(source, names):
    """The examples of each input as arrays; None for formats that are read in another way."""
    kind = source["format"]
    fields = {names[0]: source.get("features")}
    if source.get("inputs"):
        fields = source["inputs"]
    if kind == "npy":
        return {name: np.load(file_of(value)) for name, value in fields.items()}
    if kind == "npz":
        stored = np.load(source["file"])
        return {name: stored[value or "x"] for name, value in fields.items()}
    if kind == "inline":
        return {name: np.array(value, np.float64) for name, value in fields.items()}
    if kind == "idx":
        if "images" in source:
            fields = {names[0]: source["images"]}
        return {name: idx_array(file_of(value)) for name, value in fields.items()}
    return None


def table_of(path, session, run):
    """The columns of a table by the inputs of the file: words by their column's name, numbers in the run's order."""
    kept = json.loads((run / "preprocessing.json").read_text())["table"] if (run / "preprocessing.json").exists() else None
    text = pathlib.Path(path).read_text()
    delimiter = max(",;\t|", key=text.partition("\n")[0].count)
    rows = list(csv.reader(text.splitlines(), delimiter=delimiter))[: MOST_ROWS + 1]
    if kept and not kept.get("header"):
        header = [f"column_{column}" for column in range(len(rows[0]))]
    else:
        header, rows = rows[0], rows[1:]
    fed = {}
    for info in session.get_inputs():
        if info.type == "tensor(string)":
            at = header.index(info.name)
            fed[info.name] = np.array([[row[at]] for row in rows], object)
            continue
        fed[info.name] = number_columns(kept, info, header, rows, pathlib.Path(path).parent)
    return fed


def number_columns(kept, info, header, rows, folder):
    own = (kept.get("inputs") or {}).get(info.name) if kept else None
    if own and own.get("as") == "picture":
        return [picture_of(folder / row[own["column"]], info) for row in rows]
    encoded = {one["column"] for one in kept["features"] if one.get("encoding") or one.get("crossing")} if kept else set()
    listed = own["columns"] if own else [one["column"] for one in kept["features"]]
    numbers = [column for column in listed if column not in encoded]
    missing = set(kept.get("missing_values", [])) | {""}
    at = [header.index(kept["header"][column]) if kept.get("header") else column for column in numbers]
    values = [[np.nan if row[i] in missing else float(row[i]) for i in at] for row in rows]
    return np.array(values, np.float32)


def picture_of(path, info):
    from PIL import Image
    picture = Image.open(path).convert("L" if info.shape[-1] == 1 else "RGB")
    return np.asarray(picture, np.float32).reshape([picture.height, picture.width, -1])


def made_up(source, session, folder, run):
    """Examples of the inputs' shapes, in a file for predict: whole numbers for texts, colors for pictures."""
    random = np.random.default_rng(5)
    fed = {}
    for info in session.get_inputs():
        size = source.get("image_size") or model_size(run)
        shape = [11, *(extent if isinstance(extent, int) else size[axis % 2] for axis, extent in enumerate(info.shape[1:]))]
        if source["format"] in ("text", "csv"):
            fed[info.name] = random.integers(0, 10, shape)
        elif source["format"] in ("image_folder", "tfrecord"):
            fed[info.name] = random.integers(0, 256, shape)
        else:
            fed[info.name] = random.standard_normal(shape)
        fed[info.name] = fed[info.name].astype(np.float32)
    file = folder / ("made_up.npz" if len(fed) > 1 else "made_up.npy")
    np.savez(file, **fed) if len(fed) > 1 else np.save(file, next(iter(fed.values())))
    return ["--data", file], fed


def model_size(run):
    return (yaml.safe_load((run / "config.yaml").read_text())["model"]["input_shape"] or [])[:2]


def shaped(array, info):
    """float32 with the axes that the input has: extents of one come and go."""
    array = np.asarray(array, np.float32)
    rank = len(info.shape)
    fixed = all(isinstance(extent, int) for extent in info.shape[1:])
    if fixed and array[0].size == np.prod(info.shape[1:], dtype=int):
        return array.reshape([len(array), *info.shape[1:]])
    return array if array.ndim == rank else array.reshape([*array.shape, 1])


def compare(run, options, folder):
    program = [options.program]
    file = folder / "model.onnx"
    subprocess.run([*program, "-q", "export", run, "-o", file, *(["--raw"] if options.raw else [])],
                   check=True, stdout=subprocess.DEVNULL)
    onnx.checker.check_model(str(file), full_check=True)
    again = folder / "again.onnx"
    subprocess.run([*program, "-q", "export", run, "-o", again, *(["--raw"] if options.raw else [])],
                   check=True, stdout=subprocess.DEVNULL)
    assert file.read_bytes() == again.read_bytes(), "two exports differ"
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    infos = {info.name: info for info in session.get_inputs()}
    asked, fed = [], None
    if options.data:
        asked = ["--data", options.data]
        ending = pathlib.Path(options.data).suffix
        if ending == ".npy":
            fed = {next(iter(infos)): np.load(options.data)}
        elif ending == ".npz":
            stored = np.load(options.data)
            fed = {name: stored[name] for name in infos}
        elif ending == ".csv":
            fed = table_of(options.data, session, run)
        else:
            info = next(iter(infos.values()))
            fed = {info.name: picture_of(options.data, info)[None]}
    else:
        split, source = source_of(run)
        asked = ["--split", split]
        fed = arrays_of(source, list(infos))
        if fed is None and source["format"] == "csv" and not options.raw:
            files = source["files"] if "files" in source else source["file"]
            fed = table_of(files if isinstance(files, str) else files[0], session, run)
    if fed is None:
        asked, fed = made_up(source, session, folder, run)
    fed = {name: (value if isinstance(value, list) or value.dtype == object else shaped(value, infos[name]))[:MOST_ROWS]
           for name, value in fed.items()}
    return differences(program, run, asked, session, fed, folder)


def differences(program, run, asked, session, fed, folder):
    outputs = [info.name for info in session.get_outputs()]
    asked = [*asked, "--set", "training.precision=float32"]  # what the file computes in
    worst = 0.0
    for probabilities in (False, True):
        file = folder / "predicted.npz"
        subprocess.run([*program, "-q", "predict", run, *asked, "-o", file, *(["--probabilities"] if probabilities else [])],
                       check=True)
        predicted = np.load(file)
        wanted = {}
        for name in predicted.files:
            if not probabilities:
                wanted[name] = predicted[name]
            else:
                for candidate in ("probabilities", name + "_probabilities"):
                    if candidate in outputs and (candidate != "probabilities" or len(predicted.files) == 1):
                        wanted[candidate] = predicted[name]
        for size in BATCH_SIZES:
            rows = min(len(next(iter(fed.values()))), len(next(iter(predicted.values()))))
            lists = [value for value in fed.values() if isinstance(value, list)]
            if size > 1 and any(len({one.shape for one in value}) > 1 for value in lists):
                continue  # pictures of several sizes go one by one
            parts = [session.run(list(wanted), {name: np.stack(value[i : min(i + size, rows)]) for name, value in fed.items()})
                     for i in range(0, rows, size)] if wanted else []
            for number, name in enumerate(wanted):
                got = np.concatenate([part[number] for part in parts])
                expected = wanted[name][: len(got)]
                assert got.shape == expected.shape, f"{name}: {got.shape} rather than {expected.shape}"
                assert np.array_equal(np.isnan(got), np.isnan(expected)), f"{name}: NaN elsewhere"
                difference = np.nan_to_num(np.abs(got - expected) / np.maximum(1, np.abs(expected)))
                worst = max(worst, float(difference.max(initial=0)))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--data")
    parser.add_argument("--raw", action="store_true")
    parser.add_argument("--program", default="build/mirrortrain")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    options = parser.parse_args()
    wrong = 0
    for run in options.runs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst = compare(run, options, pathlib.Path(folder))
                verdict = "equal" if worst <= options.tolerance else "DIFFERS"
                print(f"{verdict}  {worst:.1e}  {run}", flush=True)
            except (subprocess.CalledProcessError, SystemExit, Exception) as error:  # the next run all the same
                verdict, worst = "FAILED", None
                print(f"{verdict}  {run}: {str(error)[:600]}", flush=True)
        wrong += verdict != "equal"
    sys.exit(wrong)


if __name__ == "__main__":
    main()
