"""The task in Lightning: Trainer with ModelCheckpoint, EarlyStopping for a loss that is not finite, and resuming from "last".

Variant `random-state`: PyTorch's random state is in the checkpoint too.
"""

import lightning
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint

import task
from train_torch import loader_of, network, rate_factor


class Module(lightning.LightningModule):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.net = network(args.units)

    def training_step(self, batch, _):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), task.LEARNING_RATE)
        if self.args.break_after is None:
            return optimizer
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_factor(self.args))
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    def on_save_checkpoint(self, checkpoint):
        if self.args.variant == "random-state":
            checkpoint["rng_state"] = torch.get_rng_state()

    def on_load_checkpoint(self, checkpoint):
        if self.args.variant == "random-state":
            torch.set_rng_state(checkpoint["rng_state"])


class Steps(Callback):
    def on_train_start(self, trainer, module):
        task.say(f"resumed after step {trainer.global_step}")

    def on_train_batch_end(self, trainer, module, *_):
        task.say(f"step {trainer.global_step}")

    def on_train_epoch_end(self, trainer, module):
        task.say("saving")  # the Trainer calls ModelCheckpoint after all other callbacks

    def on_train_epoch_start(self, trainer, module):
        if trainer.current_epoch:
            task.say("saved")

    def on_train_end(self, trainer, module):
        task.say("saved")


def main():
    args = task.arguments()
    lightning.seed_everything(args.seed)
    checkpoints = ModelCheckpoint(dirpath=args.folder, save_top_k=-1, save_last=True, save_on_exception=True)
    stop_when_not_finite = EarlyStopping("loss", check_finite=True, patience=10**9, check_on_train_epoch_end=True)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=args.epochs,
        deterministic=True,
        default_root_dir=args.folder,
        callbacks=[Steps(), checkpoints, stop_when_not_finite],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Module(args)
    last = args.folder / "last.ckpt"
    trainer.fit(module, loader_of(args), ckpt_path=last if last.exists() else None, weights_only=False)
    task.say_result([value.detach().numpy() for value in module.parameters()], args.folder)


if __name__ == "__main__":
    main()
