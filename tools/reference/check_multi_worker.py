"""Trains the same model on the same TF_CONFIG cluster with TensorFlow's MultiWorkerMirroredStrategy and with mirrortrain, and prints how
far their losses are apart: check_multi_worker.py MIRRORTRAIN [WORKERS]

Needs: pip install tensorflow-cpu==2.21.0. Both start every worker as a process of this machine, one after the other on the same ports,
from tests/golden/mirrored-binary-classifier: its data, its first weights, plain SGD.
"""
import json
import os
from pathlib import Path
import socket
import struct
import subprocess
import sys
import tempfile

import numpy as np

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "mirrored-binary-classifier"
BATCH, EPOCHS, LEARNING_RATE = 32, 5, 0.05  # as in its config.yaml


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])
    return tensors


def part_of(rows, worker, workers):
    """A worker's part of a global batch; the larger parts first."""
    count = rows.stop - rows.start
    sizes = [count // workers + (w < count % workers) for w in range(workers)]
    begin = rows.start + sum(sizes[:worker])
    return slice(begin, begin + sizes[worker])


def train_with_tensorflow(worker, workers):
    """One of the worker processes; worker 0 prints every step's loss."""
    import tensorflow as tf
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # reads TF_CONFIG
    features = np.load(GOLDEN / "features.npy")
    labels = np.load(GOLDEN / "labels.npy").reshape(-1, 1).astype(np.float32)
    initial = read_safetensors(GOLDEN / "initial.safetensors")
    with strategy.scope():
        weights = [tf.Variable(initial[name]) for name in ("dense/kernel", "dense/bias", "dense_1/kernel",
                                                           "dense_1/bias")]

    def replica_step(x, y, count):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(x @ weights[0] + weights[1])
            logits = hidden @ weights[2] + weights[3]
            loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(y, logits)) / count
        gradients = tape.gradient(loss, weights)
        context = tf.distribute.get_replica_context()
        gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        for weight, gradient in zip(weights, gradients):
            weight.assign_sub(LEARNING_RATE * gradient)
        return loss

    @tf.function
    def step(x, y, count):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica_step, args=(x, y, count)), axis=None)

    for _ in range(EPOCHS):
        for begin in range(0, len(features), BATCH):
            rows = slice(begin, min(begin + BATCH, len(features)))
            own = part_of(rows, worker, workers)
            loss = step(tf.constant(features[own]), tf.constant(labels[own]),
                        tf.constant(float(rows.stop - rows.start)))
            if worker == 0:
                print(float(loss), flush=True)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def start_all(command, cluster):
    """Runs the command once for each worker with its TF_CONFIG; returns worker 0's output."""
    processes = []
    for worker in range(len(cluster["worker"])):
        config = {"cluster": cluster, "task": {"type": "worker", "index": worker}}
        environment = {**os.environ, "TF_CONFIG": json.dumps(config), "TF_CPP_MIN_LOG_LEVEL": "3",
                       "CUDA_VISIBLE_DEVICES": ""}
        processes.append(subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL))
    outputs = [process.communicate()[0] for process in processes]
    assert all(process.returncode == 0 for process in processes), [process.returncode for process in processes]
    return outputs[0]


def main():
    executable, workers = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(workers)]}
    expected = [float(line) for line in start_all([sys.executable, __file__, "--tensorflow"], cluster).split()]
    with tempfile.TemporaryDirectory() as folder:
        start_all([executable, "fit", str(GOLDEN / "config.yaml"), "--run-dir", folder + "/run",
                   "--set", "strategy={type: multi_worker_mirrored, devices: [cpu:0]}"], cluster)
        events = [json.loads(line) for line in open(folder + "/run/metrics.jsonl")]
    found = [event["loss"] for event in events if event["event"] == "step"]
    assert len(found) == len(expected) > 0
    print(f"{len(found)} steps on {workers} workers: the losses differ by at most "
          f"{max(abs(a - b) / abs(b) for a, b in zip(found, expected)):.1e} (relative)")


if __name__ == "__main__":
    if sys.argv[1] == "--tensorflow":
        task = json.loads(os.environ["TF_CONFIG"])
        train_with_tensorflow(task["task"]["index"], len(task["cluster"]["worker"]))
    else:
        main()
