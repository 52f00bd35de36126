#!/usr/bin/env python3
"""Builds and runs projects that use Berth, each in a folder that is removed again.

    build_consumer.py install BUILD                 the install tree is whole and can be moved
    build_consumer.py c|cpp|pkgconfig BUILD         a consumer of an install tree
    build_consumer.py subproject SOURCE             add_subdirectory: configured, one file compiled
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tiny_model import tiny_model

HERE = pathlib.Path(__file__).resolve().parent


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], check=False, text=True,
                            capture_output=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(str(part) for part in command)}: exit {result.returncode}\n"
                 f"{result.stdout}{result.stderr}")
    return result.stdout


def configure(source, build, *definitions):
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, *definitions)


def install(build, folder):
    prefix = folder / "prefix"
    run("cmake", "--install", build, "--prefix", prefix)
    # Nothing in it may depend on where it was put.
    moved = folder / "moved"
    shutil.move(prefix, moved)
    return moved


def library_folder(prefix):
    return next(path.parent for path in prefix.rglob("libberth.so"))


def run_consumer(program, prefix, folder):
    model = folder / "tiny.onnx"
    model.write_bytes(tiny_model(2))
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library_folder(prefix)))
    print(run(program, model, folder / "tiny.berth", env=environment), end="")


def check_install(prefix):
    for file in ["bin/berth", "include/berth/berth.h", "include/berth/berth_planner.h",
                 "include/berth/context.h", "include/berth/internal/base/status.h"]:
        if not (prefix / file).exists():
            sys.exit(f"not installed: {file}")
    for path in prefix.rglob("*"):
        if path.suffix in {".cmake", ".pc", ".h"} and str(prefix.parent) in path.read_text():
            sys.exit(f"{path}: names the folder that it was installed to")
    print(f"{sum(1 for _ in prefix.rglob('*'))} files")


def main():
    kind, where = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if kind == "subproject":
            configure(HERE / "subproject", folder / "build", f"-DBERTH_SOURCE={where}",
                      "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
            # By itself: the build would first make all that Berth generates, and for that Berth.
            commands = json.loads((folder / "build/compile_commands.json").read_text())
            command, = [entry for entry in commands if entry["file"].endswith("host.cc")]
            run(*command["command"].split(), cwd=command["directory"])
            return
        prefix = install(where, folder)
        if kind == "install":
            check_install(prefix)
        elif kind == "pkgconfig":
            environment = dict(os.environ,
                               PKG_CONFIG_PATH=str(library_folder(prefix) / "pkgconfig"))
            flags = run("pkg-config", "--cflags", "--libs", "berth_planner", env=environment)
            run("cc", HERE / "consumer/consumer.c", "-o", folder / "consumer", *flags.split())
            run_consumer(folder / "consumer", prefix, folder)
        else:
            configure(HERE / "consumer", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
                      f"-DWITH_CPP={'ON' if kind == 'cpp' else 'OFF'}")
            run("cmake", "--build", folder / "build")
            run_consumer(folder / "build" / f"consumer_{kind}", prefix, folder)


if __name__ == "__main__":
    main()
