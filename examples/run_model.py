#!/usr/bin/env python3
"""Plans a model and runs it, in Python: run_model.py MODEL.onnx OUT.berth"""
import sys

import numpy

import berth

model, bundle = sys.argv[1:]
berth.compile(model, bundle, target="mobile")
program = berth.load(bundle)
print(program.inputs, "->", program.outputs)
inputs = [numpy.zeros(info.shape, info.dtype) for info in program.inputs]
outputs, report = program.context().run_with_report(*inputs)
for output in outputs:
    print(output.dtype, output.shape)
print(report.makespan_cycles, "cycles")
