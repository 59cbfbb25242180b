"""The task in plain PyTorch: a checkpoint an epoch, with what the tutorial "Saving and loading a general checkpoint" puts in.

Variant `random-state`: PyTorch's random state is in the checkpoint too.
"""

import numpy as np
import torch

import task


class Files(torch.utils.data.Dataset):
    """Reads an example's file when its batch is needed."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.from_numpy(np.load(self.paths[index])), task.label_of(self.paths[index])


def loader_of(args):
    if args.files:
        # The time-out is the loader's own way to notice a reader that hangs; it needs a worker process.
        files = Files(task.example_files(args.files))
        return torch.utils.data.DataLoader(files, task.BATCH, shuffle=True, num_workers=1, timeout=10)
    x, y = task.arrays(args)
    data = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    return torch.utils.data.DataLoader(data, task.BATCH, shuffle=True)


def network(units):
    return torch.nn.Sequential(
        torch.nn.Linear(task.FEATURES, units), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(units, task.CLASSES)
    )


def rate_factor(args):
    """The learning rate's factor for each step."""
    broken = task.BROKEN_LEARNING_RATE / task.LEARNING_RATE
    return lambda step: broken if args.break_after is not None and step > args.break_after else 1.0


def main():
    args = task.arguments()
    torch.manual_seed(args.seed)
    torch.use_deterministic_algorithms(True)
    args.folder.mkdir(exist_ok=True)
    loader = loader_of(args)
    model = network(args.units)
    optimizer = torch.optim.Adam(model.parameters(), task.LEARNING_RATE)
    first_epoch = 0
    checkpoints = sorted(args.folder.glob("epoch-*.pt"))
    if checkpoints:
        state = torch.load(checkpoints[-1])
        model.load_state_dict(state["model_state_dict"])
        optimizer.load_state_dict(state["optimizer_state_dict"])
        first_epoch = state["epoch"]
        if args.variant == "random-state":
            torch.set_rng_state(state["rng_state"])
    step = first_epoch * len(loader)
    task.say(f"resumed after step {step}")
    factor = rate_factor(args)
    for epoch in range(first_epoch, args.epochs):
        for x, y in loader:
            optimizer.param_groups[0]["lr"] = task.LEARNING_RATE * factor(step)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            step += 1
            task.say(f"step {step}")
        task.say("saving")
        state = {
            "epoch": epoch + 1,
            "model_state_dict": model.state_dict(),
            "optimizer_state_dict": optimizer.state_dict(),
            "loss": loss.item(),
        }
        if args.variant == "random-state":
            state["rng_state"] = torch.get_rng_state()
        torch.save(state, args.folder / f"epoch-{epoch + 1:04}.pt")
        task.say("saved")
    task.say_result([value.detach().numpy() for value in model.parameters()], args.folder)


if __name__ == "__main__":
    main()
