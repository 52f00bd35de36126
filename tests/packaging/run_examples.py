#!/usr/bin/env python3
"""Runs each example on a small model: run_examples.py C CPP SERVER [PYTHON SCRIPT]"""
import pathlib
import subprocess
import sys
import tempfile

from tiny_model import tiny_model


def run(*command, expects):
    result = subprocess.run([str(part) for part in command], check=False, text=True,
                            capture_output=True)
    print(result.stdout + result.stderr, end="")
    if result.returncode != 0 or expects not in result.stdout:
        sys.exit(f"{command}: exit {result.returncode}, expected '{expects}'")


c_example, cpp_example, server, *python = sys.argv[1:]
with tempfile.TemporaryDirectory() as name:
    model, bundle = pathlib.Path(name, "tiny.onnx"), pathlib.Path(name, "tiny.berth")
    model.write_bytes(tiny_model(2))
    run(c_example, model, bundle, expects=" cycles")
    run(cpp_example, bundle, expects="float32[2x3]\n")
    run(server, bundle, 200, expects="200 served, 0 failed")
    if python:
        run(*python, model, bundle, expects="float32 (2, 3)\n")
