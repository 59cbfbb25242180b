#!/usr/bin/env python3
"""Writes tests/golden/torch-gpt2 and torch-vit: random weights as PyTorch's libraries save them, inputs and outputs.

Needs: pip install torch torchvision transformers safetensors. The names of the tensors are those of the published files: GPT-2's without the
prefix of GPT2LMHeadModel. Outputs are computed in float64. `config.yaml` of each folder is written by hand.
"""
import json
import pathlib
import sys

import torch
import transformers
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
    config = transformers.GPT2Config(vocab_size=101, n_positions=12, n_embd=32, n_layer=2, n_head=4,
                                     bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(config).eval()
    randomize(model)
    tensors = model.transformer.state_dict()
    # As older files have them, and no variable takes them.
    for layer in range(2):
        tensors[f"h.{layer}.attn.bias"] = torch.ones(1, 1, 12, 12).tril()
    write("torch-gpt2", model, tensors, torch.randint(0, 101, (2, 12)))


def vit():
    from torchvision.models import VisionTransformer

    model = VisionTransformer(image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=24, mlp_dim=40, num_classes=5).eval()
    randomize(model)
    images = torch.rand(2, 3, 16, 16).mul(255).round().div(255).double()
    write("torch-vit", model, model.state_dict(), images)
    folder = GOLDEN / "torch-vit"
    expected = json.loads((folder / "expected.json").read_text())
    expected["inputs"] = [[round(float(x), 7) for x in image.permute(1, 2, 0).flatten()] for image in images]
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")


def smollm2():
    config = transformers.LlamaConfig(vocab_size=101, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=12,
                                      rms_norm_eps=1e-5, rope_theta=100000.0, tie_word_embeddings=True,
                                      bos_token_id=0, eos_token_id=0)
    model = transformers.LlamaForCausalLM(config).eval()
    randomize(model)
    tensors = {name: tensor for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
    write("torch-smollm2", model, tensors, torch.randint(0, 101, (2, 12)))


if __name__ == "__main__":
    for make in (gpt2, vit, smollm2):
        torch.manual_seed(7)
        if len(sys.argv) == 1 or make.__name__ in sys.argv[1:]:
            make()
