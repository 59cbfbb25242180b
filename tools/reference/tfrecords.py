"""Writes tests/tfrecords/, which tests/data/tfrecord_test.cpp reads: five records in two files, with each kind of feature.

    python tools/reference/tfrecords.py

TensorFlow 2.21.0.
"""
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "tfrecords"


def example(i):
    raw = np.arange(6, dtype=np.uint8) + i
    halves = np.array([i, -i, i / 2], np.float32)
    picture = np.full((2, 3, 1), 40 * i, np.uint8)
    feature = tf.train.Feature
    return tf.train.Example(features=tf.train.Features(feature={
        "raw": feature(bytes_list=tf.train.BytesList(value=[raw.tobytes()])),
        "raw32": feature(bytes_list=tf.train.BytesList(value=[halves.tobytes()])),
        "floats": feature(float_list=tf.train.FloatList(value=halves)),
        "integers": feature(int64_list=tf.train.Int64List(value=[i, -i])),
        "picture": feature(bytes_list=tf.train.BytesList(value=[tf.io.encode_png(picture).numpy()])),
        "label": feature(int64_list=tf.train.Int64List(value=[i % 3])),
        "name": feature(bytes_list=tf.train.BytesList(value=[b"word"])),
        "empty": feature(),
    }))


def write(name, numbers, options=None):
    with tf.io.TFRecordWriter(str(FOLDER / name), options) as file:
        for i in numbers:
            file.write(example(i).SerializeToString(deterministic=True))


FOLDER.mkdir(exist_ok=True)
write("a.tfrecord", [0, 1, 2])
write("b.tfrecord.gz", [3, 4], tf.io.TFRecordOptions(compression_type="GZIP"))
