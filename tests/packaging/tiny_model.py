#!/usr/bin/env python3
"""Writes a small ONNX model without the onnx package: y = Relu(x W), x float32[N x 4], W 4 x 3.

    tiny_model.py OUT.onnx [N]     N free ("batch") where it is not given

W counts from -5 by 1 in row-major order.
"""
import struct
import sys


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def blob(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


FLOAT = 1  # onnx.TensorProto.FLOAT


def value_info(name, dims):
    shape = b"".join(blob(1, number(1, dim) if isinstance(dim, int) else blob(2, dim))
                     for dim in dims)
    return blob(1, name) + blob(2, blob(1, number(1, FLOAT) + blob(2, shape)))


def node(kind, inputs, output):
    return (b"".join(blob(1, name) for name in inputs) + blob(2, output) + blob(3, kind.lower()) +
            blob(4, kind))


def tiny_model(batch="batch", columns=3):
    weights = struct.pack(f"<{4 * columns}f", *range(-5, 4 * columns - 5))
    tensor = number(1, 4) + number(1, columns) + number(2, FLOAT) + blob(8, "w") + blob(9, weights)
    graph = (blob(1, node("MatMul", ["x", "w"], "product")) + blob(1, node("Relu", ["product"], "y")) +
             blob(2, "tiny") + blob(5, tensor) + blob(11, value_info("x", [batch, 4])) +
             blob(12, value_info("y", [batch, columns])))
    return number(1, 8) + blob(7, graph) + blob(8, blob(1, "") + number(2, 13))


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as out:
        out.write(tiny_model(*[int(text) for text in sys.argv[2:3]]))
