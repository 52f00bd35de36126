#!/usr/bin/env python3
"""Orders seeded graphs with `berth order`: reductions and seconds, beside the bars of the project.

usage: order_benchmark.py path/to/berth [--seeds N] [--time-limit S]
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

import order_graphs as graphs


def peak_of(file, order):
    """The naive evaluator: recomputes what berth says of its order."""
    output = {node["id"]: node["bytes"] for node in file["nodes"]}
    operands, left = {i: [] for i in output}, dict.fromkeys(output, 0)
    for a, b in file["edges"]:
        operands[b].append(a)
        left[a] += 1
    live = peak = 0
    done = set()
    for node in order:
        assert all(operand in done for operand in operands[node]), "not topological"
        done.add(node)
        live += output[node]
        peak = max(peak, live)
        for operand in operands[node]:
            left[operand] -= 1
            live -= output[operand] if left[operand] == 0 else 0
    assert len(done) == len(output), "not all nodes"
    return peak


def order(berth, graph, time_limit):
    file = graph.to_file()
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as out:
        json.dump(file, out)
    command = [berth, "order", out.name, "--json"]
    if time_limit:
        command += ["--time-limit", str(time_limit)]
    begin = time.monotonic()
    result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    result["seconds"] = time.monotonic() - begin
    os.unlink(out.name)
    assert peak_of(file, result["order"]) == result["peak_bytes"]
    assert peak_of(file, range(len(file["nodes"]))) == result["file_peak_bytes"]
    return result


def row(name, results, bar):
    def mean(key):
        return sum(r[key] for r in results) / len(results)
    least = min(r["reduction_percent"] for r in results)
    gap = 100 * (sum(r["peak_bytes"] / r["lower_bound_bytes"] for r in results) / len(results) - 1)
    print(f"| {name} | {mean('reduction_percent'):.1f} ({least:.1f}) "
          f"| {mean('reduction_from_depth_first_percent'):.1f} "
          f"| {sum(r['exact'] for r in results)}/{len(results)} | {gap:.0f} "
          f"| {mean('seconds'):.2f} ({max(r['seconds'] for r in results):.2f}) | {bar} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=0)
    args = parser.parse_args()
    print("| graphs | % below the file's order (least) | % below depth-first | EXACT "
          "| % above bound | seconds (most) | bar |\n|---|---|---|---|---|---|---|")
    seeds = range(1, args.seeds + 1)

    def bench(name, make, bar=""):
        row(name, [order(args.berth, make(seed), args.time_limit) for seed in seeds], bar)

    bars = {100: "exact within 1 s", 250: ">= 15% within 20 s", 1000: "better within 20 s"}
    for count in (50, 100, 250, 500, 1000):
        for width, reach in ((5, 1), (10, 1), (15, 1), (10, 3)):
            bench(f"layered {count}, layers to {width}, operands {reach} back",
                  lambda seed: graphs.layered(seed, count, width, reach), bars.get(count, ""))
    for kind in ("ER", "BA", "WS"):
        bench(f"RandWire {kind}", lambda seed: graphs.rand_wire(seed, kind))
    bench("NAS cells", graphs.nas_cells)


if __name__ == "__main__":
    main()
