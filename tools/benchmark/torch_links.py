"""One rank of PyTorch's DistributedDataParallel over gloo, for tools/benchmark/run-links; rank 0 prints the median seconds of a step.

torch_links.py RANK RANKS ADDRESS UNITS BATCH STEPS: layers of so many units ("64,10") on 784 numbers, a global batch, Adam.
"""
import statistics
import sys
import time

import torch
from torch import nn


def main():
    rank, ranks, address, units, batch, steps = sys.argv[1:]
    rank, ranks, batch, steps = int(rank), int(ranks), int(batch), int(steps)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://{address}", rank=rank, world_size=ranks)
    layers, inputs = [], 784
    for count in units.split(","):
        layers += [nn.Linear(inputs, int(count)), nn.ReLU()]
        inputs = int(count)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers[:-1]))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, foreach=True)
    images, labels = torch.rand(batch // ranks, 784), torch.randint(0, inputs, (batch // ranks,))
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    if rank == 0:
        print(statistics.median(seconds[len(seconds) // 4:]), flush=True)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


main()
