"""Times PyTorch, a plain training loop, and prints one JSON line.

Strategies on CPUs: one (one process with all cores) | compiled (the same through torch.compile) | ddp1 | ddp2 | ddp3 | ddp4 | ddp8
(DistributedDataParallel over gloo, so many processes, which divide the cores; --threads says how many threads each has). On a
GPU: one | compiled | graphs | captured, see torch_gpu.py.
Needs: pip install torch numpy
"""
import fashion

measurement = fashion.Measurement()

import os
import tempfile

import torch
from torch import nn

import torch_gpu
import torch_models

measurement.imported()

DDP = {f"ddp{processes}": processes for processes in (1, 2, 3, 4, 8)}


def train(rank, ranks, options, rendezvous):
    torch.manual_seed(0)
    if rendezvous:
        torch.set_num_threads(options.threads or max(1, len(os.sched_getaffinity(0)) // ranks))
        torch.distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks)
    images, labels = (torch.from_numpy(array) for array in fashion.training_set(options.data))
    images, labels = images.permute(0, 3, 1, 2), labels.long()  # channels stay last in memory, which is the faster layout
    model = torch_models.build(options.model)
    if options.model == "cnn":
        model = model.to(memory_format=torch.channels_last)
    if rendezvous:
        model = nn.parallel.DistributedDataParallel(model)
    run = torch.compile(model) if options.strategy == "compiled" else model
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, foreach=True)
    share, steps = options.batch // ranks, fashion.EXAMPLES // options.batch
    for epoch in range(1 + options.epochs):
        order = torch.from_numpy(fashion.epoch_order(epoch))
        correct = 0
        measurement.begin_epoch()
        for step in range(steps):
            begin = step * options.batch + rank * share
            rows = order[begin:begin + share]
            logits, wanted = run(images[rows]), labels[rows]
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(logits, wanted).backward()
            optimizer.step()
            correct += (logits.detach().argmax(1) == wanted).sum()
            measurement.step_done()
        measurement.end_epoch()
    if rank == 0:
        measurement.report(f"PyTorch {torch.__version__.split('+')[0]}", options, correct / (steps * share))
    if rendezvous:
        torch.distributed.destroy_process_group()


def worker(rank, ranks, options, rendezvous, parent):
    """A process of its own: it has imported again, and counts from when the first process started."""
    measurement.start, measurement.import_seconds = parent
    train(rank, ranks, options, rendezvous)


def main():
    options = fashion.parse(__doc__, ["one", "compiled", *DDP], ["one", "compiled", "graphs", "captured"], list(torch_models.LARGE),
                            lambda parser: parser.add_argument("--threads", type=int, help="of each process of ddp"))
    if options.threads and options.strategy not in DDP:
        raise SystemExit(f"--threads goes with {', '.join(DDP)}, not with {options.strategy}")
    if options.device == "cuda":
        return torch_gpu.train(options, measurement, "cuda")
    if options.strategy not in DDP:
        return train(0, 1, options, None)
    ranks = DDP[options.strategy]
    with tempfile.TemporaryDirectory() as folder:
        # perf_counter is the machine's clock since boot, the same in every process.
        torch.multiprocessing.spawn(worker, nprocs=ranks, args=(ranks, options, f"{folder}/rendezvous",
                                                                (measurement.start, measurement.import_seconds)))


if __name__ == "__main__":
    main()
