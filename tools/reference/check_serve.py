#!/usr/bin/env python3
"""Compares what `mirrortrain serve RUN` answers, over HTTP and gRPC, with what `mirrortrain predict RUN` gives.

    pip install tritonclient[http,grpc] onnx onnxruntime numpy pyyaml pillow
    tools/reference/check_serve.py RUN... [--data FILE] [--program build/mirrortrain]

The examples are those of check_onnx.py, which has the rest of what is written here. Arrays have to have the same bits;
the numbers of tables, which are sent as float32, may differ by 1e-5.
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import tritonclient.grpc
import tritonclient.http
import yaml

import check_onnx

Info = collections.namedtuple("Info", "name shape type")


class Server:
    """A running `serve`, as check_onnx.py sees a session of ONNX Runtime."""

    def __init__(self, program, run):
        self.process = subprocess.Popen([program, "-q", "serve", run, "--port", "0", "--grpc-port", "0"],
                                        stdout=subprocess.PIPE, text=True)
        http, grpc = (self.process.stdout.readline().strip().split("//")[1] for _ in range(2))
        self.http = tritonclient.http.InferenceServerClient(http)
        self.grpc = tritonclient.grpc.InferenceServerClient(grpc)
        self.binary, self.over_grpc = True, False
        name = yaml.safe_load((run / "config.yaml").read_text()).get("name", run.name)
        self.model = self.http.get_model_metadata(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait() == 0, "serve did not end with 0"

    @staticmethod
    def info(tensor):
        shape = [extent if extent >= 0 else str(axis) for axis, extent in enumerate(tensor["shape"])]
        return Info(tensor["name"], shape, "tensor(string)" if tensor["datatype"] == "BYTES" else "tensor(float)")

    def get_inputs(self):
        return [self.info(tensor) for tensor in self.model["inputs"]]

    def get_outputs(self):
        return [self.info(tensor) for tensor in self.model["outputs"]]

    def run(self, outputs, fed):
        kind = tritonclient.grpc if self.over_grpc else tritonclient.http
        how = {} if self.over_grpc else {"binary_data": self.binary}
        inputs = []
        for name, value in fed.items():
            is_text = value.dtype == object
            sent = np.vectorize(lambda text: text.encode(), otypes=[object])(value) if is_text else value.astype(np.float32)
            inputs.append(kind.InferInput(name, sent.shape, "BYTES" if is_text else "FP32"))
            inputs[-1].set_data_from_numpy(sent, **how)
        wanted = [kind.InferRequestedOutput(name, **how) for name in outputs]
        answer = (self.grpc if self.over_grpc else self.http).infer(self.model["name"], inputs, outputs=wanted)
        return [answer.as_numpy(name) for name in outputs]


def compare(run, options, folder):
    program = [options.program]
    with Server(options.program, run) as server:
        infos = {info.name: info for info in server.get_inputs()}
        if options.data:
            asked, source = ["--data", options.data], {"format": pathlib.Path(options.data).suffix[1:]}
            fed = {next(iter(infos)): np.load(options.data)} if source["format"] == "npy" else None
        else:
            split, source = check_onnx.source_of(run)
            asked = ["--split", split]
            fed = check_onnx.arrays_of(source, list(infos))
        if fed is None and source["format"] == "csv":
            files = options.data or (source["files"] if "files" in source else source["file"])
            fed = check_onnx.table_of(files if isinstance(files, str) else files[0], server, run)
        if fed is None:
            asked, fed = check_onnx.made_up(source, server, folder, run)
        fed = {name: (value if value.dtype == object else check_onnx.shaped(value, infos[name]))[:check_onnx.MOST_ROWS]
               for name, value in fed.items()}
        worst = 0.0
        for server.binary, server.over_grpc in ((True, False), (False, False), (True, True)):
            if not server.binary and not server.over_grpc and any(value.dtype != object and np.isnan(value.astype(float)).any() for value in fed.values()):
                continue  # the client has no way to say NaN in JSON
            worst = max(worst, check_onnx.differences(program, run, asked, server, fed, folder))
        return worst, 1e-5 if source["format"] == "csv" else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--data")
    parser.add_argument("--program", default="build/mirrortrain")
    options = parser.parse_args()
    wrong = 0
    for run in options.runs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst, most = compare(run, options, pathlib.Path(folder))
                verdict = "equal" if worst <= most else "DIFFERS"
                print(f"{verdict}  {worst:.1e}  {run}", flush=True)
            except Exception as error:  # the next run all the same
                verdict = "FAILED"
                print(f"{verdict}  {run}: {str(error)[:600]}", flush=True)
        wrong += verdict != "equal"
    sys.exit(wrong)


if __name__ == "__main__":
    main()
