#!/usr/bin/env python3
"""Measures PyTorch's own errors in mixed precision. Isobar's error bounds there are multiples of them.

  precision.py            writes precision.json to the directory of the golden files
  precision.py --check    measures and compares; exits with 1 if anything differs
  precision.py --report   prints the largest errors, and compares the emulation with PyTorch's autocast

Each golden case is trained under PyTorch's autocast in bf16, with single-precision weights. On a CPU autocast supports
neither fp16 nor TF32 nor fused attention: these are emulated in single precision, by rounding where autocast or a
tensor core rounds. README.md describes the file.
"""
import argparse
import json
import math
import re
import sys
from dataclasses import dataclass
from typing import Callable

import make_golden as golden  # first: it sets the number of threads
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

import safetensors_io
import vit_reference as vit

PATH = golden.DIRECTORY / golden.PRECISION
TOLERANCE = 0.01  # of --check, relative; three digits are written
SHARES = [1 - i / 32 for i in range(16)]  # factors that change all roundings but, in exact arithmetic, no result
PRODUCTS = {F.linear, torch.conv2d, torch.Tensor.matmul, torch.Tensor.__matmul__}
IN_HALF = {F.gelu, torch.Tensor.softmax, torch.Tensor.div, torch.Tensor.__truediv__}  # autocast keeps their input type
WITHIN_ATTENTION = (PRODUCTS | IN_HALF) - {F.linear, torch.conv2d, F.gelu}


@dataclass(frozen=True)
class Rounding:
    """Emulates a type by rounding numbers in single precision."""
    operand: Callable  # rounds operands of products
    result: Callable  # rounds results of products and of operations that follow in the type
    loss_scale: int = 1


def through(dtype):
    return lambda x: x.to(dtype).float()


def to_tf32(x):
    """Rounds to ten fraction bits, ties away from zero (PTX's cvt.rna.tf32)."""
    return (x.contiguous().view(torch.int32) + 0x1000 & ~0x1fff).view(torch.float32)


def unchanged(x):
    return x


ROUNDINGS = {
    "BF16": Rounding(through(torch.bfloat16), through(torch.bfloat16)),
    "F16": Rounding(through(torch.float16), through(torch.float16), 65536),
    "TF32": Rounding(to_tf32, unchanged),
}


class Rounded(torch.autograd.Function):
    """Rounds values in forward and gradients in backward, each with its own function."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.backward_rounding = backward
        return forward(x).clone()

    @staticmethod
    def backward(ctx, gradient):
        return ctx.backward_rounding(gradient), None, None


class Emulation(TorchFunctionMode):
    """Emulates eager autocast: each operation in the type rounds its result and the gradients that it returns."""

    def __init__(self, rounding, elsewhere=frozenset()):
        """Functions in `elsewhere` are not rounded here."""
        self.operand, self.result, self.elsewhere = rounding.operand, rounding.result, elsewhere

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in self.elsewhere:
            return function(*args, **kwargs or {})
        if function in PRODUCTS:
            return self.product(function, *args, **kwargs or {})
        if function in IN_HALF:
            x, *others = args
            return self.rounded(function(self.rounded(x), *others, **kwargs or {}))
        return function(*args, **kwargs or {})

    def product(self, function, a, b, bias=None, *others):
        a, b = (Rounded.apply(x, self.operand, self.result) for x in (a, b))
        biased = function in (F.linear, torch.conv2d)
        y = function(a, b, None, *others) if biased else function(a, b)
        y = Rounded.apply(y, unchanged, self.operand)  # dy is an operand of the products for da and db
        if bias is not None:
            y = y + self.rounded(bias).reshape((-1, 1, 1) if function is torch.conv2d else (-1,))
        return self.rounded(y)

    def rounded(self, x):
        return Rounded.apply(x, self.result, self.result)


class FusedAttention(torch.autograd.Function):
    """Rounds like FlashAttention (Dao, 2023, algorithms 1 and 2): operands and results, nothing in between.

    Probabilities are rounded before the division by their sum, relative to the largest score of the blocks so far.
    Factor `share` emulates the effect of that reference value.
    """

    @staticmethod
    def forward(ctx, q, k, v, rounding, share):
        q, k, v = (rounding.result(x) for x in (q, k, v))
        scale = 1 / math.sqrt(q.shape[-1])
        scores = rounding.operand(q) @ rounding.operand(k).mT * scale
        p = share * (scores - scores.amax(-1, keepdim=True)).exp()
        total = p.sum(-1, keepdim=True)
        out = rounding.result(rounding.operand(p) @ rounding.operand(v) / total)
        ctx.save_for_backward(q, k, v, p / total, out)
        ctx.rounding, ctx.scale = rounding, scale
        return out

    @staticmethod
    def backward(ctx, d_out):
        operand, result = ctx.rounding.operand, ctx.rounding.result
        q, k, v, p, out = ctx.saved_tensors
        d_out = result(d_out)
        delta = (d_out * out).sum(-1, keepdim=True)  # from the rounded output, which forward stores
        ds = p * (operand(d_out) @ operand(v).mT - delta)
        dq = result(operand(ds) @ operand(k) * ctx.scale)
        dk = result(operand(ds).mT @ operand(q) * ctx.scale)
        return dq, dk, result(operand(p).mT @ operand(d_out)), None, None


class Scaled(torch.autograd.Function):
    """Identity whose gradient is multiplied by a factor: the loss scale, applied after the model."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


