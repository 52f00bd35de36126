#!/usr/bin/env python3
"""Rejects an #include against the arrow of the folders.

    base <- npu_sim <- kernels <- runtime <- planner <- tools

Each folder may include itself and what stands to its left; of runtime/, the planner may include
runtime/bundle/ only. Everything else (tests, benchmarks, python, examples) is a user and may include
what it likes. Own headers are included by their path from the project root,
generated ones aside.

    check_includes.py [ROOT]       exit 1 and one line per wrong include
    check_includes.py --self-test  the rules on made-up includes, wrong ones included
"""
import pathlib
import re
import sys

ARROW = ["base", "npu_sim", "kernels", "runtime", "planner", "tools"]
SUFFIXES = {".h", ".cc", ".c", ".inc", ".in"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def violation(source, included, quoted=True):
    """Why `source` (a path from the root) may not include `included`, or None."""
    folder, _, _ = source.partition("/")
    target, slash, rest = included.partition("/")
    if folder not in ARROW:
        return None
    if quoted and not slash and not included.endswith("_generated.h"):
        return "own headers are included by their path from the project root"
    if target in ("tests", "benchmarks", "python", "examples"):
        return f"{folder}/ may not include {target}/"
    if target not in ARROW:
        return None  # a third party's
    if ARROW.index(target) > ARROW.index(folder):
        return f"{folder}/ stands left of {target}/"
    if folder == "planner" and target == "runtime" and not rest.startswith("bundle/"):
        return "of runtime/, planner/ may include runtime/bundle/ only"
    return None


def check(root):
    problems = []
    for folder in ARROW:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            source = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                reason = violation(source, match[2], quoted=match[1] == '"')
                if reason:
                    line = text.count("\n", 0, match.start(2)) + 1
                    problems.append(f'{source}:{line}: #include "{match[2]}": {reason}')
    return problems


def self_test():
    allowed = [
        ("base/a.cc", "base/b.h"), ("kernels/ops/a.cc", "npu_sim/b.h"), ("tools/a.cc", "planner/b.h"),
        ("planner/a.cc", "runtime/bundle/b.h"), ("base/a.h", "absl/status/status.h"),
        ("tests/base/a.cc", "tools/b.h"), ("tools/a.cc", "runtime/executor/b.h"),
        ("runtime/a.cc", "bundle_generated.h"),
    ]
    rejected = [
        ("base/a.cc", "npu_sim/b.h"), ("npu_sim/units/a.cc", "kernels/b.h"),
        ("kernels/a.h", "runtime/bundle/b.h"), ("runtime/a.cc", "planner/b.h"),
        ("planner/a.cc", "runtime/executor/b.h"), ("planner/a.cc", "runtime/context.h"),
        ("base/a.cc", "b.h"), ("kernels/a.cc", "tests/b.h"),
    ]
    wrong = [pair for pair in allowed if violation(*pair)]
    wrong += [pair for pair in rejected if not violation(*pair)]
    text = '#include <a>\n  # include "b/c.h"\n// #include "d.h"\n'
    if [match[2] for match in INCLUDE.finditer(text)] != ["a", "b/c.h"]:
        wrong.append("the pattern of an include")
    return [f"self-test: {pair}" for pair in wrong]


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems = self_test()
    else:
        default = pathlib.Path(__file__).resolve().parent.parent
        problems = check(pathlib.Path(sys.argv[1]) if sys.argv[1:] else default)
    print("\n".join(problems) or "check_includes: ok")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
