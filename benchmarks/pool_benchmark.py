#!/usr/bin/env python3
"""Runs `berth place` on the published instances and a synthetic one, beside the bars.

    benchmarks/pool_benchmark.py build/tools/berth [--dsa ../shared/dsa] [--quick] [--threads 2]

Each line: instance, what is measured, the value, the bar, and whether it is kept. `--quick` leaves
out the minimisations of 60 s. Overlaps and bounds are recomputed here from the files.
"""

import argparse
import csv
import json
import pathlib
import random
import subprocess
import tempfile
import time

CAPACITY = 1048576
SOLVE_BARS_S = {"A": 4.0, "C": 0.5, "E": 2.6, "G": 0.8, "I": 2.7, "J": 0.7}
PROVED_HEIGHTS = {"A": 1048576, "C": 1039360, "E": 1048576, "G": 1048576, "I": 1048576}
J_HEIGHT = 1036288


def synthetic(path, items, seed):
    """Items of a long program: most live shortly, some long; sizes over four decades."""
    draw = random.Random(seed)
    with open(path, "w", encoding="ascii") as out:
        out.write("id,lower,upper,size\n")
        for i in range(items):
            begin = draw.randrange(items)
            length = 1 + int(draw.paretovariate(0.9))
            size = 64 * (1 + int(2 ** draw.uniform(0, 14)))
            out.write(f"{i},{begin},{begin + min(length, items // 10)},{size}\n")


def read(path):
    with open(path, encoding="ascii") as file:
        return [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]


def load_bound(rows):
    change = {}
    for row in rows:
        change[row["lower"]] = change.get(row["lower"], 0) + row["size"]
        change[row["upper"]] = change.get(row["upper"], 0) - row["size"]
    live = most = 0
    for step in sorted(change):
        live += change[step]
        most = max(most, live)
    return most


def check(rows):
    """No two items overlap in time and space: a sweep over time, O(n x live)."""
    events = sorted([(row["upper"], 0, i) for i, row in enumerate(rows)] +
                    [(row["lower"], 1, i) for i, row in enumerate(rows)])
    live = set()
    for _, begins, i in events:
        if not begins:
            live.discard(i)
            continue
        low, high = rows[i]["offset"], rows[i]["offset"] + rows[i]["size"]
        for j in live:
            other = rows[j]["offset"]
            assert high <= other or other + rows[j]["size"] <= low, (i, j)
        live.add(i)
    return max(row["offset"] + row["size"] for row in rows)


def place(berth, path, threads, *flags):
    with tempfile.NamedTemporaryFile(suffix=".csv") as out:
        begin = time.monotonic()
        run = subprocess.run(
            ["/usr/bin/env", "time", "-f", "%M", berth, "place", str(path), "--json", "--threads",
             str(threads), "-o", out.name, *flags], capture_output=True, text=True, check=False)
        wall_s = time.monotonic() - begin
        answer = json.loads(run.stdout)
        answer["wall_s"] = wall_s
        answer["peak_mib"] = int(run.stderr.split()[-1]) / 1024
        if "conflict" not in answer:
            rows = read(out.name)
            if len(rows) < 50000:
                assert check(rows) == answer["height_bytes"]
            answer["ratio"] = answer["height_bytes"] / load_bound(rows)
        return answer


def report(name, what, value, bar, kept):
    print(f"{name:28} {what:34} {value:>12} {bar:>14}  {'kept' if kept else 'MISSED'}", flush=True)


def solve_at_capacity(args, files):
    total_s = 0
    for name, path in files.items():
        answer = place(args.berth, path, args.threads, "--capacity", str(CAPACITY),
                       "--time-limit", "20")
        fits = answer["status"] in ("optimal", "feasible")
        bar_s = SOLVE_BARS_S[name]
        total_s += answer["wall_s"]
        report(name, "solved at capacity, s", f"{answer['wall_s']:.3f}", f"<= {bar_s}",
               fits and answer["wall_s"] <= bar_s)
    report("A C E G I J", "together, s", f"{total_s:.2f}", "<= 11", total_s <= 11)


def stopped_early(args, files):
    ratios = []
    for name, path in files.items():
        answer = place(args.berth, path, args.threads, "--time-limit", "0.1")
        ratios.append(answer["ratio"])
        report(name, "after 100 ms, x bound", f"{answer['ratio']:.4f}", "", True)
        report(name, "time, limit of 0.1 s", f"{answer['wall_s']:.3f}", "<= 0.12",
               answer["wall_s"] <= 0.12)
    mean = sum(ratios) / len(ratios)
    report("A C E G I J", "mean after 100 ms, x bound", f"{mean:.4f}", "<= 1.20", mean <= 1.2)


def minimise(args, files):
    for name, path in files.items():
        answer = place(args.berth, path, args.threads, "--time-limit", "60")
        what = f"minimised, {answer['best_plan_ms'] / 1000:.1f} s, {answer['status']}"
        bar = PROVED_HEIGHTS.get(name, J_HEIGHT)
        kept = answer["height_bytes"] <= bar and (name == "J" or answer["status"] == "optimal")
        report(name, what, answer["height_bytes"], f"<= {bar}", kept)


def large(args):
    somas = args.dsa / "somas_tensors_resnet50.csv"
    answer = place(args.berth, somas, args.threads, "--time-limit", "0.5")
    report("somas_tensors_resnet50", f"x bound, {answer['best_plan_ms']:.0f} ms",
           f"{answer['ratio']:.4f}", "= 1", answer["ratio"] == 1)
    iopddl = args.dsa / "iopddl_S_1.csv"
    for limit, bar in (("1", 1.0249), ("60", 1.015))[:1 if args.quick else 2]:
        answer = place(args.berth, iopddl, args.threads, "--time-limit", limit)
        report("iopddl_S_1", f"x bound in {limit} s", f"{answer['ratio']:.4f}", f"<= {bar}",
               answer["ratio"] <= bar)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "synthetic.csv"
        synthetic(path, 100000, 1)
        answer = place(args.berth, path, args.threads, "--time-limit", "3")
        first_s = answer["first_plan_ms"] / 1000
        report("synthetic, 100k items", "first plan, s", f"{first_s:.3f}", "<= 2", first_s <= 2)
        report("synthetic, 100k items", "after 3 s, x bound", f"{answer['ratio']:.4f}", "", True)
        report("synthetic, 100k items", "peak memory, MiB", f"{answer['peak_mib']:.0f}", "<= 1024",
               answer["peak_mib"] <= 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("berth")
    parser.add_argument("--dsa", type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[1] / ".." / "shared" / "dsa")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    files = {name: args.dsa / f"{name}.{CAPACITY}.csv" for name in SOLVE_BARS_S}
    solve_at_capacity(args, files)
    stopped_early(args, files)
    large(args)
    if not args.quick:
        minimise(args, files)


if __name__ == "__main__":
    main()
