// The page: what is common to the memories (time, colours, search), and the controls.
class View {
  constructor() {
    this.unit = 'command';
    this.showLive = true;
    this.hover = null;
    this.pointed = null;
    this.chosen = null;
    this.panels = memories.map((memory) => new Panel(memory, byId('panels'), this));
    this.categories = categorise('kind');
    this.showAll();
  }

  extent() {
    return this.unit === 'cycle' ? data.cycles : data.commands;
  }

  showAll() {
    this.x0 = 0;
    this.x1 = Math.max(this.extent(), 1);
    for (const panel of this.panels) panel.showAll();
    this.redraw();
  }

  setUnit(unit) {
    if (unit === this.unit) return;
    this.unit = unit;
    this.showAll();
  }

  zoomTime(share, factor) {
    const all = Math.max(this.extent(), 1);
    const at = this.x0 + share * (this.x1 - this.x0);
    const span = Math.max(Math.min((this.x1 - this.x0) * factor, all), Math.min(4, all));
    this.x0 = Math.max(0, Math.min(at - share * span, all - span));
    this.x1 = this.x0 + span;
    this.redraw();
  }

  moveTime(share) {
    const span = this.x1 - this.x0;
    this.x0 = Math.max(0, Math.min(this.x0 + share * span, Math.max(this.extent(), 1) - span));
    this.x1 = this.x0 + span;
    this.redraw();
  }

  redraw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.style = readStyle();
      for (const panel of this.panels) panel.draw(this.style);
    });
  }

  point(panel, event) {
    this.hover = null;
    this.pointed = null;
    if (panel !== null) {
      const x = event.offsetX - MARGIN.left, y = event.offsetY - MARGIN.top;
      const inside = x >= 0 && y >= 0 && x < panel.width && y < panel.height;
      if (inside) this.pointed = this.x0 + x / panel.width * (this.x1 - this.x0);
      const slot = inside ? panel.raster.slotAt(Math.floor(x * panel.scale),
                                                Math.floor(y * panel.scale)) : -1;
      if (slot >= 0) this.hover = {panel, slot};
    }
    if (this.style) for (const each of this.panels) each.drawOver(this.style);
    showTip(this.hover, event);
  }

  search() {
    const text = byId('search').value;
    const count = findMatches(text, this.chosen, this.categories.by);
    const active = text.trim() !== '' || this.chosen !== null;
    byId('found').textContent = active ? `${countText(count)} slots` : '';
    this.redraw();
  }

  colourBy(by) {
    this.categories = categorise(by);
    this.chosen = null;
    this.search();
    writeLegend(this);
  }
}

function byId(id) {
  return document.getElementById(id);
}

function readStyle() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const rgb = (name) => [1, 3, 5].map((k) => parseInt(read(name).slice(k, k + 2), 16));
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  return {
    rule: read('rule'), faint: read('faint'), ink: read('ink'), plot: read('plot'),
    bound: read('bound'), height: read('height'), capacity: read('capacity'), live: read('live'),
    palette: makePalette(rgb('plot'), dark),
  };
}

function tipRows({panel, slot}) {
  const memory = panel.memory;
  const from = memory.offset[slot], size = memory.size[slot];
  const op = opOf(memory, slot), last = data.ops[memory.lastOp[slot]];
  const rows = [
    ['bytes', `${countText(size)} (${bytesText(size)})`],
    ['offset', `[${countText(from)}, ${countText(from + size)}) of the ${memory.name}`],
    ['commands', `[${memory.command.begin[slot]}, ${memory.command.end[slot]})`],
  ];
  if (memory.cycle) {
    const {begin, end} = memory.cycle;
    rows.push(['cycles', `[${countText(begin[slot])}, ${countText(end[slot])})`]);
  }
  rows.push(['op', `${memory.op[slot]} ${shown(op[0])}: ${shown(op[1])}` +
                   (op[2] ? ` (${shown(op[2])})` : '')]);
  if (last && memory.lastOp[slot] !== memory.op[slot]) {
    rows.push(['last op', `${memory.lastOp[slot]} ${shown(last[0])}: ${shown(last[1])}`]);
  }
  const values = memory.values[slot] || [];
  if (values.length > 0) {
    const names = values.slice(0, 8).map((name) => shown(data.names[name])).join(', ');
    rows.push(['values', names + (values.length > 8 ? `, and ${values.length - 8} more` : '')]);
  }
  rows.push(['slot', String(memory.slot[slot])]);
  return rows;
}

