#!/usr/bin/env python3
"""Writes the folders tests/golden/torch-...: random weights as PyTorch's libraries save them, inputs and outputs. torch_models.py [NAME]...

Needs: pip install torch torchvision transformers safetensors. The names of the tensors are those of the published files: GPT-2's without the
prefix of GPT2LMHeadModel. Outputs are computed in float64. `config.yaml` of each folder is written by hand.
"""
import json
import pathlib
import sys

import torch
from torch import nn
from safetensors.torch import save_file

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"


def randomize(model):
    """Weights unlike those that a model starts with: no bias is 0, no scale 1."""
    for name, parameter in model.named_parameters():
        is_scale = parameter.dim() == 1 and ("ln" in name or "norm" in name) and name.endswith("weight")
        parameter.data = parameter.data.normal_(1.0 if is_scale else 0.0, 0.2)


def write(name, model, tensors, inputs):
    folder = GOLDEN / name
    folder.mkdir(parents=True, exist_ok=True)
    save_file({key: value.detach().contiguous().clone() for key, value in tensors.items()}, folder / "weights.safetensors")
    with torch.no_grad():
        outputs = model.double()(inputs)
    outputs = getattr(outputs, "logits", outputs)
    expected = {"inputs": [[round(float(x), 7) for x in row.flatten()] for row in inputs],
                "outputs": [[round(float(y), 7) for y in row.flatten()] for row in outputs]}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")
    print(name, sum(p.numel() for p in model.parameters()), "parameters, outputs to", max(map(max, expected["outputs"])))


def gpt2():
    import transformers

    config = transformers.GPT2Config(vocab_size=101, n_positions=12, n_embd=32, n_layer=2, n_head=4,
                                     bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(config).eval()
    randomize(model)
    tensors = model.transformer.state_dict()
    # As older files have them, and no variable takes them.
    for layer in range(2):
        tensors[f"h.{layer}.attn.bias"] = torch.ones(1, 1, 12, 12).tril()
    write("torch-gpt2", model, tensors, torch.randint(0, 101, (2, 12)))


def write_pictures(name, model, inputs):
    """Of inputs with the channels first, which are last in the file, as mirrortrain has them."""
    write(name, model, {key: tensor for key, tensor in model.state_dict().items() if not key.endswith("num_batches_tracked")}, inputs)
    file = GOLDEN / name / "expected.json"
    expected = json.loads(file.read_text())
    expected["inputs"] = [[round(float(x), 7) for x in one.movedim(0, -1).flatten()] for one in inputs]
    file.write_text(json.dumps(expected) + "\n")


def vit():
    from torchvision.models import VisionTransformer

    model = VisionTransformer(image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=24, mlp_dim=40, num_classes=5).eval()
    randomize(model)
    write_pictures("torch-vit", model, torch.rand(2, 3, 16, 16).mul(255).round().div(255).double())


def smollm2():
    import transformers

    config = transformers.LlamaConfig(vocab_size=101, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=12,
                                      rms_norm_eps=1e-5, rope_theta=100000.0, tie_word_embeddings=True,
                                      bos_token_id=0, eos_token_id=0)
    model = transformers.LlamaForCausalLM(config).eval()
    randomize(model)
    tensors = {name: tensor for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
    write("torch-smollm2", model, tensors, torch.randint(0, 101, (2, 12)))


def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    model = ConvNeXt([CNBlockConfig(4, 6, 1), CNBlockConfig(6, 8, 1), CNBlockConfig(8, 10, 2), CNBlockConfig(10, None, 1)], num_classes=5).eval()
    randomize(model)
    write_pictures("torch-convnext", model, torch.rand(2, 3, 32, 32).double())


def r3d():
    from torchvision.models.video.resnet import BasicBlock, Conv3DSimple, VideoResNet

    class Narrow(VideoResNet):
        """Two stages of one and two blocks, 8 and 16 channels."""

        def __init__(self):
            nn.Module.__init__(self)
            self.stem = nn.Sequential(nn.Conv3d(3, 8, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False), nn.BatchNorm3d(8), nn.ReLU())
            self.inplanes = 8
            self.layer1 = self._make_layer(BasicBlock, Conv3DSimple, 8, 1)
            self.layer2 = self._make_layer(BasicBlock, Conv3DSimple, 16, 2, 2)
            self.layer3 = self.layer4 = nn.Identity()
            self.avgpool, self.fc = nn.AdaptiveAvgPool3d(1), nn.Linear(16, 5)

    model = Narrow().eval()
    randomize(model)
    for name, buffer in model.named_buffers():
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 2)
        elif name.endswith("running_mean"):
            buffer.normal_(0, 0.2)
    write_pictures("torch-r3d", model, torch.rand(2, 3, 4, 16, 16).double())


class UNet(nn.Module):
    """Two levels of the original, padded."""

    def __init__(self, width=4):
        super().__init__()

        def pair(inputs, filters):
            return nn.Sequential(nn.Conv2d(inputs, filters, 3, padding=1), nn.ReLU(), nn.Conv2d(filters, filters, 3, padding=1), nn.ReLU())

        self.down1, self.down2, self.bottom = pair(1, width), pair(width, 2 * width), pair(2 * width, 4 * width)
        self.larger2, self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), pair(4 * width, 2 * width)
        self.larger1, self.up1 = nn.ConvTranspose2d(2 * width, width, 2, 2), pair(2 * width, width)
        self.classes = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        down1 = self.down1(x)
        down2 = self.down2(nn.functional.max_pool2d(down1, 2))
        bottom = self.bottom(nn.functional.max_pool2d(down2, 2))
        up2 = self.up2(torch.cat([down2, self.larger2(bottom)], 1))
        up1 = self.up1(torch.cat([down1, self.larger1(up2)], 1))
        return self.classes(up1).movedim(1, -1)


def unet():
    model = UNet().eval()
    randomize(model)
    write_pictures("torch-unet", model, torch.rand(2, 1, 12, 8).double())


class WaveNet(nn.Module):
    """Two stacks of three layers."""

    def __init__(self, channels=6, levels=11):
        super().__init__()
        self.samples, self.causal = nn.Embedding(levels, channels), nn.Conv1d(channels, channels, 2)
        self.layers = nn.ModuleList(
            nn.ModuleDict({"filter": nn.Conv1d(channels, channels, 2, dilation=dilation), "gate": nn.Conv1d(channels, channels, 2, dilation=dilation),
                           "residual": nn.Conv1d(channels, channels, 1)}) for dilation in 2 * [1, 2, 4])
        self.hidden, self.next = nn.Conv1d(channels, levels, 1), nn.Conv1d(levels, levels, 1)

    def forward(self, x):
        def causal(conv, x):
            return conv(nn.functional.pad(x, (conv.dilation[0], 0)))

        first = x = causal(self.causal, self.samples(x).transpose(1, 2))
        for layer in self.layers:
            x = x + layer["residual"](torch.tanh(causal(layer["filter"], x)) * torch.sigmoid(causal(layer["gate"], x)))
        return self.next(torch.relu(self.hidden(torch.relu(x - first)))).transpose(1, 2)


def wavenet():
    model = WaveNet().eval()
    randomize(model)
    write("torch-wavenet", model, model.state_dict(), torch.randint(0, 11, (2, 20)))


if __name__ == "__main__":
    for make in (gpt2, vit, smollm2, convnext, r3d, unet, wavenet):
        torch.manual_seed(7)
        if len(sys.argv) == 1 or make.__name__ in sys.argv[1:]:
            make()
