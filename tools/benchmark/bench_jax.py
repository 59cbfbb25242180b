"""Times JAX, a jitted step that donates its buffers, and prints one JSON line.

Strategies on CPUs: one (one CPU device with all cores) | sharded2 (data-parallel over two CPU devices). On a GPU, where the data
stays: one (a step at a time, gather included) | epoch (a whole epoch in one call, with scan).
Needs: pip install jax optax; on a GPU jax[cuda13]
"""
import fashion

measurement = fashion.Measurement()

import os
import sys

if "sharded2" in sys.argv:  # has to be known before jax is imported
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax
from jax import numpy as jnp
import optax

measurement.imported()

KERNELS = {"mlp": [(784, 512), (512, 512), (512, 10)], "cnn": [(3, 3, 1, 32), (3, 3, 32, 64), (1600, 128), (128, 10)]}


def initial_parameters(model):
    keys = jax.random.split(jax.random.key(0), len(KERNELS[model]))
    glorot = jax.nn.initializers.glorot_uniform()
    return [(glorot(key, shape), jnp.zeros(shape[-1])) for key, shape in zip(keys, KERNELS[model])]


def forward(parameters, x):
    for kernel, bias in parameters[:-1]:
        if kernel.ndim == 4:
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x + bias)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        else:
            x = jax.nn.relu(x.reshape(len(x), -1) @ kernel + bias)
    kernel, bias = parameters[-1]
    return x @ kernel + bias


def update(optimizer, precision):
    def loss(parameters, x, y):
        if precision == "mixed_bfloat16":
            parameters, x = jax.tree.map(lambda array: array.astype(jnp.bfloat16), (parameters, x))
        logits = forward(parameters, x).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), (logits.argmax(1) == y).sum()

    def step(parameters, state, x, y):
        (_, correct), gradients = jax.value_and_grad(loss, has_aux=True)(parameters, x, y)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, correct

    return step


def make_step(optimizer):
    return jax.jit(update(optimizer, "float32"), donate_argnums=(0, 1))


def make_gpu_epoch(options, optimizer, images, labels):
    """A function that trains on the rows [steps, batch] of an epoch and returns how many it got right."""
    one_step = update(optimizer, options.precision)

    def from_rows(carry, rows):
        *variables, correct = carry
        *variables, hits = one_step(*variables, jnp.take(images, rows, axis=0), jnp.take(labels, rows, axis=0))
        return (*variables, correct + hits), None

    if options.strategy == "epoch":
        return jax.jit(lambda carry, order: jax.lax.scan(from_rows, carry, order)[0], donate_argnums=0)
    step = jax.jit(lambda carry, order, k: from_rows(carry, order[k])[0], donate_argnums=0)

    def epoch(carry, order):
        for k in range(len(order)):
            carry = step(carry, order, k)
            if measurement.first_step_seconds is None:
                jax.block_until_ready(carry)
                measurement.step_done()
        return carry

    return epoch


def train_on_gpu(options, device):
    if options.precision != "tf32":  # which is the default there
        jax.config.update("jax_default_matmul_precision", "highest")
    with jax.default_device(device):
        images, labels = (jax.device_put(array, device) for array in fashion.training_set(options.data))
        optimizer = optax.adam(0.001)
        parameters = initial_parameters(options.model)
        carry = (parameters, optimizer.init(parameters), jnp.zeros((), jnp.int32))
        train_epoch = make_gpu_epoch(options, optimizer, images, labels)
        steps = fashion.EXAMPLES // options.batch
        for epoch in range(1 + options.epochs):
            order = fashion.epoch_order(epoch)[:steps * options.batch].reshape(steps, options.batch)
            order = jax.device_put(order.astype("int32"), device)
            carry = jax.block_until_ready((*carry[:2], jnp.zeros((), jnp.int32)))
            measurement.begin_epoch()
            carry = jax.block_until_ready(train_epoch(carry, order))
            measurement.step_done()  # the first step's time where an epoch is one call
            measurement.end_epoch()
    measurement.report(f"JAX {jax.__version__}", options, int(carry[2]) / (steps * options.batch))


def main():
    options = fashion.parse(__doc__, ["one", "sharded2"], ["one", "epoch"])
    if options.device == "cuda":
        return train_on_gpu(options, jax.devices("gpu")[0])
    images, labels = fashion.training_set(options.data)
    optimizer = optax.adam(0.001)
    parameters = initial_parameters(options.model)
    state = optimizer.init(parameters)
    place = lambda array: array
    if options.strategy == "sharded2":
        mesh = jax.make_mesh((2,), ("replica",))
        split, copied = (jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes)) for axes in (["replica"], []))
        parameters, state = jax.device_put((parameters, state), copied)
        place = lambda array: jax.device_put(array, split)
    step = make_step(optimizer)
    steps = fashion.EXAMPLES // options.batch
    for epoch in range(1 + options.epochs):
        order = fashion.epoch_order(epoch)
        correct = 0
        measurement.begin_epoch()
        for k in range(steps):
            rows = order[k * options.batch:(k + 1) * options.batch]
            parameters, state, hits = step(parameters, state, place(images[rows]), place(labels[rows]))
            correct = correct + hits
            # Two steps in flight can take each other's threads on few cores and wait indefinitely in the all-reduce.
            if options.strategy == "sharded2" or measurement.first_step_seconds is None:
                jax.block_until_ready(parameters)
            measurement.step_done()
        jax.block_until_ready(parameters)
        measurement.end_epoch()
    measurement.report(f"JAX {jax.__version__}", options, int(correct) / (steps * options.batch))


if __name__ == "__main__":
    main()