@dataclass(frozen=True)
class Mode:
    """A mode of PyTorch to train in a type."""
    context: Callable  # creates the context in which the model runs
    rounding: Rounding
    share: float
    attention: str  # "written out" or "fused"

    def wrap(self, model):
        loss_scale = self.share * self.rounding.loss_scale
        if self.attention == "fused":
            for block in model.blocks:
                block.attn.mix = lambda q, k, v: FusedAttention.apply(q, k, v, self.rounding, self.share)
        for parameter in model.parameters():
            parameter.register_hook(lambda gradient: gradient / loss_scale)  # in single precision

        def predict(image):
            with self.context():
                prediction = model(image)
            return Scaled.apply(prediction.float(), loss_scale)
        return predict

    def run(self, name):
        config, batch, warmup, _ = golden.CASES[name]
        return golden.run(config, batch, warmup, torch.float32, wrap=self.wrap)


def autocast():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def written_out(rounding, context=None):
    """Modes with attention written out, in `context` or emulated."""
    return [Mode(context or (lambda: Emulation(rounding)), rounding, share, "written out") for share in SHARES]


def fused(rounding):
    return [Mode(lambda: Emulation(rounding, WITHIN_ATTENTION), rounding, share, "fused") for share in SHARES]


MODES = {dtype: written_out(rounding, autocast if dtype == "BF16" else None) + fused(rounding)
        for dtype, rounding in ROUNDINGS.items()}


def kind(parameter):
    """The name of a parameter without its block."""
    return re.sub(r"^blocks\.\d+\.", "", parameter)


def errors(name, actual, gold):
    """Largest errors: of outputs, and of gradients and weights by kind of parameter."""
    outputs = [golden.distance(actual[key], gold[key]) for key in ("output", "rmse")]
    for key in ("losses", "loss_after"):
        outputs += abs(golden.np.array(actual[key]) / golden.np.array(gold[key]) - 1).flatten().tolist()
    found = {"outputs": max(outputs), "gradients": {}, "weights": {}}
    for parameter in filter(golden.compared, gold["weights"]):
        for group in ("gradients", "weights")[:1 if name in golden.GRADIENTS_ONLY else 2]:
            error = golden.distance(actual[group][parameter], gold[group][parameter])
            found[group][kind(parameter)] = max(error, found[group].get(kind(parameter), 0))
    return found


def largest(several):
    """Largest of each number in documents of equal structure."""
    first, *_ = several
    if isinstance(first, dict):
        return {key: largest([one[key] for one in several]) for key in first}
    return max(several)


def measure(modes_of_types):
    """Errors by case and type: the largest of all modes."""
    document = {}
    for name, (config, batch, warmup, _) in golden.CASES.items():
        gold = golden.run(config, batch, warmup, torch.float64)
        document[name] = {dtype: largest([errors(name, mode.run(name), gold) for mode in several])
                          for dtype, several in modes_of_types.items()}
    return document


def flat(document, path=""):
    """Numbers by path, each with three digits."""
    if not isinstance(document, dict):
        return {path: float(f"{document:.2e}")}
    return {key: leaf for k, v in document.items() for key, leaf in flat(v, f"{path}/{k}").items()}


def encoded(document):
    """JSON with three digits, and with the errors of all kinds on one line."""
    if not all(map(math.isfinite, flat(document).values())):
        raise SystemExit("PyTorch overflows, so there is no finite bound")
    text = json.dumps(document, indent=2, default=float)
    text = re.sub(r"\d+\.\d+(e-\d+)?", lambda number: f"{float(number[0]):.2e}", text)
    return (re.sub(r"\n {8,}|\n {6}(?=})", " ", text) + "\n").encode()


def check(document):
    """Compares with the existing file; returns whether it agrees."""
    if not PATH.exists():
        print(f"{PATH.name} is missing")
        return False
    measured, existing = flat(document), flat(json.loads(PATH.read_bytes()))
    lines = [f"{key} is in only one of the two" for key in measured.keys() ^ existing.keys()]
    lines += [f"{key} is {measured[key]}, not {existing[key]}" for key in measured.keys() & existing.keys()
              if abs(measured[key] - existing[key]) > TOLERANCE * existing[key]]
    same = "" if PATH.read_bytes() == encoded(document) else "not "
    print(*sorted(lines), f"{len(measured)} errors, {same}identical byte for byte", sep="\n")
    return not lines


def report(document):
    """Prints the largest errors over cases, then compares emulated bf16 with PyTorch's autocast."""
    print("largest of all cases   prediction, losses, scores  gradients of q, k  other gradients  weights after steps")
    for dtype in ROUNDINGS:
        numbers = {key: value for key, value in flat(document).items() if f"/{dtype}/" in key}
        scored = [key for key in numbers if re.search(r"/gradients/attn\.[qk]", key)]
        others = [key for key in numbers if "/gradients/" in key and key not in scored]
        columns = ([key for key in numbers if key.endswith("outputs")], scored, others,
                   [key for key in numbers if "/weights/" in key])
        print(f"{dtype:22}", *(f"{max(numbers[key] for key in column):.1e}" for column in columns))
    emulated, autocasts = (flat(measure({"BF16": written_out(ROUNDINGS["BF16"], context)}))
                           for context in (None, autocast))
    quotients = sorted(emulated[key] / autocasts[key] for key in autocasts)
    print("errors in bf16 with attention written out, emulation / PyTorch: "
          f"{quotients[0]:.2f} to {quotients[-1]:.2f}, nine of ten within {quotients[len(quotients) // 20]:.2f} and "
          f"{quotients[-1 - len(quotients) // 20]:.2f}, median {quotients[len(quotients) // 2]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="compare with the existing file")
    mode.add_argument("--report", action="store_true", help="print tables")
    options = parser.parse_args()
    torch.set_num_threads(1)
    document = measure(MODES)
    if options.report:
        report(document)
    elif options.check:
        sys.exit(0 if check(document) else 1)
    else:
        safetensors_io.write(PATH, encoded(document))


if __name__ == "__main__":
    main()
