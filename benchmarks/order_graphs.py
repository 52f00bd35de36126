"""Seeded graphs for `berth order`, after the published constructions; each is a dict for its file.

A node is one op with one output; nodes stand in the generator's order, which is topological.
"""
import random


class Graph:
    def __init__(self):
        self.bytes, self.edges = [], []

    def add(self, output_bytes, operands=()):
        node = len(self.bytes)
        self.bytes.append(output_bytes)
        self.edges += [[operand, node] for operand in sorted(set(operands))]
        return node

    def to_file(self):
        return {"nodes": [{"id": i, "bytes": b} for i, b in enumerate(self.bytes)],
                "edges": self.edges}


def layered(seed, node_count, most_width, reach=1):
    """Layers of random width; 1 to 4 operands each, from the last `reach` layers."""
    rng = random.Random(f"layered {seed} {node_count} {most_width} {reach}")
    graph, layers = Graph(), []
    while len(graph.bytes) < node_count:
        width = min(rng.randint(max(2, most_width // 2), most_width),
                    node_count - len(graph.bytes))
        pool = [node for layer in layers[-reach:] for node in layer]
        layer = []
        for _ in range(width):
            operands = rng.sample(pool, min(len(pool), rng.randint(1, 4)))
            layer.append(graph.add(rng.randint(1, 1024) * 1024, operands))
        layers.append(layer)
    return graph


def erdos_renyi(rng, count, p):
    return {(a, b) for a in range(count) for b in range(a + 1, count) if rng.random() < p}


def barabasi_albert(rng, count, m):
    edges, ends = set(), []
    for node in range(m, count):
        targets = set(range(m)) if not ends else set()
        while len(targets) < m:
            targets.add(rng.choice(ends))
        for target in targets:
            edges.add((min(target, node), max(target, node)))
            ends += [target, node]
    return edges


def watts_strogatz(rng, count, k, p):
    edges = {tuple(sorted((i, (i + j) % count))) for i in range(count) for j in range(1, k // 2 + 1)}
    for i in range(count):
        for j in range(1, k // 2 + 1):
            edge = tuple(sorted((i, (i + j) % count)))
            if rng.random() >= p or edge not in edges:
                continue
            free = [n for n in range(count) if n != i and tuple(sorted((i, n))) not in edges]
            if free:
                edges.remove(edge)
                edges.add(tuple(sorted((i, rng.choice(free)))))
    return edges


def rand_wire(seed, kind, nodes_per_stage=32, stages=3):
    """Xie et al. 2019: an undirected random graph a stage, every edge from the lower to the higher
    number; nodes without operands read the stage's input, those without readers feed the mean
    that is the stage's output. From stage to stage the resolution halves and channels double."""
    rng = random.Random(f"randwire {seed} {kind}")
    graph = Graph()
    stage_bytes = 78 * 32 * 32
    source = graph.add(stage_bytes)
    for _ in range(stages):
        edges = {"ER": lambda: erdos_renyi(rng, nodes_per_stage, 0.2),
                 "BA": lambda: barabasi_albert(rng, nodes_per_stage, 5),
                 "WS": lambda: watts_strogatz(rng, nodes_per_stage, 4, 0.75)}[kind]()
        stage_bytes //= 2
        made = []
        for node in range(nodes_per_stage):
            operands = [made[a] for a, b in edges if b == node]
            made.append(graph.add(stage_bytes, operands or [source]))
        read = {a for a, _ in edges}
        source = graph.add(stage_bytes, [made[n] for n in range(nodes_per_stage) if n not in read])
    return graph


def nas_cells(seed, cells=8, blocks=5):
    """Cells as in NASNet, AmoebaNet and DARTS: each reads the two cells before it; a block combines
    two of the cell's earlier values by two ops and a sum; what no block reads is concatenated.
    Every third cell halves the resolution and doubles the channels."""
    rng = random.Random(f"nas {seed}")
    graph = Graph()
    size = 32 * 32 * 32
    choices = [[(rng.randrange(b + 2), rng.randrange(b + 2)) for b in range(blocks)]
               for _ in range(2)]  # of a normal and of a reduction cell
    before, last = graph.add(size), graph.add(size)
    graph.edges.append([before, last])
    for cell in range(cells):
        is_reduction = cell % 3 == 2
        if is_reduction:
            size //= 2
        values = [graph.add(size, [before]), graph.add(size, [last])]
        read = set()
        for a, b in choices[is_reduction]:
            ops = [graph.add(size, [values[a]]), graph.add(size, [values[b]])]
            read |= {a, b}
            values.append(graph.add(size, ops))
        free = [v for i, v in enumerate(values) if i >= 2 and i not in read]
        before, last = last, graph.add(size * len(free), free)
    return graph
