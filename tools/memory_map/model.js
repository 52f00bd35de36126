// The embedded data as arrays by slot, and what is said of them: names, units, categories.
const data = JSON.parse(document.getElementById('data').textContent);
// Hue, saturation, lightness; what comes after them is grey.
const HUES = [
  [212, 0.52, 0.58], [28, 0.62, 0.6], [145, 0.36, 0.5], [354, 0.52, 0.62], [184, 0.4, 0.5],
  [46, 0.6, 0.55], [274, 0.4, 0.62], [325, 0.45, 0.66], [84, 0.36, 0.48], [240, 0.42, 0.66],
];
const COLOURS = HUES.length;

// Names come from models and may hold anything: control and direction characters become visible,
// and none is endless.
function shown(text) {
  const short = text.length > 160 ? `${text.slice(0, 160)}\u2026` : text;
  return short.replace(/[\u0000-\u001f\u007f]/g, (c) =>
      c === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + c.charCodeAt(0)))
      .replace(/[\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '\ufffd');
}

function bytesText(bytes) {
  for (const [unit, size] of [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]]) {
    if (Math.abs(bytes) >= size) return `${trimmed(bytes / size)} ${unit}`;
  }
  return `${bytes} B`;
}

function trimmed(value) {
  return value.toFixed(value >= 100 ? 1 : 2).replace(/\.?0+$/, '');
}

function countText(value) {
  return Math.round(value).toLocaleString('en-US');
}

// Slots by begin in one unit of time; `live` are the steps at which the live bytes change.
function makeTimes(begin, end, size) {
  const order = Uint32Array.from(begin.keys()).sort((a, b) => begin[a] - begin[b] || a - b);
  const events = new Float64Array(2 * begin.length);
  for (let i = 0; i < begin.length; ++i) {
    events[2 * i] = begin[i];
    events[2 * i + 1] = end[i];
  }
  const by = Uint32Array.from(events.keys()).sort((a, b) => events[a] - events[b]);
  const at = new Float64Array(by.length);
  const bytes = new Float64Array(by.length);
  let live = 0;
  by.forEach((event, k) => {
    live += event % 2 === 0 ? size[event >> 1] : -size[event >> 1];
    at[k] = events[event];
    bytes[k] = live;
  });
  return {begin, end, order, live: {at, bytes}};
}

function makeMemory(source) {
  const count = source.offset.length;
  const memory = {
    name: source.name, height: source.height_bytes, bound: source.lower_bound_bytes,
    capacity: source.capacity_bytes, status: source.status, boundAt: source.bound_at,
    count,
    offset: Float64Array.from(source.offset), size: Float64Array.from(source.size),
    slot: source.slot, label: source.label, op: source.op, lastOp: source.last_op,
    values: source.values || [],
    colour: new Uint8Array(count), matches: new Uint8Array(count).fill(1), matchCount: count,
  };
  const commands = [Int32Array.from(source.begin), Int32Array.from(source.end)];
  memory.command = makeTimes(...commands, memory.size);
  if (source.start) {
    memory.cycle = makeTimes(Float64Array.from(source.start), Float64Array.from(source.finish),
                             memory.size);
  }
  memory.top = Math.max(memory.height, memory.bound, 1);
  // A limit far above the plan would flatten it.
  if (memory.capacity <= 1.5 * memory.top) memory.top = Math.max(memory.top, memory.capacity);
  return memory;
}

const memories = data.memories.filter((source) => source.offset.length > 0).map(makeMemory);

function slotName(memory, slot) {
  return data.names[memory.label[slot]];
}

function opOf(memory, slot) {
  return data.ops[memory.op[slot]] || ['?', '?', ''];
}

function roleOf(memory, slot) {
  if (memory.name === 'pool') return 'tensor';
  const name = slotName(memory, slot);
  return name.slice(name.lastIndexOf('/') + 1) || '?';
}

const CATEGORY = {
  kind: (memory, slot) => opOf(memory, slot)[1],
  role: roleOf,
  op: (memory, slot) => String(memory.op[slot]),
};

// The categories that fill most of the maps get colours of their own. By op, neighbours differ.
function categorise(by) {
  const weight = new Map();
  for (const memory of memories) {
    for (let i = 0; i < memory.count; ++i) {
      const category = CATEGORY[by](memory, i);
      const lasts = memory.command.end[i] - memory.command.begin[i];
      const area = lasts * memory.size[i] / memory.top;
      weight.set(category, (weight.get(category) || 0) + area);
    }
  }
  const ranked = [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a));
  const colour = new Map();
  ranked.forEach((category, rank) => {
    if (by === 'op') {
      colour.set(category, Number(category) % COLOURS);
    } else {
      colour.set(category, ranked.length > COLOURS && rank >= COLOURS ? COLOURS : rank);
    }
  });
  for (const memory of memories) {
    for (let i = 0; i < memory.count; ++i) {
      memory.colour[i] = colour.get(CATEGORY[by](memory, i));
    }
  }
  return {by, ranked, colour};
}

// What is searched for: names of slots, of the values in them, of their ops.
function findMatches(text, category, by) {
  const wanted = text.trim().toLowerCase();
  const names = data.names.map((name) => name.toLowerCase().includes(wanted));
  const ops = data.ops.map((op) => op[0].toLowerCase().includes(wanted));
  let count = 0;
  for (const memory of memories) {
    memory.matchCount = 0;
    for (let i = 0; i < memory.count; ++i) {
      const found = wanted === '' || names[memory.label[i]] || ops[memory.op[i]] ||
          (memory.values[i] || []).some((name) => names[name]);
      const chosen = category === null || category.has(memory.colour[i]);
      memory.matches[i] = found && chosen ? 1 : 0;
      memory.matchCount += memory.matches[i];
    }
    count += memory.matchCount;
  }
  return count;
}
