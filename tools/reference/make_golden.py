#!/usr/bin/env python3
"""Writes the golden files: results of small training runs that every back end of Isobar must reproduce.

  make_golden.py            writes the files
  make_golden.py --check    computes them in memory and compares; exits with 1 if anything differs
  make_golden.py --report   prints how much single precision, and noise in the gradients, change the results

The reference results are computed in double precision from weights and fields that were rounded to single precision.
README.md describes the files.
"""
import argparse
import json
import math
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread, so that the order of summation is fixed
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import torch

import safetensors_io
import vit_reference as vit
from tutorial_numbers import compare_with_tutorial

DIRECTORY = Path(__file__).resolve().parents[2] / "app/src/main/resources/org/isobar/verify/golden"
PRECISION = "precision.json"  # written by precision.py
TOLERANCE = 1e-6  # of --check
STEPS, LR, NUM_ITERS = 5, 1e-3, 20

# Image size, patch, channels in and out, embedding, depth, heads; then batch, warm-up, and what makes the case special.
CASES = {
    "facts": (vit.Config((32, 64), 8, 3, 3, 48, 2, 4), 2, 0, "the case for which the tutorial's own model was run"),
    "uneven": (vit.Config((40, 56), 8, 5, 2, 24, 2, 3), 3, 3, "odd grid, fewer channels out than in, warm-up"),
    "patch4": (vit.Config((24, 32), 4, 3, 3, 24, 1, 4), 2, 0, "patches of four pixels, head dimension 6"),
    "one": (vit.Config((16, 24), 8, 1, 1, 20, 1, 1), 1, 0, "one sample, one channel, one head of dimension 20"),
    "wide": (vit.Config((20, 52), 4, 1, 1, 144, 1, 3), 2, 0,
             "head dimension 48; 65 tokens, one more than a block of keys; softmax far from uniform"),
}
GRADIENTS_ONLY = {"wide"}  # weights after the steps would add a megabyte
SCHEDULES = [(5e-4, 20, 0), (1e-3, 20, 5), (1e-3, 12, 12), (1e-3, 10, 40)]  # lr, num_iters, warm-up


def wave(function, frequency, phase, shape, base=0.0, amplitude=1.0):
    """base + amplitude * function(frequency * i + phase) over the flat index i, rounded to single precision."""
    i = np.arange(math.prod(shape), dtype=np.float64)
    return torch.from_numpy((base + amplitude * function(frequency * i + phase)).astype(np.float32)).reshape(shape)


def set_weights(model):
    """Sets weights without random numbers: a sine with its own phase per parameter, around 1 for weights of norms."""
    with torch.no_grad():
        for j, (name, parameter) in enumerate(model.named_parameters()):
            base = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            parameter.copy_(wave(np.sin, 0.37, 1.3 * (j + 1), parameter.shape, base, 0.02))


def compared(name):
    """Whether a parameter is compared: the gradient of the key bias is only rounding noise, see README.md."""
    return not name.endswith("attn.k.bias")


def run(config, batch, warmup, dtype, noise=0.0, wrap=lambda model: model):
    """Trains the model, as returned by `wrap`, for five steps. `noise` is a relative error added to every gradient."""
    model = vit.VisionTransformer(config).to(dtype)
    set_weights(model)
    if noise:
        for parameter in model.parameters():
            parameter.register_hook(lambda g: g + noise * g.square().mean().sqrt() * torch.randn_like(g))
    image = wave(np.sin, 0.013, 0, (batch, config.n_in_channels, *config.img_size)).to(dtype)
    target = wave(np.cos, 0.017, 0.5, (batch, config.n_out_channels, *config.img_size)).to(dtype)
    rates = [vit.learning_rate(LR, step, NUM_ITERS, warmup) for step in range(STEPS)]
    optimizer = torch.optim.Adam(model.parameters(), **vit.ADAM)
    predict, losses = wrap(model), []
    for step, rate in enumerate(rates):
        loss, prediction = vit.train_step(predict, optimizer, rate, image, target)
        losses.append(loss)
        if step == 0:
            output = prediction
            gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    with torch.no_grad():
        loss_after = vit.relative_l2_loss(predict(image), target).item()
    return dict(rates=rates, losses=losses, loss_after=loss_after, output=output, gradients=gradients,
                weights={name: p.detach() for name, p in model.named_parameters()},
                rmse=vit.weighted_rmse(output, target), acc=vit.weighted_acc(output, target))


