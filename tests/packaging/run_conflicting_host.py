#!/usr/bin/env python3
"""Runs conflicting_host with a model that is written for it: run_conflicting_host.py HOST PLANNER.so"""
import pathlib
import subprocess
import sys
import tempfile

from tiny_model import tiny_model

host, planner = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    model = pathlib.Path(folder, "tiny.onnx")
    model.write_bytes(tiny_model(2))
    sys.exit(subprocess.run([host, planner, model, f"{folder}/tiny.berth"], check=False).returncode)
