"""Safetensors files of float32 tensors: eight bytes of header length, a JSON header, the values, little-endian."""
import json
import os
import secrets
import struct

import numpy as np


def encode(tensors):
    """Encodes the arrays of dict `tensors`, in its order."""
    header, values = {}, b""
    for name, array in tensors.items():
        data = np.ascontiguousarray(array, "<f4").tobytes()
        offsets = [len(values), len(values) + len(data)]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        values += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # values start at a multiple of eight bytes
    return struct.pack("<Q", len(text)) + text + values


def decode(content):
    """Decodes a file into arrays by name."""
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise ValueError(f"tensor {name} is {entry['dtype']}; only F32 is supported")
        first, last = entry["data_offsets"]
        tensors[name] = np.frombuffer(content[start + first:start + last], "<f4").reshape(entry["shape"])
    return tensors


def write(path, content):
    """Writes `content` to a temporary name first, so that `path` is never incomplete."""
    temporary = f"{path}.{secrets.token_hex(8)}.tmp"
    with open(temporary, "xb") as file:  # follows no link
        file.write(content)
    os.replace(temporary, path)
