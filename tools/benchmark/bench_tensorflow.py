"""Times Keras on TensorFlow, `fit` on a tf.data pipeline, and prints one JSON line.

Strategies: one (one CPU device with all cores) | mirrored2 (MirroredStrategy on two CPU devices).
Needs: pip install tensorflow-cpu==2.21.0
"""
import fashion

measurement = fashion.Measurement()

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
from keras import layers
import tensorflow as tf

measurement.imported()


def two_cpu_replicas():
    cpu, = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def build(name):
    hidden = {
        "mlp": lambda: [layers.Flatten(), layers.Dense(512, "relu"), layers.Dense(512, "relu")],
        "cnn": lambda: [layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2),
                        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(2),
                        layers.Flatten(), layers.Dense(128, "relu")],
    }[name]()
    model = keras.Sequential([keras.Input((28, 28, 1)), *hidden, layers.Dense(10)])
    model.compile(optimizer=keras.optimizers.Adam(0.001), metrics=["accuracy"],
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


class Watch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        measurement.step_done()

    def on_epoch_begin(self, epoch, logs=None):
        measurement.begin_epoch()

    def on_epoch_end(self, epoch, logs=None):
        measurement.end_epoch()


def main():
    options = fashion.parse(__doc__, ["one", "mirrored2"])
    strategy = two_cpu_replicas() if options.strategy == "mirrored2" else tf.distribute.get_strategy()
    data = tf.data.Dataset.from_tensor_slices(fashion.training_set(options.data))
    data = data.shuffle(fashion.EXAMPLES).batch(options.batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    with strategy.scope():
        model = build(options.model)
    history = model.fit(data, epochs=1 + options.epochs, verbose=0, callbacks=[Watch()])
    measurement.report(f"TensorFlow {tf.__version__}", options, history.history["accuracy"][-1])


if __name__ == "__main__":
    main()
