"""The model that Isobar trains, in plain PyTorch. It is the reference for the golden files.

Parameters have the names and the order of the tutorial's `state_dict`. Comments give shapes:
B samples, C channels, H x W pixels, P pixels a side of a patch, T tokens, E embedding, h heads, D = E / h.
"""
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

NORM_EPSILON = 1e-6
MLP_RATIO = 4
ADAM = dict(betas=(0.9, 0.95), eps=1e-8)
DEGREE = 3.1416 / 180  # the tutorial's value of pi, so that scores are comparable


@dataclass(frozen=True)
class Config:
    """Sizes of a model."""
    img_size: tuple  # (H, W), multiples of patch_size
    patch_size: int
    n_in_channels: int
    n_out_channels: int
    embed_dim: int
    depth: int
    num_heads: int
    dropout: float = 0.0

    @property
    def grid(self):
        return self.img_size[0] // self.patch_size, self.img_size[1] // self.patch_size


class PatchEmbed(nn.Module):
    """A convolution with stride equal to its kernel size: one linear map per patch."""

    def __init__(self, config):
        super().__init__()
        self.proj = nn.Conv2d(config.n_in_channels, config.embed_dim, config.patch_size, config.patch_size)

    def forward(self, image):  # (B, C, H, W)
        return self.proj(image).flatten(2).transpose(1, 2)  # (B, T, E)


class Attention(nn.Module):
    """Every token attends to every token."""

    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.proj = (nn.Linear(dim, dim) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):  # (B, T, E)
        q, k, v = (layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        return self.dropout(self.proj(self.mix(q, k, v).transpose(1, 2).flatten(2)))

    def mix(self, q, k, v):  # (B, h, T, D): one fused kernel elsewhere
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])  # (B, h, T, T)
        return self.dropout(scores.softmax(-1)) @ v


class Mlp(nn.Module):
    """Two linear maps with the exact GELU between them."""

    def __init__(self, dim, dropout):
        super().__init__()
        self.fc1 = nn.Linear(dim, MLP_RATIO * dim)
        self.fc2 = nn.Linear(MLP_RATIO * dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):  # (B, T, E)
        return self.dropout(self.fc2(self.dropout(F.gelu(self.fc1(x)))))


class Block(nn.Module):
    """Attention and MLP, each with a norm before it, a residual connection and drop-path per sample."""

    def __init__(self, config, drop_path):
        super().__init__()
        dim = config.embed_dim
        self.norm1 = nn.LayerNorm(dim, NORM_EPSILON)
        self.norm2 = nn.LayerNorm(dim, NORM_EPSILON)
        self.attn = Attention(dim, config.num_heads, config.dropout)
        self.mlp = Mlp(dim, config.dropout)
        self.drop_path = drop_path

    def forward(self, x):  # (B, T, E)
        x = x + self.path(x) * self.attn(self.norm1(x))
        return x + self.path(x) * self.mlp(self.norm2(x))

    def path(self, x):
        """One factor per sample: zero, or 1 / (1 - p) to keep the mean."""
        return F.dropout(x.new_ones(len(x), 1, 1), self.drop_path, self.training)


class VisionTransformer(nn.Module):
    """Predicts the fields one time step later."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        rows, columns = config.grid
        self.pos_embed = nn.Parameter(torch.empty(1, rows * columns, config.embed_dim))
        self.patch_embed = PatchEmbed(config)
        self.pos_drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            Block(config, config.dropout * i / max(config.depth - 1, 1)) for i in range(config.depth))
        self.norm = nn.LayerNorm(config.embed_dim, NORM_EPSILON)
        self.head = nn.Linear(config.embed_dim, config.n_out_channels * config.patch_size ** 2, bias=False)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, image):  # (B, C, H, W)
        x = self.pos_drop(self.patch_embed(image) + self.pos_embed)  # (B, T, E)
        for block in self.blocks:
            x = block(x)
        patch = self.config.patch_size
        values = self.head(self.norm(x)).unflatten(1, self.config.grid)  # (B, rows, columns, P * P * C)
        values = values.unflatten(-1, (patch, patch, -1))  # (B, rows, columns, P, P, C)
        return values.permute(0, 5, 1, 3, 2, 4).flatten(4, 5).flatten(2, 3)  # (B, C, H, W)


def relative_l2_loss(prediction, target):
    """Mean over the samples of ||prediction - target|| / ||target||."""
    return (torch.linalg.vector_norm((prediction - target).flatten(1), dim=1)
            / torch.linalg.vector_norm(target.flatten(1), dim=1)).mean()


def latitude_weights(rows, dtype):
    """Weights of the rows of an image, from pole to pole: proportional to the area of a row's cells, of mean 1."""
    latitude = 90 - 180 * torch.arange(rows, dtype=dtype) / (rows - 1)
    cosine = torch.cos(DEGREE * latitude)
    return (rows * cosine / cosine.sum()).unsqueeze(-1)  # (H, 1)


def weighted_rmse(prediction, target):  # (B, C, H, W)
    """Root-mean-square error of each channel, averaged over the samples."""
    weights = latitude_weights(prediction.shape[2], prediction.dtype)
    return (weights * (prediction - target) ** 2).mean((-1, -2)).sqrt().mean(0)  # (C)


def weighted_acc(prediction, target):  # (B, C, H, W)
    """Correlation of each channel without removal of a climatology, averaged over the samples."""
    weights = latitude_weights(prediction.shape[2], prediction.dtype)
    product, left, right = ((weights * a * b).sum((-1, -2)) for a, b in (
        (prediction, target), (prediction, prediction), (target, target)))
    return (product / (left * right).sqrt()).mean(0)  # (C)


def learning_rate(lr, step, num_iters, warmup):
    """Learning rate of step `step`, from 0: cosine to zero; with warm-up, a ramp wherever the ramp is lower."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / num_iters))
    return lr * (min((step + 1) / warmup, cosine) if warmup > 0 else cosine)


def train_step(model, optimizer, lr, image, target):
    """One step of Adam with the given learning rate; returns the loss before it and the prediction."""
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad()
    prediction = model(image)
    loss = relative_l2_loss(prediction, target)
    loss.backward()
    optimizer.step()
    return loss.item(), prediction.detach()
