"""Makes the files of run-data, and reads them with its peers. Prints {"examples": N, "seconds": S}, of the best round.

bench_data.py make FOLDER {pictures,csv,tfrecord,position} [--gigabytes 10]
bench_data.py PEER FOLDER {pictures,csv,tfrecord,position} [--workers 2] [--epochs 2]
"""
import argparse
import json
from pathlib import Path
import time

PICTURES, ROWS, COLUMNS, RECORDS = 5000, 1_000_000, 20, 60_000


def make_pictures(folder):
    """JPEGs of about 500 x 375, quality 85, 4:2:0: smooth noise of several scales and some shapes, as photographs have in their spectrum."""
    import numpy as np
    from PIL import Image, ImageDraw
    random = np.random.default_rng(1)
    sources = []
    for _ in range(40):  # each seen through several windows
        picture = np.zeros((560, 700, 3), np.float32)
        for side, strength in ((4, 60), (12, 40), (40, 25), (120, 14), (350, 18)):
            noise = random.normal(0, strength, (side, side, 3)).astype(np.float32)
            picture += np.stack([np.asarray(Image.fromarray(noise[..., c]).resize((700, 560), Image.BICUBIC)) for c in range(3)], -1)
        image = Image.fromarray(np.clip(picture + 120 + random.normal(0, 9, picture.shape), 0, 255).astype(np.uint8))
        draw = ImageDraw.Draw(image)
        for _ in range(12):
            x, y, w, h = (int(v) for v in random.integers(0, 300, 4))
            getattr(draw, random.choice(["ellipse", "rectangle"]))((2 * x, y, 2 * x + w, y + h), fill=tuple(int(v) for v in random.integers(0, 255, 3)))
        sources.append(image)
    for i in range(PICTURES):
        width, height = int(random.integers(460, 540)), int(random.integers(345, 405))
        x, y = int(random.integers(0, 700 - width)), int(random.integers(0, 560 - height))
        target = folder / "pictures" / f"class-{i % 10}"
        target.mkdir(parents=True, exist_ok=True)
        sources[i % len(sources)].crop((x, y, x + width, y + height)).save(target / f"{i:05}.jpg", quality=85)


def make_csv(folder):
    import numpy as np
    import pandas
    random = np.random.default_rng(1)
    table = pandas.DataFrame({f"x{i}": random.normal(size=ROWS).round(6) for i in range(COLUMNS - 1)})
    table["y"] = random.integers(0, 10, ROWS)
    table.to_csv(folder / "table.csv", index=False)


def make_tfrecord(folder):
    import numpy as np
    import tensorflow as tf
    random = np.random.default_rng(1)
    with tf.io.TFRecordWriter(str(folder / "train.tfrecord")) as writer:
        for _ in range(RECORDS):
            image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[random.bytes(784)]))
            label = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(random.integers(10))]))
            writer.write(tf.train.Example(features=tf.train.Features(feature={"image": image, "label": label})).SerializeToString())


ROW = 32 * 32 * 3


