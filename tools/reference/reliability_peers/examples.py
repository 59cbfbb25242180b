"""The examples that are trained on."""

import zlib

import numpy as np

EPOCH = 200  # steps: 6400 examples in batches of 32


def write_data(folder, seed=1, examples=32 * EPOCH):
    folder.mkdir(exist_ok=True)
    numbers = np.random.default_rng(seed)
    np.save(folder / "x.npy", numbers.standard_normal((examples, 64)).astype("float32"))
    np.save(folder / "y.npy", numbers.integers(0, 4, examples).astype("int32"))


def write_files(folder, pictures):
    """64 examples of 2 classes, a file each: pictures of 8 x 8, or arrays for the Python trainings. Returns one of them."""
    for example in range(64):
        label = example % 2
        if pictures:
            path = folder / str(label) / f"{example:02}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(np.random.default_rng(example).integers(0, 256, (8, 8, 3), "uint8")))
        else:
            path = folder / f"{example:02}-{label}.npy"
            folder.mkdir(exist_ok=True)
            np.save(path, np.random.default_rng(example).standard_normal(64).astype("float32"))
    return path


def png(pixels):
    height, width, _ = pixels.shape

    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])  # 8 bits, RGB
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
