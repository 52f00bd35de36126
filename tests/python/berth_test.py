#!/usr/bin/env python3
"""The Python module: berth_test.py (with PYTHONPATH at the module and tests/packaging)."""
import ast
import os
import pathlib
import tempfile
import threading
import unittest

import numpy

import berth
from tiny_model import tiny_model

WEIGHTS = numpy.arange(-5, 7, dtype=numpy.float32).reshape(4, 3)


def expected(x):
    return numpy.maximum(x @ WEIGHTS, 0)


class Foreign:
    """An array of another library, that shares by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class BerthTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = os.path.join(cls.folder.name, "tiny.onnx")
        pathlib.Path(cls.model).write_bytes(tiny_model())
        cls.path = os.path.join(cls.folder.name, "tiny.berth")
        berth.compile(cls.model, cls.path, target="edge", shapes={"x": (2, 4)})
        cls.program = berth.load(cls.path)
        cls.x = numpy.arange(8, dtype=numpy.float32).reshape(2, 4) - 3

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_tells_what_it_needs(self):
        info, = self.program.inputs
        self.assertEqual((info.name, info.dtype, info.shape, info.size_bytes),
                         ("x", "float32", [2, 4], 32))
        self.assertEqual(repr(self.program.outputs[0]), "y: float32[2x3]")
        self.assertFalse(self.program.is_dynamic)
        memory = self.program.memory
        self.assertGreaterEqual(memory["arena_bytes"], memory["scratchpad_bytes"])

    def test_runs(self):
        outputs = self.program.context().run(self.x)
        numpy.testing.assert_allclose(outputs[0], expected(self.x))

    def test_takes_what_is_not_dense(self):
        turned = numpy.asfortranarray(self.x)
        numpy.testing.assert_allclose(self.program.context().run(turned)[0], expected(self.x))

    def test_takes_and_gives_dlpack(self):
        output = self.program.context().run(Foreign(self.x))[0]
        again = numpy.from_dlpack(output)
        numpy.testing.assert_allclose(again, expected(self.x))
        self.assertEqual(again.ctypes.data, output.ctypes.data)

    def test_outputs_outlive_all(self):
        output = berth.load(self.path, trusted=True).context().run(self.x)[0]
        numpy.testing.assert_allclose(output, expected(self.x))

    def test_reports(self):
        outputs, report = self.program.context().run_with_report(self.x)
        numpy.testing.assert_allclose(outputs[0], expected(self.x))
        self.assertGreater(report.makespan_cycles, 0)
        self.assertEqual(report.macs, 24)
        self.assertEqual(report.json()["makespan_cycles"], report.makespan_cycles)
        self.assertEqual(self.program.simulate().makespan_cycles, report.makespan_cycles)

    def test_errors_say_what_is_wrong(self):
        context = self.program.context()
        cases = [
            (lambda: berth.load("missing.berth"), "not found: .*missing.berth"),
            (lambda: berth.compile(self.model, self.path, target="nothing"), "nothing"),
            (lambda: context.run(), "0 inputs given, 1 expected"),
            (lambda: context.run(self.x.astype(numpy.float64)), "'x' is float64, float32 expected"),
            (lambda: context.run(self.x[:1]), r"float32\[1x4\] given, float32\[2x4\] expected"),
            (lambda: context.state(0), "state 0 of 0"),
            (lambda: self.program.context(threads=-1), "threads"),
        ]
        for call, message in cases:
            with self.assertRaisesRegex(berth.Error, message):
                call()
        context.cancel()
        with self.assertRaisesRegex(berth.Error, "cancelled"):
            context.run(self.x)

    def test_compiles_in_memory(self):
        file = pathlib.Path(self.path).read_bytes()
        options = {"target": "edge", "shapes": {"x": (2, 4)}}
        for model in (self.model, pathlib.Path(self.model).read_bytes()):
            bundle = berth.compile(model, **options)
            self.assertEqual(len(bundle), len(file))
            outputs = berth.load(bundle).context().run(self.x)
            numpy.testing.assert_allclose(outputs[0], expected(self.x))
        cases = [
            (lambda: berth.compile(b"no model"), "model in memory|bytes in memory"),
            (lambda: berth.compile("missing.onnx"), "not found: .*missing.onnx"),
            (lambda: berth.compile(b"", self.path), "is returned"),
            (lambda: berth.load(b"no bundle"), "data loss"),
        ]
        for call, message in cases:
            with self.assertRaisesRegex(berth.Error, message):
                call()

    def test_tells_how_far_a_compilation_is(self):
        options = {"target": "edge", "shapes": {"x": (2, 4)}}
        told = []
        berth.compile(self.model, **options,
                      progress=lambda p: told.append((p.stage, p.best_cycles, p.timed_plans)))
        self.assertEqual([told[0][0], told[-1][0]], ["import", "write"])
        self.assertGreater(told[-1][1], 0)
        self.assertGreater(told[-1][2], 0)

        class Enough(Exception):
            pass

        def stop(progress):
            if progress.stage == "placement":
                raise Enough

        with self.assertRaises(Enough):
            berth.compile(self.model, **options, progress=stop)

    def test_dynamic_shapes(self):
        path = os.path.join(self.folder.name, "dynamic.berth")
        berth.compile(self.model, path, target="edge", ranges={"batch": (1, 4)})
        program = berth.load(path)
        self.assertTrue(program.is_dynamic)
        self.assertEqual(program.inputs[0].shape, [None, 4])
        context = program.context()
        for batch in (1, 3):
            x = numpy.ones((batch, 4), numpy.float32)
            numpy.testing.assert_allclose(context.run(x)[0], expected(x))

    def test_states(self):
        path = os.path.join(self.folder.name, "state.berth")
        model = os.path.join(self.folder.name, "square.onnx")
        pathlib.Path(model).write_bytes(tiny_model(2, columns=4))
        berth.compile(model, path, target="edge", states={"x": "y"})
        program = berth.load(path)
        self.assertEqual([len(program.inputs), len(program.outputs)], [0, 0])
        self.assertEqual(program.states[0].shape, [2, 4])
        context = program.context()
        value = numpy.ones((2, 4), numpy.float32)
        context.set_state(0, value)
        weights = numpy.arange(-5, 11, dtype=numpy.float32).reshape(4, 4)
        for _ in range(2):
            self.assertEqual(context.run(), [])
            value = numpy.maximum(value @ weights, 0)
            numpy.testing.assert_allclose(context.state(0), value)
        context.reset_states()
        self.assertEqual(context.state(0).max(), 0)
        with self.assertRaisesRegex(berth.Error, "its output float32"):
            berth.compile(self.model, path, shapes={"x": (2, 4)}, states={"x": "y"})

    def test_many_threads_and_a_limit(self):
        pool = berth.ArenaPool(limit_bytes=self.program.memory["arena_bytes"])
        failures = []

        def serve():
            for _ in range(5):
                output = self.program.context(pool).run(self.x)[0]
                if not numpy.allclose(output, expected(self.x)):
                    failures.append(output)

        threads = [threading.Thread(target=serve) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(pool.statistics["leases"], 20)
        full = berth.ArenaPool(limit_bytes=1, fail_at_limit=True)
        with self.assertRaisesRegex(berth.Error, "resource exhausted"):
            self.program.context(full)

    def test_stubs_name_what_there_is(self):
        stub = ast.parse(pathlib.Path(berth.__file__).with_name("berth.pyi").read_text())
        for item in stub.body:
            if isinstance(item, (ast.FunctionDef, ast.ClassDef)):
                self.assertTrue(item.name == "Error" or getattr(berth, item.name).__doc__)
            if isinstance(item, ast.ClassDef) and item.name != "Error":
                named = {member.name for member in item.body if isinstance(member, ast.FunctionDef)}
                there = {name for name in vars(getattr(berth, item.name))
                         if not name.startswith("_")}
                self.assertEqual(named - {"__init__"}, there, item.name)
        named = {item.name for item in stub.body if hasattr(item, "name")}
        there = {name for name in vars(berth) if not name.startswith("_")}
        self.assertEqual(named, there)


if __name__ == "__main__":
    unittest.main()
