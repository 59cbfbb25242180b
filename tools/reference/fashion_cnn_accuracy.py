"""Trains the cnn of configs/fashion-cnn.yaml in Keras on all 60,000 examples and prints its test accuracy.

fashion_cnn_accuracy.py [--data FOLDER] [--seeds 1 2 3] [--epochs 10] [--batch 256]

One JSON line per seed: Keras's own initial weights and shuffling, Adam 0.001, pixels / 255.
Needs: pip install tensorflow-cpu==2.21.0.
"""
import argparse
import gzip
import json
import os
from pathlib import Path
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
from keras import layers
import numpy as np


def read(folder, split):
    images = gzip.open(folder / f"{split}-images-idx3-ubyte.gz").read()
    labels = gzip.open(folder / f"{split}-labels-idx1-ubyte.gz").read()
    images = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28, 1)
    return images.astype(np.float32) / 255, np.frombuffer(labels, np.uint8, offset=8).astype(np.int32)


def build():
    model = keras.Sequential([
        keras.Input((28, 28, 1)),
        layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(2),
        layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(10),
    ])
    model.compile(optimizer=keras.optimizers.Adam(0.001), metrics=["accuracy"],
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    train, test = read(options.data, "train"), read(options.data, "t10k")
    for seed in options.seeds:
        keras.backend.clear_session()
        keras.utils.set_random_seed(seed)
        start = time.time()
        model = build()
        history = model.fit(*train, batch_size=options.batch, epochs=options.epochs, shuffle=True, verbose=0).history
        loss, accuracy = model.evaluate(*test, batch_size=1000, verbose=0)
        print(json.dumps({"seed": seed, "epochs": options.epochs, "batch": options.batch, "keras": keras.__version__,
                          "train_loss": history["loss"][-1], "train_accuracy": history["accuracy"][-1],
                          "test_loss": loss, "test_accuracy": accuracy, "seconds": round(time.time() - start, 1)}),
              flush=True)


if __name__ == "__main__":
    main()
