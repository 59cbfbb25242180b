"""Times a model of picture_models.py, sequence_models.py or layer_models.py in Keras or PyTorch, on made-up examples in memory, and prints one JSON line.

    bench_models.py --peer keras|torch|torch-compiled --model resnet20|mobilenet-v1|char-transformer|lstm|conv1d|... --batch 128 --examples 1280 --epochs 3

The first epoch warms up, the best of the others counts.
"""
import argparse
import json
import os
import time

import layer_models
import picture_models
import sequence_models

MODELS = {"resnet20": picture_models, "mobilenet-v1": picture_models,
          "char-transformer": sequence_models, "lstm": sequence_models,
          **dict.fromkeys(layer_models.LAYERS, layer_models)}


def keras_seconds(options):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    source = MODELS[options.model]
    x, y = source.data(options.model, options.examples)
    model = source.keras_model(options.model)
    seconds = []

    class Watch(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.begin = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            seconds.append(time.perf_counter() - self.begin)

    model.fit(x, y, options.batch, 1 + options.epochs, verbose=0, callbacks=[Watch()])
    return seconds


def torch_seconds(options):
    import torch
    from torch import nn
    source = MODELS[options.model]
    x, y = (torch.from_numpy(part) for part in source.data(options.model, options.examples))
    x = source.torch_inputs(x)
    model, optimizer = source.torch_model(options.model)
    run = torch.compile(model) if options.peer == "torch-compiled" else model
    clip_norm = getattr(source, "CLIP_NORM", {}).get(options.model)
    seconds = []
    for _ in range(1 + options.epochs):
        begin, correct = time.perf_counter(), 0
        for rows in torch.randperm(options.examples).split(options.batch):
            logits, labels = run(x[rows]).flatten(0, -2), y[rows].flatten()
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(logits, labels).backward()
            if clip_norm:
                nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
            optimizer.step()
            correct += (logits.detach().argmax(1) == labels).sum()
        seconds.append(time.perf_counter() - begin)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=["keras", "torch", "torch-compiled"], required=True)
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--examples", type=int, default=1280, help="a multiple of --batch")
    parser.add_argument("--epochs", type=int, default=3, help="timed epochs, after one that is not")
    options = parser.parse_args()
    seconds = (keras_seconds if options.peer == "keras" else torch_seconds)(options)
    print(json.dumps({"tool": options.peer, "model": options.model, "batch": options.batch,
                      "examples_per_second": round(options.examples / min(seconds[1:]), 1),
                      "epoch_seconds": [round(one, 3) for one in seconds]}), flush=True)


if __name__ == "__main__":
    main()
