#!/usr/bin/env python3
"""Measures the training step of Isobar's benchmark in PyTorch, with the same model, weights, images, batch and types.

    vit_torch.py step --like ISOBAR.json --mode eager|compiled --json FILE [--attention KERNEL] [--device cuda|cpu]
                      [--rehearse]
    vit_torch.py attention --like ISOBAR.json --json FILE [--device cuda|cpu] [--rehearse]
    vit_torch.py ceilings --json FILE [--copy_mb MIB] [--size N] [--device cuda|cpu] [--rehearse]

ISOBAR.json is the output of `isobar bench step`. FILE has the same format; that of `attention`, which times kernels of
attention alone, has another. PyTorch runs in its fastest configuration: fused Adam, gradients set to None, TF32 for
fp32, its fastest attention kernel for this shape, no synchronization between steps. KERNEL names another attention
kernel: `flash`, `cudnn` or `efficient`. If PyTorch does not have it for this shape and type, the exit status is 3.
PyTorch must be 2.9 or newer on a GPU and may be any version on a CPU. On a CPU,
`bench/pytorch.sh --python PYTHON step ...` sets up the environment; a PyTorch without fused attention (1.13) stores
T x T scores.
Comments give shapes: B samples, C channels, T tokens, E embedding, h heads, D = E / h.
"""
import argparse
import contextlib
import json
import math
import os
import resource
import secrets
import statistics
import sys
import time
import zlib

import torch
from torch import nn
from torch.nn import functional as F

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}
KERNELS = {  # name in torch.nn.attention.SDPBackend, and what it is
    "flash": ("FLASH_ATTENTION", "FlashAttention-2"),
    "cudnn": ("CUDNN_ATTENTION", "cuDNN attention"),
    "efficient": ("EFFICIENT_ATTENTION", "memory-efficient attention")}
NOT_AVAILABLE = 3
WEIGHT_DEVIATION = 0.02
MASK = 0xFFFFFFFF
CHUNK = 1 << 24
REPORTED = ("LD_PRELOAD", "OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")


# ---- the model: pre-norm blocks, GELU by erf, a head without bias; docs/numerics.md has the mathematics ----

class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.proj = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):  # (B, T, E)
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        return self.proj(attend(q, k, v).transpose(1, 2).flatten(2))


def attend(q, k, v):  # (B, h, T, D)
    if q.device.type == "cpu":  # in fp32, because PyTorch's bf16 attention is many times slower on a CPU
        with torch.autocast("cpu", enabled=False):
            return attention(q.float(), k.float(), v.float())
    return attention(q, k, v)


def attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v)
    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-1, -2)  # the softmax is the only other T x T tensor
    return scores.softmax(-1) @ v


class Mlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.fc2 = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, 1e-6)
        self.attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, 1e-6)
        self.mlp = Mlp(dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self, channels, dim, patch):
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, patch, patch)

    def forward(self, image):
        return self.proj(image).flatten(2).transpose(1, 2)  # (B, T, E)


