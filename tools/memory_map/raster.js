// Slots to pixels. Each pixel keeps the slot that it shows: that is the picture before its colours,
// and the index that the pointer looks into. Cost of a picture: slots in sight + pixels.

function hsl(hue, saturation, lightness) {
  const a = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

function mix(a, b, share) {
  return a.map((value, k) => Math.round(value + (b[k] - value) * share));
}

function packed([red, green, blue]) {
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}

function categoryColour(category, dark) {
  if (category >= COLOURS) return hsl(215, 0.06, dark ? 0.5 : 0.62);
  const [hue, saturation, lightness] = HUES[category];
  return hsl(hue, saturation, dark ? lightness * 0.92 : lightness);
}

// Two shades of each category, so that neighbours stand apart; edges are darker; what was not
// searched for fades into the plot.
function makePalette(plot, dark) {
  const palette = {plot: packed(plot), fill: [], edge: [], faded: [], fadedEdge: []};
  for (let category = 0; category <= COLOURS; ++category) {
    for (let shade = 0; shade < 2; ++shade) {
      const colour = mix(categoryColour(category, dark), dark ? [0, 0, 0] : [255, 255, 255],
                         shade * 0.16);
      palette.fill.push(packed(colour));
      palette.edge.push(packed(mix(colour, plot, 0.55)));
      palette.faded.push(packed(mix(colour, plot, 0.86)));
      palette.fadedEdge.push(packed(mix(colour, plot, 0.97)));
    }
  }
  return palette;
}

class Raster {
  resize(width, height) {
    if (this.width === width && this.height === height) return;
    this.width = width;
    this.height = height;
    this.slots = new Int32Array(width * height);  // column by column, from the top
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  // Time [x0, x1) and bytes [y0, y1) fill the plot.
  fill(memory, times, x0, x1, y0, y1) {
    this.slots.fill(-1);
    this.wide = new Uint8Array(memory.count);
    const view = {x0, y1, perTime: this.width / (x1 - x0), perByte: this.height / (y1 - y0)};
    const some = memory.matchCount < memory.count;
    for (const slot of times.order) {
      if (times.begin[slot] >= x1) break;
      if (!some || !memory.matches[slot]) this.fillSlot(memory, times, slot, view, 1);
    }
    if (!some) return;
    for (const slot of times.order) {  // on top, and never too small to be seen
      if (times.begin[slot] >= x1) break;
      if (memory.matches[slot]) this.fillSlot(memory, times, slot, view, 3);
    }
  }

  fillSlot(memory, times, slot, view, least) {
    const {width, height, slots} = this;
    const top = (view.y1 - memory.offset[slot] - memory.size[slot]) * view.perByte;
    const left = Math.round((times.begin[slot] - view.x0) * view.perTime);
    const right = Math.max(Math.round((times.end[slot] - view.x0) * view.perTime), left + least);
    const first = Math.round(top);
    const last = Math.max(Math.round(top + memory.size[slot] * view.perByte), first + least);
    if (right <= 0 || left >= width || last <= 0 || first >= height) return;
    this.wide[slot] = right - left >= 4 && last - first >= 4 ? 1 : 0;
    const y0 = Math.max(first, 0), y1 = Math.min(last, height);
    for (let x = Math.max(left, 0); x < Math.min(right, width); ++x) {
      slots.fill(slot, x * height + y0, x * height + y1);
    }
  }

  paint(memory, palette) {
    const {width, height, slots, pixels, wide} = this;
    const some = memory.matchCount < memory.count;
    for (let x = 0; x < width; ++x) {
      const column = x * height;
      const before = x > 0 ? column - height : column;
      for (let y = 0, at = x; y < height; ++y, at += width) {
        const slot = slots[column + y];
        if (slot < 0) {
          pixels[at] = palette.plot;
          continue;
        }
        const colour = 2 * memory.colour[slot] + (slot & 1);
        const edge = wide[slot] === 1 &&
            (slots[before + y] !== slot || (y > 0 && slots[column + y - 1] !== slot));
        const faded = some && !memory.matches[slot];
        pixels[at] = (faded ? (edge ? palette.fadedEdge : palette.faded)
                            : (edge ? palette.edge : palette.fill))[colour];
      }
    }
    return this.image;
  }

  // The slot at a pixel, or near it.
  slotAt(x, y) {
    for (let reach = 0; reach <= 2; ++reach) {
      for (let dx = -reach; dx <= reach; ++dx) {
        for (let dy = -reach; dy <= reach; ++dy) {
          const px = x + dx, py = y + dy;
          if (px < 0 || py < 0 || px >= this.width || py >= this.height) continue;
          const slot = this.slots[px * this.height + py];
          if (slot >= 0) return slot;
        }
      }
    }
    return -1;
  }
}
