"""The task in Keras 3 on TensorFlow: model.fit with BackupAndRestore, which resumes by itself, and TerminateOnNaN.

Variant `no-randomness`: neither shuffling nor dropout. Variant `model-checkpoint`: ModelCheckpoint and load_model
in the place of BackupAndRestore.
"""

import os

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import keras
import numpy as np
import tensorflow as tf

import task

args = task.arguments()
keras.utils.set_random_seed(args.seed)
tf.config.experimental.enable_op_determinism()


class Files(keras.utils.PyDataset):
    """Reads an example's file when its batch is needed, in threads ahead of the steps."""

    def __init__(self, paths):
        super().__init__(workers=2, use_multiprocessing=False)
        self.paths = paths

    def __len__(self):
        return len(self.paths) // task.BATCH

    def __getitem__(self, index):
        paths = self.paths[index * task.BATCH : (index + 1) * task.BATCH]
        return np.stack([np.load(path) for path in paths]), np.array([task.label_of(path) for path in paths])


class Steps(keras.callbacks.Callback):
    """Stands before BackupAndRestore in the list of callbacks; `Saved` stands after it."""

    def on_train_batch_end(self, batch, logs=None):
        task.say(f"step {int(self.model.optimizer.iterations)}")

    def on_epoch_end(self, epoch, logs=None):
        task.say("saving")


class Saved(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        step = (self.model._initial_epoch or first_epoch) * steps_per_epoch
        task.say(f"resumed after step {step}")
        # The weights and the number of their epoch are two files; a kill between them leaves different ones.
        if int(self.model.optimizer.iterations) != step:
            task.say(f"but the weights are those after step {int(self.model.optimizer.iterations)}")

    def on_epoch_end(self, epoch, logs=None):
        task.say("saved")


model = keras.Sequential(
    [
        keras.Input((task.FEATURES,)),
        keras.layers.Dense(args.units, activation="relu"),
        *([] if args.variant == "no-randomness" else [keras.layers.Dropout(0.2)]),
        keras.layers.Dense(task.CLASSES),
    ]
)
rate = task.LEARNING_RATE
if args.break_after is not None:
    rate = keras.optimizers.schedules.PiecewiseConstantDecay([args.break_after], [rate, task.BROKEN_LEARNING_RATE])
model.compile(keras.optimizers.Adam(rate), keras.losses.SparseCategoricalCrossentropy(from_logits=True))

if args.files:
    data, options = (Files(task.example_files(args.files)),), {}
    steps_per_epoch = len(data[0])
else:
    data = task.arrays(args)
    options = {"batch_size": task.BATCH, "shuffle": args.variant != "no-randomness"}
    steps_per_epoch = len(data[0]) // task.BATCH

first_epoch = 0
if args.variant == "model-checkpoint":
    file = args.folder / "last.keras"
    keep = keras.callbacks.ModelCheckpoint(file)
    if file.exists():
        model = keras.models.load_model(file)
        first_epoch = int(model.optimizer.iterations) // steps_per_epoch
else:
    keep = keras.callbacks.BackupAndRestore(str(args.folder), double_checkpoint=True, delete_checkpoint=False)

callbacks = [
    Steps(),
    keras.callbacks.TerminateOnNaN(raise_error=True),
    keep,
    Saved(),
]
model.fit(*data, epochs=args.epochs, initial_epoch=first_epoch, callbacks=callbacks, verbose=0, **options)
task.say_result(model.get_weights(), args.folder)
