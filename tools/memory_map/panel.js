// One memory: its canvas, axes, lines, and what the pointer does on it.
const MARGIN = {left: 82, right: 14, top: 6, bottom: 24};
const FONT = '12px system-ui, sans-serif';

// Ticks at 1, 2, 5 x 10^k, or for bytes at powers of two.
function ticks(from, to, most, binary) {
  const least = (to - from) / most;
  let step = binary ? 2 ** Math.ceil(Math.log2(least)) : 10 ** Math.floor(Math.log10(least));
  if (!binary) step *= [1, 2, 5, 10].find((factor) => step * factor >= least);
  step = Math.max(step, 1);
  const list = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) list.push(at);
  return list;
}

function element(tag, className, parent) {
  const made = document.createElement(tag);
  made.className = className;
  parent.appendChild(made);
  return made;
}

class Panel {
  constructor(memory, parent, view) {
    this.memory = memory;
    this.view = view;
    this.raster = new Raster();
    this.y0 = 0;
    this.y1 = memory.top * 1.04;
    this.root = element('section', memory.name === 'accumulator' ? 'panel small' : 'panel', parent);
    this.root.style.flex = memory.name === 'accumulator' ? '1' : '2';
    this.writeHeading(element('h2', '', this.root));
    const plot = element('div', 'plot', this.root);
    this.base = element('canvas', 'base', plot);
    this.over = element('canvas', 'over', plot);
    this.listen();
  }

  writeHeading(heading) {
    const {name, height, bound, boundAt, capacity, status, count} = this.memory;
    heading.textContent = name[0].toUpperCase() + name.slice(1) + ' ';
    const ratio = bound > 0 ? (height / bound).toFixed(3) : '1.000';
    // On-chip memories are filled so that bytes rest before they are reused: all must fit, no more.
    const result = name !== 'pool' && status === 'feasible' ? 'fits, spread to delay reuse' : status;
    element('span', '', heading).textContent =
        `${bytesText(height)} high · lower bound ${bytesText(bound)} (${shown(boundAt)})` +
        ` · ratio ${ratio} (${result})` +
        (capacity > 0 ? ` · capacity ${bytesText(capacity)}` : '') +
        ` · ${countText(count)} slot${count === 1 ? '' : 's'}`;
  }

  showAll() {
    this.y0 = 0;
    this.y1 = this.memory.top * 1.04;
  }

  times() {
    return this.memory[this.view.unit];
  }

  // Sizes in device pixels; drawing below is in CSS pixels.
  measure() {
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const box = this.base.getBoundingClientRect();
    this.scale = scale;
    this.width = Math.max(box.width - MARGIN.left - MARGIN.right, 10);
    this.height = Math.max(box.height - MARGIN.top - MARGIN.bottom, 10);
    for (const canvas of [this.base, this.over]) {
      const [width, height] = [Math.round(box.width * scale), Math.round(box.height * scale)];
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
    }
  }

  toX(time) {
    const {x0, x1} = this.view;
    return MARGIN.left + (time - x0) / (x1 - x0) * this.width;
  }

  toY(byte) {
    return MARGIN.top + (this.y1 - byte) / (this.y1 - this.y0) * this.height;
  }

