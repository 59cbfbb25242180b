"""Makes data/fashion-pairs: pairs of pictures of data/fashion-mnist-small, and whether both show the same kind of clothing.

Needs numpy. Half of the pairs are of one kind, half of two. Pictures are half as wide and high, each pixel the mean of four, so that
the archives are small. The last tenth of train.npz, validation's, has pictures that the rest does not have; those of test.npz are of the
test examples.
"""
import gzip
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "data"


def read(split):
    pictures = gzip.open(DATA / "fashion-mnist-small" / f"{split}-images-idx3-ubyte.gz").read()
    kinds = gzip.open(DATA / "fashion-mnist-small" / f"{split}-labels-idx1-ubyte.gz").read()
    pictures = np.frombuffer(pictures, np.uint8, offset=16).reshape(-1, 14, 2, 14, 2)
    return np.rint(pictures.mean((2, 4))).astype(np.uint8), np.frombuffer(kinds, np.uint8, offset=8)


def pairs(random, pictures, kinds, count):
    left = random.integers(0, len(kinds), count)
    same = np.arange(count) % 2 == 0
    right = np.array([random.choice(np.flatnonzero((kinds == kinds[i]) == s)) for i, s in zip(left, same)])
    return {"left": pictures[left], "right": pictures[right], "same": same.astype(np.uint8)}


if __name__ == "__main__":
    folder = DATA / "fashion-pairs"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(2026)
    pictures, kinds = read("train")
    parts = [pairs(random, pictures[:1800], kinds[:1800], 3600), pairs(random, pictures[1800:], kinds[1800:], 400)]
    np.savez_compressed(folder / "train.npz", **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    np.savez_compressed(folder / "test.npz", **pairs(random, *read("t10k"), 500))
