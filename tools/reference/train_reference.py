#!/usr/bin/env python3
"""Trains the reference model on files of the tutorial's layout and prints each step's loss and learning rate.

To compare with a run of Isobar, give it that run's initial weights and its order of samples:

  train_reference.py --config demo --data_dir data --init_weights initial.safetensors --order order.txt --steps 30
"""
import argparse
from pathlib import Path

import h5py
import numpy as np
import torch
import yaml

import safetensors_io
import vit_reference as vit

ROOT = Path(__file__).resolve().parents[2]


class Era5:
    """Pairs of fields, `dt` time steps apart, from the HDF5 files of a directory, one file per year."""

    def __init__(self, directory, statistics, settings):
        paths = sorted(directory.glob("*.h5"))
        if not paths:
            raise SystemExit(f"no *.h5 file in {directory}")
        self.years = [h5py.File(path, "r")["fields"] for path in paths]  # (time, channel, latitude, longitude)
        self.samples_per_year = len(self.years[0])
        self.dt = settings["dt"]
        self.height, self.width = settings["img_size"]
        self.means, self.stds = (np.load(statistics / f"global_{kind}.npy")[0] for kind in ("means", "stds"))

    def normalized(self, year, time, channels):
        fields = self.years[year][time, :channels, :self.height, :self.width]
        return (fields - self.means[:channels]) / self.stds[:channels]

    def pair(self, sample, n_in_channels, n_out_channels):
        """Input and target. By the tutorial's indexing, samples 0, 1 and the last of a year are equal."""
        year, time = divmod(sample, self.samples_per_year)
        time %= self.samples_per_year - self.dt
        if time < self.dt:
            time += self.dt
        return self.normalized(year, time, n_in_channels), self.normalized(year, time + self.dt, n_out_channels)

    def batch(self, samples, config, dtype):
        pairs = [self.pair(sample, config.n_in_channels, config.n_out_channels) for sample in samples]
        return (torch.from_numpy(np.stack(fields)).to(dtype) for fields in zip(*pairs))


def load_weights(model, path):
    """Loads weights into the model; missing, extra or misshaped tensors are an error."""
    tensors = safetensors_io.decode(Path(path).read_bytes())
    model.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in tensors.items()})


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yaml_config", default=ROOT / "config/ViT.yaml", help="file of configurations")
    parser.add_argument("--config", default="demo", help="name of a configuration")
    parser.add_argument("--data_dir", type=Path, default=ROOT / "data", help="holds train/*.h5 and stats/*.npy")
    parser.add_argument("--init_weights", required=True, help="safetensors file of initial weights")
    parser.add_argument("--order", help="text file of sample numbers, batch after batch; default: 0, 1, 2, ...")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--num_iters", type=int, help="steps until the cosine is zero; default: the configuration's")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    return parser.parse_args()


def main():
    args = options()
    settings = yaml.safe_load(Path(args.yaml_config).read_text())[args.config]
    config = vit.Config(tuple(settings["img_size"]), dropout=float(settings["dropout"]), **{
        key: settings[key]
        for key in ("patch_size", "n_in_channels", "n_out_channels", "embed_dim", "depth", "num_heads")})
    dtype = getattr(torch, args.dtype)
    model = vit.VisionTransformer(config)
    load_weights(model, args.init_weights)
    model.to(dtype)
    optimizer = torch.optim.Adam(model.parameters(), **vit.ADAM)
    data = Era5(args.data_dir / "train", args.data_dir / "stats", settings)
    size = settings["global_batch_size"]
    order = [int(word) for word in Path(args.order).read_text().split()] if args.order else range(args.steps * size)
    if len(order) < args.steps * size:
        raise SystemExit(f"{args.order} holds {len(order)} sample numbers; {args.steps} steps need {args.steps * size}")
    for step in range(args.steps):
        # 5E-4, as the tutorial writes it, is a string in YAML 1.1
        lr = vit.learning_rate(float(settings["lr"]), step, args.num_iters or settings["num_iters"], settings["warmup"])
        image, target = data.batch(order[step * size:(step + 1) * size], config, dtype)
        loss, _ = vit.train_step(model, optimizer, lr, image, target)
        print(f"{step} {loss:.9f} {lr:.9e}", flush=True)


if __name__ == "__main__":
    main()
