#!/usr/bin/env python3
"""Checks that a shared library shows the functions of its headers and nothing else.

    check_exports.py LIBRARY.so HEADER.h... EXPORTS.map
"""
import pathlib
import re
import subprocess
import sys


def main():
    library, *headers, exports = sys.argv[1:]
    text = "\n".join(pathlib.Path(header).read_text() for header in headers)
    declared = set(re.findall(r"^BERTH_API\s[^;(]*?\b(berth_\w+)\(", text, re.MULTILINE))
    listed = set(re.findall(r"^\s+(berth_\w+);", pathlib.Path(exports).read_text(), re.MULTILINE))
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    # Of a version node there is an absolute symbol.
    shown = {line.split()[-1].split("@")[0] for line in lines if line.split()[1] != "A"}
    problems = [f"{what}: {', '.join(sorted(names))}" for what, names in [
        ("declared, not shown", declared - shown), ("shown, not declared", shown - declared),
        ("declared, not listed", declared - listed), ("listed, not declared", listed - declared),
    ] if names]
    print("\n".join(problems) or f"check_exports: {len(shown)} functions, as declared")
    return bool(problems or not shown)


if __name__ == "__main__":
    sys.exit(main())