def golden(name):
    """Returns the JSON document and the tensors of a case."""
    config, batch, warmup, about = CASES[name]
    gold = run(config, batch, warmup, torch.float64)
    single = run(config, batch, warmup, torch.float32)
    if name == "facts":
        compare_with_tutorial(gold, single)
    document = {
        "name": name,
        "about": about,
        "config": {
            "img_size": list(config.img_size), "patch_size": config.patch_size,
            "n_in_channels": config.n_in_channels, "n_out_channels": config.n_out_channels,
            "embed_dim": config.embed_dim, "depth": config.depth, "num_heads": config.num_heads,
            "batch": batch, "steps": STEPS, "lr": LR, "num_iters": NUM_ITERS, "warmup": warmup,
        },
        "parameter_count": sum(weight.numel() for weight in gold["weights"].values()),
        "parameters": list(gold["weights"]),  # in the order that j counts
        "learning_rates": gold["rates"],
        "losses": gold["losses"],
        "loss_after": gold["loss_after"],
        "output_l2": gold["output"].norm().item(),
        "output_first": gold["output"].flatten()[:8].tolist(),
        "gradient_l2": math.sqrt(sum(g.square().sum().item() for g in gold["gradients"].values())),
        "rmse": gold["rmse"].tolist(),
        "acc": gold["acc"].tolist(),
        "float32": {"losses": single["losses"], "loss_after": single["loss_after"]},
        "left_out": [parameter for parameter in gold["weights"] if not compared(parameter)],
        "left_out_because": "the gradient of the keys' bias is zero but for rounding, and Adam moves it by that",
    }
    tensors = {"output": gold["output"]}
    tensors |= {f"grad.{parameter}": g for parameter, g in gold["gradients"].items() if compared(parameter)}
    if name not in GRADIENTS_ONLY:
        tensors |= {f"after.{parameter}": w for parameter, w in gold["weights"].items() if compared(parameter)}
    return document, {key: tensor.numpy().astype(np.float32) for key, tensor in tensors.items()}


def as_json(document):
    return (json.dumps(document, indent=2) + "\n").encode()


def files():
    """Contents of all files by name."""
    schedules = [{"lr": lr, "num_iters": num_iters, "warmup": warmup,
                  "rates": [vit.learning_rate(lr, step, num_iters, warmup) for step in range(num_iters + 1)]}
                 for lr, num_iters, warmup in SCHEDULES]
    contents = {"index.json": as_json({"cases": list(CASES)}), "schedules.json": as_json({"schedules": schedules})}
    for name in CASES:
        document, tensors = golden(name)
        contents[f"{name}.json"] = as_json(document)
        contents[f"{name}.safetensors"] = safetensors_io.encode(tensors)
    return contents


def distance(actual, expected):
    """||actual - expected|| / ||expected||."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    if actual.shape != expected.shape:
        return math.inf
    difference = np.linalg.norm(actual - expected)
    return difference / np.linalg.norm(expected) if difference else 0.0


def parts(name, content):
    """Contents of a file as a flat dict of strings, numbers, lists of numbers, or tensors."""
    def flatten(value, path):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = dict(enumerate(value))
        if not isinstance(value, dict):
            return {path: value}
        return {key: leaf for k, v in value.items() for key, leaf in flatten(v, f"{path}/{k}").items()}
    return flatten(safetensors_io.decode(content) if name.endswith(".safetensors") else json.loads(content), name)


def is_text(value):
    return isinstance(value, str) or isinstance(value, list) and any(isinstance(entry, str) for entry in value)


def differences(name, actual, expected):
    """Yields one line for each part of the file `name` that differs between two contents."""
    actual, expected = parts(name, actual), parts(name, expected)
    for key in actual.keys() | expected.keys():
        if key not in actual or key not in expected:
            yield f"{key} is in only one of the two"
        elif is_text(actual[key]) or is_text(expected[key]):
            if actual[key] != expected[key]:
                yield f"{key} is {actual[key]!r}, not {expected[key]!r}"
        elif not (error := distance(actual[key], expected[key])) <= TOLERANCE:
            yield f"{key} differs by {error:.1e}"


def check(contents):
    """Compares with the existing files; returns whether they agree."""
    lines, identical = [], 0
    for name in sorted(contents.keys() | {path.name for path in DIRECTORY.glob("*")} - {PRECISION}):
        path = DIRECTORY / name
        if name not in contents or not path.exists():
            lines.append(f"{name} is {'missing' if name in contents else 'not written by this script'}")
        elif path.read_bytes() == contents[name]:
            identical += 1
        else:
            lines += differences(name, contents[name], path.read_bytes())
    print(*sorted(lines), f"{identical} of {len(contents)} files identical byte for byte", sep="\n")
    return not lines


def report():
    """Prints the largest error of each case in single precision and with noise, over tensors and seeds of the noise."""
    print("case    computed with        output   gradients  weights after five steps (worst tensor)")
    for name, (config, batch, warmup, _) in CASES.items():
        gold = run(config, batch, warmup, torch.float64)
        for what, dtype, noise, seeds in (("single precision", torch.float32, 0.0, 1),
                                          ("gradient noise 1e-6", torch.float64, 1e-6, 5),
                                          ("gradient noise 1e-5", torch.float64, 1e-5, 5)):
            worst = dict(output=(0.0, ""), gradients=(0.0, ""), weights=(0.0, ""))
            for seed in range(seeds):
                torch.manual_seed(seed)
                other = run(config, batch, warmup, dtype, noise)
                worst["output"] = distance(other["output"], gold["output"]), ""
                for kind in ("gradients", "weights"):
                    worst[kind] = max(worst[kind], *(
                        (distance(other[kind][p], gold[kind][p]), p) for p in gold[kind] if compared(p)))
            (output, _), (gradients, _), (weights, tensor) = worst.values()
            print(f"{name:7} {what:20} {output:.1e}  {gradients:.1e}    {weights:.1e} ({tensor})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="compare with the existing files")
    mode.add_argument("--report", action="store_true", help="print how sensitive the results are")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.report:
        report()
    elif options.check:
        sys.exit(0 if check(files()) else 1)
    else:
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        for name, content in files().items():
            safetensors_io.write(DIRECTORY / name, content)
            print(f"{len(content):9} bytes  {name}")


if __name__ == "__main__":
    main()