def make_position(folder, gigabytes):
    """Pictures of 32 x 32 as bytes, x.npy, their classes, y.npy, and the first eighth of them, in-memory-x.npy and -y.npy."""
    import numpy as np
    rows = int(gigabytes * 1e9) // ROW // 8 * 8
    random = np.random.default_rng(1)
    block = random.integers(0, 256, (rows // 8, 32, 32, 3), dtype=np.uint8)
    labels = random.integers(0, 10, rows).astype(np.uint8)
    features = np.lib.format.open_memmap(folder / "x.npy", mode="w+", dtype=np.uint8, shape=(rows, 32, 32, 3))
    for i in range(8):
        features[i * len(block):(i + 1) * len(block)] = block ^ np.uint8(i * 36)
        features.flush()
    np.save(folder / "y.npy", labels)
    np.save(folder / "in-memory-x.npy", block)
    np.save(folder / "in-memory-y.npy", labels[:len(block)])


def timed(batches, count):
    """Seconds of so many batches, behind some that warm up."""
    at = iter(batches)
    for _ in range(count // 10):
        next(at)
    begin = time.perf_counter()
    examples = sum(len(next(at)[1]) for _ in range(count))
    return examples, time.perf_counter() - begin


def torch_position(options):
    import numpy as np
    import torch
    torch.set_num_threads(1)
    features, labels = np.load(options.folder / "x.npy", mmap_mode="r"), np.load(options.folder / "y.npy")

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return len(labels)

        def __getitem__(self, row):
            return torch.from_numpy(features[row].astype(np.float32)), int(labels[row])
    return timed(torch.utils.data.DataLoader(Rows(), 256, shuffle=True, num_workers=options.workers), options.batches)


def tensorflow_position(options):
    """Shuffled in a buffer as large as data.memory: not the exact shuffle of the others, but read in the order of the file."""
    import numpy as np
    import tensorflow as tf
    labels = np.load(options.folder / "y.npy")
    header = (options.folder / "x.npy").stat().st_size - len(labels) * ROW
    records = tf.data.FixedLengthRecordDataset(str(options.folder / "x.npy"), ROW, header)
    rows = tf.data.Dataset.zip((records, tf.data.Dataset.from_tensor_slices(labels))).shuffle((256 << 20) // ROW).batch(256)
    batches = rows.map(lambda x, y: (tf.cast(tf.io.decode_raw(x, tf.uint8, fixed_length=ROW), tf.float32), y), tf.data.AUTOTUNE)
    settings = tf.data.Options()
    settings.threading.private_threadpool_size = options.workers
    return timed(batches.prefetch(tf.data.AUTOTUNE).with_options(settings), options.batches)


def disk_position(options):
    """What the disk itself gives of rows at random places, by as many threads."""
    import mmap
    import os
    import random
    import threading
    file = os.open(options.folder / "x.npy", os.O_RDONLY | os.O_DIRECT)
    size, count = os.fstat(file).st_size // 4096 - 2, options.batches * 256 // options.workers

    def read():
        buffer = mmap.mmap(-1, 8192)
        for _ in range(count):
            os.preadv(file, [memoryview(buffer)[:4096]], random.randrange(size) * 4096)
    threads = [threading.Thread(target=read) for _ in range(options.workers)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count * options.workers, time.perf_counter() - begin


def best_of(epochs, read):
    """After one epoch that warms up."""
    seconds = []
    for _ in range(1 + epochs):
        begin = time.perf_counter()
        examples = read()
        seconds.append(time.perf_counter() - begin)
    return examples, min(seconds[1:])


def torch_pictures(options, decode):
    import torch
    import torchvision
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    if decode == "pil":
        loader = torchvision.datasets.folder.default_loader
        steps = [v2.Resize((256, 256)), v2.RandomCrop(224), v2.RandomHorizontalFlip(), v2.ToImage()]
    else:
        loader = lambda path: torchvision.io.decode_jpeg(torchvision.io.read_file(path), torchvision.io.ImageReadMode.RGB)
        steps = [v2.Resize((256, 256), antialias=False), v2.RandomCrop(224), v2.RandomHorizontalFlip()]
    steps.append(v2.ToDtype(torch.float32))
    folder = torchvision.datasets.ImageFolder(options.folder / "pictures", v2.Compose(steps), loader=loader)
    batches = torch.utils.data.DataLoader(folder, 64, shuffle=True, num_workers=options.workers, persistent_workers=True)

    def read():
        return sum(len(labels) for _, labels in batches)
    return best_of(options.epochs, read)


def tensorflow_pictures(options):
    import tensorflow as tf
    files = [str(path) for path in sorted((options.folder / "pictures").glob("*/*.jpg"))]

    def load(path):
        picture = tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (256, 256))
        return tf.image.random_flip_left_right(tf.image.random_crop(picture, (224, 224, 3)))
    batches = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files)).map(load, tf.data.AUTOTUNE).batch(64).prefetch(tf.data.AUTOTUNE)
    settings = tf.data.Options()
    settings.threading.private_threadpool_size = options.workers
    settings.deterministic = False
    batches = batches.with_options(settings)
    return best_of(options.epochs, lambda: sum(len(batch) for batch in batches))


def pandas_csv(options):
    import pandas
    return best_of(options.epochs, lambda: len(pandas.read_csv(options.folder / "table.csv", engine="c")))


def tensorflow_tfrecord(options):
    import tensorflow as tf
    features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def parse(records):
        parsed = tf.io.parse_example(records, features)
        return tf.io.decode_raw(parsed["image"], tf.uint8, fixed_length=784), parsed["label"]
    batches = tf.data.TFRecordDataset(str(options.folder / "train.tfrecord")).batch(1024).map(parse, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    settings = tf.data.Options()
    settings.threading.private_threadpool_size = options.workers
    batches = batches.with_options(settings)
    return best_of(options.epochs, lambda: sum(len(labels) for _, labels in batches))


PEERS = {("torchvision", "pictures"): lambda options: torch_pictures(options, "tensor"),
         ("torchvision-pil", "pictures"): lambda options: torch_pictures(options, "pil"),
         ("tf.data", "pictures"): tensorflow_pictures,
         ("pandas", "csv"): pandas_csv,
         ("tf.data", "tfrecord"): tensorflow_tfrecord,
         ("torch", "position"): torch_position,
         ("tf.data", "position"): tensorflow_position,
         ("disk", "position"): disk_position}
MAKE = {"pictures": make_pictures, "csv": make_csv, "tfrecord": make_tfrecord, "position": make_position}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer")
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", choices=MAKE)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--gigabytes", type=float, default=10)
    options = parser.parse_args()
    if options.peer == "make":
        options.folder.mkdir(parents=True, exist_ok=True)
        return MAKE[options.what](options.folder, *([options.gigabytes] if options.what == "position" else []))
    examples, seconds = PEERS[options.peer, options.what](options)
    print(json.dumps({"examples": examples, "seconds": round(seconds, 4)}))


if __name__ == "__main__":
    main()