class VisionTransformer(nn.Module):
    """Weights have the names of the tutorial's state_dict."""

    def __init__(self, img_size, patch_size, in_channels, out_channels, embed_dim, depth, num_heads):
        super().__init__()
        self.patch = patch_size
        self.grid = [side // patch_size for side in img_size]
        self.patch_embed = PatchEmbed(in_channels, embed_dim, patch_size)
        self.pos_embed = nn.Parameter(torch.empty(1, self.grid[0] * self.grid[1], embed_dim))
        self.blocks = nn.ModuleList(Block(embed_dim, num_heads) for _ in range(depth))
        self.norm = nn.LayerNorm(embed_dim, 1e-6)
        self.head = nn.Linear(embed_dim, out_channels * patch_size ** 2, bias=False)

    def forward(self, image):  # (B, C, H, W)
        x = self.patch_embed(image) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        x = self.head(self.norm(x))  # (B, T, P * P * C)
        x = x.reshape(len(x), *self.grid, self.patch, self.patch, -1)
        rows, columns = (side * self.patch for side in self.grid)
        return x.permute(0, 5, 1, 3, 2, 4).reshape(len(x), -1, rows, columns)


def relative_l2_loss(prediction, target):
    """Mean over the samples of ||prediction - target|| / ||target||."""
    difference = (prediction.float() - target).flatten(1)
    return (norms(difference) / norms(target.flatten(1))).mean()


def norms(samples):
    if samples.device.type == "cpu":  # on a CPU, vector_norm over 20 million fp32 values has an error of 1e-5
        return samples.square().sum(1).sqrt()
    return torch.linalg.vector_norm(samples, dim=1)


# ---- weights and images, the same values as org.isobar.bench.measure.SeededNumbers ----

def seeded(shape, name, centre, deviation, device):
    """Uniform values around `centre`, from a hash of the CRC-32 of `name` and the index."""
    numbers = torch.empty(shape, device=device)
    flat = numbers.view(-1)
    key = zlib.crc32(name.encode())
    for first in range(0, flat.numel(), CHUNK):
        i = torch.arange(first, min(first + CHUNK, flat.numel()), device=device)
        h = (i * 0x9E3779B1 + key) & MASK
        h = ((h ^ (h >> 16)) * 0x7FEB352D) & MASK
        h = ((h ^ (h >> 15)) * 0x846CA68B) & MASK
        h = (h ^ (h >> 16)) >> 8
        flat[first:first + CHUNK] = (centre + deviation * math.sqrt(3) * (h.double() / 2 ** 23 - 1)).float()
    return numbers


def seeded_model(extents, device):
    model = VisionTransformer(**extents).to(device)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            centre = 1 if "norm" in name and name.endswith("weight") else 0
            weight.copy_(seeded(weight.shape, name, centre, WEIGHT_DEVIATION, device))
    return model


# ---- measuring ----

class Stopwatch:
    """Records times: CUDA events on a GPU, else the host's clock."""

    def __init__(self, device):
        self.cuda = device == "cuda"
        self.marks = []

    def mark(self):
        if self.cuda:
            self.marks.append(torch.cuda.Event(enable_timing=True))
            self.marks[-1].record()
        else:
            self.marks.append(time.perf_counter())

    def laps(self):
        """Seconds between successive marks."""
        if self.cuda:
            torch.cuda.synchronize()
        return [a.elapsed_time(b) / 1e3 if self.cuda else b - a for a, b in zip(self.marks, self.marks[1:])]


def spread(values):
    """Quantiles with linear interpolation, as in numpy and Isobar."""
    values = sorted(values)

    def quantile(fraction):
        position = fraction * (len(values) - 1)
        below = int(position)
        above = min(below + 1, len(values) - 1)
        return values[below] + (position - below) * (values[above] - values[below])
    return dict(count=len(values), median=quantile(0.5), low=values[0], high=values[-1],
                lower_quartile=quantile(0.25), upper_quartile=quantile(0.75))


def repeat(operation, warmup, count, device):
    for _ in range(warmup):
        operation()
    watch = Stopwatch(device)
    watch.mark()
    for _ in range(count):
        operation()
        watch.mark()
    return watch.laps()


class NotAvailable(Exception):
    """PyTorch has no such kernel, or not for this shape, type or device."""


def only(kernel):
    """Returns a context in which attention is computed by this kernel or fails."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        return sdpa_kernel([getattr(SDPBackend, KERNELS[kernel][0])])
    except (ImportError, AttributeError):
        raise NotAvailable("PyTorch %s has no choice of %s" % (torch.__version__, KERNELS[kernel][1])) from None


def attention_laps(like, device, kernel, warmup, count):
    """Returns seconds of forward and of backward of one layer's attention by this kernel, a list each."""
    model = like["model"]
    tokens = math.prod(side // model["patch_size"] for side in model["img_size"])
    shape = (like["batch"], tokens, model["num_heads"], model["embed_dim"] // model["num_heads"])
    dtype = HALF.get(like["products"], torch.float32)
    q, k, v, gradient = (torch.randn(shape, device=device, dtype=dtype).transpose(1, 2) for _ in range(4))  # (B, h, T, D)
    for leaf in (q, k, v):
        leaf.requires_grad_()
    watch = Stopwatch(device)
    with only(kernel):
        try:
            for repetition in range(warmup + count):
                if repetition == warmup:
                    watch.mark()
                out = F.scaled_dot_product_attention(q, k, v)
                if repetition >= warmup:
                    watch.mark()
                torch.autograd.grad(out, (q, k, v), gradient)
                if repetition >= warmup:
                    watch.mark()
            laps = watch.laps()
        except Exception as failure:  # kernels that do not support this shape raise different exceptions
            raise NotAvailable("%s does not compute this attention: %s" % (KERNELS[kernel][1],
                                                                           first_line(failure))) from failure
    return laps[::2], laps[1::2]


def first_line(failure):
    return (str(failure).strip() or type(failure).__name__).split("\n")[0]


def chosen_attention(like, device, choice):
    """Returns a function that makes a context with this kernel, the kernel's name, and facts. The fastest is chosen by
    the time of forward and backward."""
    if device == "cpu" and choice == "fastest":
        fused = hasattr(F, "scaled_dot_product_attention")
        return contextlib.nullcontext, None, {"attention": "fp32, fused" if fused else "fp32, T x T scores stored"}
    times, facts = {}, {}
    for kernel in KERNELS if choice == "fastest" else (choice,):
        try:
            times[kernel] = statistics.median(map(sum, zip(*attention_laps(like, device, kernel, 2, 3))))
            facts[KERNELS[kernel][1]] = "%.3f ms forward and backward" % (1e3 * times[kernel])
        except NotAvailable as reason:
            if choice == kernel:
                raise
            facts[KERNELS[kernel][1]] = str(reason)
    if not times:
        return contextlib.nullcontext, None, {**facts, "attention": "PyTorch's choice"}
    best = min(times, key=times.get)
    return (lambda: only(best)), KERNELS[best][1], {**facts, "attention": KERNELS[best][1]}


def measure_attention(args):
    like = read(args.like)
    kernels = []
    for kernel in ("flash", "cudnn"):
        entry = dict(name=KERNELS[kernel][1], forward=None, backward=None, reason="")
        try:
            forward, backward = attention_laps(like, args.device, kernel, 3, 10)
            if not args.rehearse:
                entry.update(forward=spread(forward), backward=spread(backward))
        except NotAvailable as reason:
            entry.update(reason=str(reason))
        kernels.append(entry)
    return dict(program="pytorch", config=like["config"], products=like["products"], kernels=kernels,
                facts=versions(args.device))


def grad_scaler(enabled):
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cuda", enabled=enabled)
    return torch.cuda.amp.GradScaler(enabled=enabled)


def has_fused_adam(device):
    return device == "cuda" or tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 4)


def trainer(like, mode, device):
    """Returns a function that runs one step and returns its loss on the device."""
    half = HALF.get(like["products"])
    model = seeded_model(like["model"], device)
    batch, channels = like["batch"], like["model"]
    image = seeded((batch, channels["in_channels"], *channels["img_size"]), "input", 0, 1, device)
    target = seeded((batch, channels["out_channels"], *channels["img_size"]), "target", 0, 1, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=like["learning_rate"], betas=(0.9, 0.95), eps=1e-8,
                                 **({"fused": True} if has_fused_adam(device) else {}))
    scaler = grad_scaler(half == torch.float16)

    def forward(x, y):
        with torch.autocast(device, dtype=half or torch.bfloat16, enabled=half is not None):
            prediction = model(x)
        return relative_l2_loss(prediction, y)

    if mode == "compiled":
        if not hasattr(torch, "compile"):
            raise RuntimeError("PyTorch %s has no torch.compile" % torch.__version__)
        forward = torch.compile(forward, dynamic=False)
    if device == "cuda":
        torch.cuda.empty_cache()  # frees the buffers of the initialization

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward(image, target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()
    return step


def read(path):
    with open(path) as file:
        return json.load(file)


def measure_step(args):
    like = read(args.like)
    if args.device == "cpu" and like["products"] == "fp16":
        raise RuntimeError("PyTorch's CPU back end trains only in fp32 and bf16")
    context, kernel, facts = chosen_attention(like, args.device, args.attention)
    if args.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    with context():
        step = trainer(like, args.mode, args.device)
        losses = [step() for _ in range(like["warmup"])]
        laps = repeat(lambda: losses.append(step()), 0, like["steps"], args.device)
    reported = len(like["losses"]) or 3
    memory = dict(own=0, device=0)
    if args.device == "cuda":
        free, total = torch.cuda.mem_get_info()
        memory = dict(own=torch.cuda.max_memory_allocated(), device=total - free)
        facts["reserved by PyTorch's allocator, GB"] = "%.2f" % (torch.cuda.max_memory_reserved() / 1e9)
    else:
        memory = dict(own=0, device=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)
    mode = args.mode + (", " + kernel if kernel else "")
    return dict(like, program="pytorch", mode=mode, losses=[loss.item() for loss in losses[:reported]],
                step_seconds=None if args.rehearse else spread(laps), memory=memory, operations=[],
                facts={**versions(args.device), **({} if args.rehearse else facts)})


def measure_ceilings(args):
    def rate(operation, work):
        laps = repeat(operation, 3, 10, args.device)
        return None if args.rehearse else spread([work / lap for lap in laps])
    size = args.size
    source = torch.ones(args.copy_mb << 18, device=args.device)
    destination = torch.empty_like(source)
    copied = source.numel() * 4
    copy = rate(lambda: destination.copy_(source), 2 * copied)
    products = {}
    for name, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16), ("tf32", torch.float32)):
        if args.device == "cuda" or name == "bf16":
            x, w = (seeded((size, size), key, 0, 1, args.device).to(dtype) for key in ("x", "weight"))
            products[name] = rate(lambda: x @ w.t(), 2 * size ** 3)
    return dict(program="pytorch", copied=copied, copy=copy, size=size, products=products)


def versions(device):
    facts = {"python": sys.version.split()[0], "torch": torch.__version__}
    if device == "cuda":
        facts.update(device=torch.cuda.get_device_name(), cuda=str(torch.version.cuda),
                     cudnn=str(torch.backends.cudnn.version()))
    else:
        facts.update(threads=str(torch.get_num_threads()), **{name: os.environ.get(name, "not set") for name in REPORTED})
    return facts


def main():
    parser = argparse.ArgumentParser(description="Isobar's benchmarks with PyTorch.")
    commands = parser.add_subparsers(dest="command", required=True)
    step = commands.add_parser("step")
    step.add_argument("--like", required=True, help="output of isobar bench step")
    step.add_argument("--mode", choices=("eager", "compiled"), required=True)
    step.add_argument("--attention", choices=("fastest", *KERNELS), default="fastest")
    attention = commands.add_parser("attention")
    attention.add_argument("--like", required=True, help="output of isobar bench step")
    ceilings = commands.add_parser("ceilings")
    ceilings.add_argument("--copy_mb", type=int, default=2048)
    ceilings.add_argument("--size", type=int, default=8192)
    for command in (step, attention, ceilings):
        command.add_argument("--json", required=True, help="result file")
        command.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
        command.add_argument("--rehearse", action="store_true", help="record no times")
    args = parser.parse_args()
    if args.device == "cuda":
        torch.set_float32_matmul_precision("high")  # TF32, as in Isobar
    else:
        torch.set_flush_denormal(True)
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    measure = dict(step=measure_step, attention=measure_attention, ceilings=measure_ceilings)[args.command]
    try:
        result = measure(args)
    except NotAvailable as reason:
        print(reason, file=sys.stderr)
        sys.exit(NOT_AVAILABLE)
    temporary = f"{args.json}.{secrets.token_hex(8)}.tmp"
    with open(temporary, "x") as file:  # follows no link
        json.dump(result, file, indent=2)
    os.replace(temporary, args.json)


if __name__ == "__main__":
    main()