  draw(style) {
    this.measure();
    const context = this.base.getContext('2d');
    const {scale, view} = this;
    const left = Math.round(MARGIN.left * scale), top = Math.round(MARGIN.top * scale);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.base.width, this.base.height);
    this.raster.resize(Math.round(this.width * scale), Math.round(this.height * scale));
    this.raster.fill(this.memory, this.times(), view.x0, view.x1, this.y0, this.y1);
    context.putImageData(this.raster.paint(this.memory, style.palette), left, top);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = FONT;
    this.drawAxes(context, style);
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, 0, this.width, MARGIN.top + this.height);
    context.clip();
    if (view.showLive) this.drawLive(context, style);
    this.drawLines(context, style);
    context.restore();
    this.drawOver(style);
  }

  drawAxes(context, style) {
    const bottom = MARGIN.top + this.height;
    context.strokeStyle = style.rule;
    context.fillStyle = style.faint;
    context.strokeRect(MARGIN.left - 0.5, MARGIN.top - 0.5, this.width + 1, this.height + 1);
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const byte of ticks(this.y0, this.y1, Math.max(this.height / 26, 2), true)) {
      const y = Math.round(this.toY(byte)) - 0.5;
      this.line(context, MARGIN.left - 5, y, MARGIN.left, y);
      context.fillText(bytesText(byte), MARGIN.left - 8, y);
    }
    context.textBaseline = 'top';
    const {x0, x1, unit} = this.view;
    context.fillText(`${unit}s`, MARGIN.left - 8, bottom + 8);
    const right = MARGIN.left + this.width;
    context.textAlign = 'center';
    for (const time of ticks(x0, x1, Math.max(this.width / 110, 2), false)) {
      const x = Math.round(this.toX(time)) - 0.5;
      this.line(context, x, bottom, x, bottom + 5);
      const text = countText(time), half = context.measureText(text).width / 2;
      context.fillText(text, Math.max(Math.min(x, right - half), MARGIN.left + half), bottom + 8);
    }
  }

  line(context, xa, ya, xb, yb) {
    context.beginPath();
    context.moveTo(xa, ya);
    context.lineTo(xb, yb);
    context.stroke();
  }

  // The most bytes that live within each column of pixels.
  drawLive(context, style) {
    const {at, bytes} = this.times().live;
    const {x0, x1} = this.view;
    const most = new Float64Array(Math.ceil(this.width)).fill(-1);
    let now = 0, k = 0;
    while (k < at.length && at[k] < x0) now = bytes[k++];
    for (let column = 0; column < most.length; ++column) {
      const end = x0 + (column + 1) / this.width * (x1 - x0);
      most[column] = now;
      while (k < at.length && at[k] < end) {
        now = bytes[k++];
        // Ends come before begins of the same step: only the last of a step counts.
        if (k === at.length || at[k] !== at[k - 1]) most[column] = Math.max(most[column], now);
      }
    }
    for (const [width, colour] of [[3, style.plot], [1, style.live]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      most.forEach((value, column) => {
        const x = MARGIN.left + column;
        context.lineTo(x, this.toY(value));
        context.lineTo(x + 1, this.toY(value));
      });
      context.stroke();
    }
    context.lineWidth = 1;
  }

  drawLines(context, style) {
    const {height, bound, capacity} = this.memory;
    const lines = [[bound, 'lower bound', style.bound, []], [height, 'height', style.height, [6, 4]]];
    if (capacity > 0) lines.push([capacity, 'capacity', style.capacity, [2, 4]]);
    const labelled = [];
    for (const [byte, name, colour, dash] of lines) {
      const y = Math.round(this.toY(byte)) - 0.5;
      if (y < 0 || y > MARGIN.top + this.height) continue;
      context.strokeStyle = colour;
      context.setLineDash(dash);
      context.lineWidth = 1.6;
      this.line(context, MARGIN.left, y, MARGIN.left + this.width, y);
      const near = labelled.find((label) => Math.abs(label.y - y) < 17);
      const text = near && near.byte === byte ? name : `${name} ${bytesText(byte)}`;
      if (near) near.text += near.byte === byte ? ` = ${name}` : `, ${text}`;
      else labelled.push({y, byte, text, colour});
    }
    context.setLineDash([]);
    context.lineWidth = 1;
    labelled.forEach((label) => this.drawLabel(context, style, label));
  }

  drawLabel(context, style, {y, text, colour}) {
    const width = context.measureText(text).width + 12;
    const x = MARGIN.left + this.width - width - 6;
    const top = Math.max(y - 9, 1);
    context.fillStyle = style.plot;
    context.strokeStyle = colour;
    context.beginPath();
    context.rect(Math.round(x) + 0.5, Math.round(top) + 0.5, Math.round(width), 17);
    context.fill();
    context.stroke();
    context.fillStyle = style.ink;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.fillText(text, x + 6.5, top + 9.5);
  }

  // The slot under the pointer, and the moment over all memories.
  drawOver(style) {
    const context = this.over.getContext('2d');
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.over.width, this.over.height);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top, this.width, this.height);
    context.clip();
    const {hover, pointed} = this.view;
    context.strokeStyle = style.ink;
    if (pointed !== null) {
      const x = Math.round(this.toX(pointed)) + 0.5;
      context.globalAlpha = 0.45;
      this.line(context, x, MARGIN.top, x, MARGIN.top + this.height);
      context.globalAlpha = 1;
    }
    if (hover === null || hover.panel !== this) return;
    const {offset, size} = this.memory, {begin, end} = this.times(), slot = hover.slot;
    const x = this.toX(begin[slot]), y = this.toY(offset[slot] + size[slot]);
    context.lineWidth = 2;
    context.strokeRect(x - 1, y - 1, Math.max(this.toX(end[slot]) - x, 1) + 2,
                       Math.max(this.toY(offset[slot]) - y, 1) + 2);
  }

  listen() {
    const {over, view} = this;
    over.addEventListener('wheel', (event) => {
      event.preventDefault();
      const turn = event.deltaY !== 0 ? event.deltaY : event.deltaX;
      const factor = Math.exp(Math.max(-1, Math.min(1, turn / 240)) * 0.6);
      if (event.shiftKey) this.zoomBytes(event.offsetY, factor);
      else view.zoomTime((event.offsetX - MARGIN.left) / this.width, factor);
    }, {passive: false});
    over.addEventListener('pointerdown', (event) => {
      over.setPointerCapture(event.pointerId);
      this.grabbed = {x: event.offsetX, y: event.offsetY};
      over.classList.add('moving');
    });
    over.addEventListener('pointermove', (event) => {
      if (this.grabbed) this.drag(event);
      else view.point(this, event);
    });
    const release = () => {
      this.grabbed = null;
      over.classList.remove('moving');
    };
    over.addEventListener('pointerup', release);
    over.addEventListener('pointercancel', release);
    over.addEventListener('pointerleave', () => view.point(null, null));
    over.addEventListener('dblclick', () => view.showAll());
  }

  drag(event) {
    const byte = (event.offsetY - this.grabbed.y) / this.height * (this.y1 - this.y0);
    const most = this.memory.top * 1.04;
    const moved = Math.max(Math.min(byte, most - this.y1), -this.y0);
    this.y0 += moved;
    this.y1 += moved;
    this.view.moveTime((this.grabbed.x - event.offsetX) / this.width);
    this.grabbed = {x: event.offsetX, y: event.offsetY};
  }

  zoomBytes(y, factor) {
    const most = this.memory.top * 1.04;
    const at = this.y1 - (y - MARGIN.top) / this.height * (this.y1 - this.y0);
    const span = Math.max(Math.min((this.y1 - this.y0) * factor, most), 64);
    const share = (at - this.y0) / (this.y1 - this.y0);
    this.y0 = Math.max(0, Math.min(at - share * span, most - span));
    this.y1 = this.y0 + span;
    this.view.redraw();
  }
}