function showTip(hover, event) {
  const tip = byId('tip');
  tip.hidden = hover === null;
  if (hover === null) return;
  tip.replaceChildren();
  element('strong', '', tip).textContent = shown(slotName(hover.panel.memory, hover.slot));
  const table = element('table', '', tip);
  for (const [key, text] of tipRows(hover)) {
    const row = element('tr', '', table);
    element('td', '', row).textContent = key;
    element('td', '', row).textContent = text;
  }
  const box = tip.getBoundingClientRect();
  const fits = (at, span, room) => at + 16 + span < room ? at + 16 : Math.max(at - 12 - span, 4);
  tip.style.left = `${fits(event.clientX, box.width, innerWidth)}px`;
  tip.style.top = `${fits(event.clientY, box.height, innerHeight)}px`;
}

function writeLegend(view) {
  const legend = byId('legend');
  legend.replaceChildren();
  const {by, ranked, colour} = view.categories;
  if (by === 'op') return;
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const entries = ranked.slice(0, COLOURS).filter((category) => colour.get(category) < COLOURS);
  const rest = ranked.length - entries.length;
  for (const category of rest > 0 ? [...entries, null] : entries) {
    const index = category === null ? COLOURS : colour.get(category);
    const button = element('button', '', legend);
    button.type = 'button';
    element('span', 'swatch', button).style.background =
        `rgb(${categoryColour(index, dark).join(' ')})`;
    element('span', '', button).textContent =
        category === null ? `${rest} other${rest > 1 ? 's' : ''}` : shown(category);
    button.setAttribute('aria-pressed', 'false');
    button.addEventListener('click', () => {
      const chosen = view.chosen || new Set();
      if (!chosen.delete(index)) chosen.add(index);
      view.chosen = chosen.size > 0 ? chosen : null;
      button.setAttribute('aria-pressed', String(chosen.has(index)));
      view.search();
    });
  }
}

function start() {
  const title = `${shown(data.model)} on ${shown(data.target)}`;
  document.title = `${title}: memory map`;
  byId('title').textContent = title;
  byId('subtitle').textContent =
      `${countText(data.ops.length)} ops, ${countText(data.commands)} commands` +
      (data.cycles === null ? ` · no cycles: ${shown(data.no_cycles_because)}`
                            : `, ${countText(data.cycles)} simulated cycles`);
  const view = new View();
  const units = {command: byId('by-command'), cycle: byId('by-cycle')};
  const setUnit = (unit) => {
    view.setUnit(unit);
    for (const [name, button] of Object.entries(units)) {
      button.setAttribute('aria-pressed', String(name === unit));
    }
  };
  for (const [name, button] of Object.entries(units)) {
    button.addEventListener('click', () => setUnit(name));
  }
  units.cycle.disabled = data.cycles === null;
  setUnit('command');
  byId('colour').addEventListener('change', (event) => view.colourBy(event.target.value));
  byId('live').addEventListener('change', (event) => {
    view.showLive = event.target.checked;
    view.redraw();
  });
  byId('search').addEventListener('input', () => view.search());
  byId('reset').addEventListener('click', () => view.showAll());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    writeLegend(view);
    view.redraw();
  });
  new ResizeObserver(() => view.redraw()).observe(byId('panels'));
  writeLegend(view);
}

start();
