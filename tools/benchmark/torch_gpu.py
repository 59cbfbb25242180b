"""How bench_torch.py trains on a GPU: the data stays there, and nothing waits for the GPU inside an epoch.

Strategies: one (eager) | compiled (forward, loss and backward through torch.compile) | graphs (the same with
mode="reduce-overhead", which replays CUDA graphs) | captured (the whole step as one CUDA graph, gather and optimizer included).
"""
import numpy as np
import torch
from torch import nn

import fashion
import torch_models

MODES = {"compiled": None, "graphs": "reduce-overhead"}
WARM_UP_STEPS = 3  # of a capture: libraries choose and allocate in them


def use_precision(precision):
    tf32 = precision == "tf32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True


def training_set(options, device):
    """Examples as the model takes them and labels int64, on the device. Pictures are views of tensors whose channels are last."""
    if options.model not in torch_models.LARGE:
        images, labels = fashion.training_set(options.data)
        return torch.from_numpy(images).to(device).permute(0, 3, 1, 2), torch.from_numpy(labels).long().to(device)
    model, count = torch_models.LARGE[options.model], options.examples
    generator = torch.Generator(device).manual_seed(0)
    if len(model.shape) == 1:  # each token's label is the next one
        text = torch.randint(model.classes, (count, model.shape[0] + 1), device=device, generator=generator)
        return text[:, :-1], text[:, 1:]
    labels = torch.randint(model.classes, (count,), device=device, generator=generator)
    if len(model.shape) == 3:
        channels, *size = model.shape
        return torch.rand((count, *size, channels), device=device, generator=generator).permute(0, 3, 1, 2), labels
    return torch.rand((count, *model.shape), device=device, generator=generator), labels


class Training:
    def __init__(self, options, device):
        use_precision(options.precision)
        torch.manual_seed(0)
        self.options, self.device = options, device
        self.examples, self.labels = training_set(options, device)
        large = torch_models.LARGE.get(options.model)
        self.clip_norm = large and large.clip_norm
        model = torch_models.build(options.model).to(device)
        self.model = model if self.examples.dim() < 4 or options.model == "mlp" else model.to(memory_format=torch.channels_last)
        optimizer = large.optimizer if large else torch_models.ADAM
        captured = {"capturable": True} if options.strategy == "captured" and optimizer.func is not torch.optim.SGD else {}
        self.optimizer = optimizer(model.parameters(), fused=True, **captured)
        self.loss = self.forward
        if options.strategy in MODES:
            self.loss = torch.compile(self.forward, mode=MODES[options.strategy])
        self.correct = torch.zeros((), dtype=torch.int64, device=device)
        self.graph = None

    def forward(self, x, y):
        # No weight is used twice, so that keeping its copy in bfloat16 would gain nothing.
        with torch.autocast(self.device, torch.bfloat16, enabled=self.options.precision == "mixed_bfloat16",
                            cache_enabled=False):
            logits = self.model(x).flatten(0, -2)
            loss = nn.functional.cross_entropy(logits, y.flatten())
        return loss, (logits.detach().argmax(1) == y.flatten()).sum()

    def run(self, rows):
        x, y = self.examples, self.labels.index_select(0, rows)
        # Of pictures a view again: channels stay last in memory.
        x = x.permute(0, 2, 3, 1).index_select(0, rows).permute(0, 3, 1, 2) if x.dim() == 4 else x.index_select(0, rows)
        if self.options.strategy == "graphs":
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad(set_to_none=True)
        loss, hits = self.loss(x, y)
        loss.backward()
        if self.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm, foreach=True)
        self.optimizer.step()
        self.correct += hits

    def capture(self, rows):
        self.rows = rows.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_STEPS):
                self.run(self.rows)
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.run(self.rows)

    def step(self, rows):
        if self.options.strategy != "captured":
            return self.run(rows)
        if self.graph is None:
            self.capture(rows)
        self.rows.copy_(rows)
        self.graph.replay()

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()


def train(options, measurement, device):
    training = Training(options, device)
    examples = len(training.labels)
    steps = examples // options.batch
    for epoch in range(1 + options.epochs):
        order = torch.from_numpy(np.random.default_rng(epoch).permutation(examples)).to(device)
        training.correct.zero_()
        training.wait()
        measurement.begin_epoch()
        for step in range(steps):
            training.step(order[step * options.batch:(step + 1) * options.batch])
            if measurement.first_step_seconds is None:
                training.wait()
                measurement.step_done()
        training.wait()
        measurement.end_epoch()
    accuracy = training.correct.item() / (steps * options.batch * training.labels[0].numel())
    measurement.report(f"PyTorch {torch.__version__.split('+')[0]}", options, accuracy, examples)
