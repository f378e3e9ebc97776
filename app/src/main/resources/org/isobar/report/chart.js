'use strict';

const SVG = document.getElementById('namespace').namespaceURI;
const DASHES = ['', '7,4', '2,3', '9,3,2,3', '12,4', '4,2', '2,2,6,2', '1,4', '9,2', '6,6', '3,3,9,3', '2,6'];
const MARKERS = [
  'M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0', 'M-3,-3h6v6h-6z', 'M0,-4L4,3H-4z', 'M0,-4L4,0L0,4L-4,0z',
  'M-3,-3L3,3M-3,3L3,-3', 'M0,-4V4M-4,0H4', 'M0,4L4,-3H-4z', 'M-4,-1.5h8v3h-8z', 'M-1.5,-4h3v8h-3z',
  'M-4,0L0,-3V3z', 'M4,0L0,-3V3z', 'M-3,-3L0,0L3,-3M0,0V4'];

/** Creates an element of HTML in a parent. */
function html(parent, name, attributes = {}, text = null) {
  return append(parent, document.createElement(name), attributes, text);
}

/** Creates an element of SVG in a parent. */
function svg(parent, name, attributes = {}, text = null) {
  return append(parent, document.createElementNS(SVG, name), attributes, text);
}

function append(parent, element, attributes, text) {
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  if (text !== null) {
    element.textContent = text;
  }
  parent.appendChild(element);
  return element;
}

const color = index => `var(--c${index % 12})`;

/** A number with about four digits. */
function format(value) {
  if (value === null || value === undefined || Number.isNaN(value)) {
    return '–';
  }
  if (value === 0 || Number.isInteger(value) && Math.abs(value) < 1e7) {
    return String(value);
  }
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-4 ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

/** A number with three digits. */
const short = value => String(Number(value.toPrecision(3)));

/** Seconds in a unit that suits their size. */
function duration(seconds) {
  if (!Number.isFinite(seconds)) {
    return '–';
  }
  if (seconds < 1) {
    return short(seconds * 1000) + ' ms';
  }
  const whole = Math.round(seconds);
  return seconds < 60 ? short(seconds) + ' s' : seconds < 3600 ? `${Math.floor(whole / 60)} min ${whole % 60} s`
    : `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
}

/** Bytes in GiB or MiB. */
function bytes(size) {
  return !Number.isFinite(size) ? '–' : size >= 2 ** 30 ? short(size / 2 ** 30) + ' GiB'
    : short(size / 2 ** 20) + ' MiB';
}

/** Round numbers that divide a range. */
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    found.push(Number((i * step).toPrecision(12)));
  }
  return found;
}

function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    [1, 2, 5].map(factor => Number((factor * 10 ** power).toPrecision(3)))
      .filter(tick => tick >= low * 0.999 && tick <= high * 1.001).forEach(tick => found.push(tick));
  }
  return found.length > 1 ? found : ticks(low, high, 5);
}

/** A line and marker as in the curves of a run. */
function swatch(parent, index) {
  const picture = svg(parent, 'svg', {class: 'swatch', viewBox: '0 0 34 14', 'aria-hidden': 'true'});
  svg(picture, 'path', {d: 'M0,7H34', class: 'curve', stroke: color(index), 'stroke-dasharray': DASHES[index % 12]});
  svg(picture, 'path', {d: MARKERS[index % 12], transform: 'translate(17,7)', stroke: color(index),
    fill: color(index)});
}

/** A text beside the pointer. Each line has a text and may have the index of a run. */
class Tip {
  constructor(figure) {
    this.figure = figure;
    this.box = html(figure, 'div', {class: 'tip', hidden: ''});
  }

  show(x, y, lines) {
    this.box.replaceChildren();
    lines.forEach(line => {
      const row = html(this.box, 'div');
      if (line.run !== undefined) {
        swatch(row, line.run);
      }
      html(row, 'span', {}, line.text);
    });
    this.box.hidden = false;
    const left = x + 14 + this.box.offsetWidth > this.figure.clientWidth
      ? Math.max(0, x - 14 - this.box.offsetWidth) : x + 14;
    this.box.style.left = left + 'px';
    this.box.style.top = y + 'px';
  }

  hide() {
    this.box.hidden = true;
  }
}

/** Empties a figure, and draws in it a picture of that height that is as wide as the figure. */
function picture(figure, title, height) {
  figure.replaceChildren();
  html(figure, 'figcaption', {}, title);
  const width = Math.max(figure.clientWidth, 240);
  const canvas = svg(figure, 'svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': title, tabindex: '0'});
  return {canvas, width, height, tip: new Tip(figure)};
}

/** Calls move(x, y) where the pointer is on a picture, in its pixels. */
function follow(canvas, move, leave) {
  const at = event => {
    const box = canvas.getBoundingClientRect();
    move(event.clientX - box.left, event.clientY - box.top);
  };
  canvas.addEventListener('pointermove', at);
  canvas.addEventListener('pointerdown', at);
  canvas.addEventListener('pointerleave', leave);
  canvas.addEventListener('blur', leave);
}

/**
 * Draws curves. Each of series has run (its index), name, x and y; a y of null interrupts it.
 * Options: height, xLabel, yFormat, xFormat, log, markers, zero (whether the axis begins at 0).
 */
function curves(figure, title, series, options = {}) {
  const drawn = picture(figure, title, options.height || 260);
  const {canvas, width, height, tip} = drawn;
  const usable = value => value !== null && Number.isFinite(value) && (!options.log || value > 0);
  const all = series.flatMap(one => one.x.map((x, i) => [x, one.y[i]]).filter(point => usable(point[1])));
  if (all.length === 0) {
    svg(canvas, 'text', {x: width / 2, y: height / 2, 'text-anchor': 'middle', class: 'faint'}, 'no values');
    return;
  }
  const frame = {left: 58, right: width - 12, top: 10, bottom: height - 38};
  const xs = range(all.map(point => point[0]), false);
  const ys = range(all.map(point => point[1]), options.zero);
  const scale = options.log ? Math.log : value => value;
  const toX = x => frame.left + (x - xs[0]) / (xs[1] - xs[0]) * (frame.right - frame.left);
  const toY = y => frame.bottom - (scale(y) - scale(ys[0])) / (scale(ys[1]) - scale(ys[0]))
    * (frame.bottom - frame.top);
  axes(canvas, frame, xs, ys, toX, toY, options);
  series.forEach(one => curve(canvas, one, toX, toY, usable, options.markers));
  hover(drawn, frame, series, toX, toY, usable, options);
}

function range(values, zero) {
  let low = zero ? 0 : Math.min(...values);
  let high = Math.max(...values);
  if (low === high) {
    const margin = Math.abs(low) * 0.1 || 1;
    low -= zero ? 0 : margin;
    high += margin;
  }
  return [low, high];
}

function axes(canvas, frame, xs, ys, toX, toY, options) {
  (options.log ? logTicks(ys[0], ys[1]) : ticks(ys[0], ys[1], 5)).forEach(tick => {
    svg(canvas, 'path', {d: `M${frame.left},${toY(tick)}H${frame.right}`, class: 'gridline'});
    svg(canvas, 'text', {x: frame.left - 6, y: toY(tick) + 4, 'text-anchor': 'end'}, format(tick));
  });
  ticks(xs[0], xs[1], Math.max(2, Math.floor((frame.right - frame.left) / 75))).forEach(tick => {
    svg(canvas, 'path', {d: `M${toX(tick)},${frame.bottom}v5`, class: 'axis'});
    svg(canvas, 'text', {x: toX(tick), y: frame.bottom + 18, 'text-anchor': 'middle'}, format(tick));
  });
  svg(canvas, 'path', {d: `M${frame.left},${frame.top}V${frame.bottom}H${frame.right}`, class: 'axis', fill: 'none'});
  svg(canvas, 'text', {x: (frame.left + frame.right) / 2, y: frame.bottom + 34, 'text-anchor': 'middle',
    class: 'faint'}, options.xLabel || '');
}

function curve(canvas, one, toX, toY, usable, markers) {
  let path = '';
  let pen = 'M';
  one.x.forEach((x, i) => {
    if (usable(one.y[i])) {
      path += `${pen}${toX(x).toFixed(1)},${toY(one.y[i]).toFixed(1)}`;
      pen = 'L';
    } else {
      pen = 'M';
    }
  });
  svg(canvas, 'path', {d: path, class: 'curve', stroke: color(one.run), 'stroke-dasharray': DASHES[one.run % 12],
    'data-run': one.run});
  const every = Math.ceil(one.x.length / (markers ? 16 : 8));
  one.x.forEach((x, i) => {
    if (usable(one.y[i]) && i % every === 0) {
      svg(canvas, 'path', {d: MARKERS[one.run % 12], stroke: color(one.run), fill: color(one.run),
        transform: `translate(${toX(x).toFixed(1)},${toY(one.y[i]).toFixed(1)})`});
    }
  });
}

/** Shows the values of all curves at the place that is nearest to the pointer, or that arrow keys choose. */
function hover(drawn, frame, series, toX, toY, usable, options) {
  const places = [...new Set(series.flatMap(one => one.x.filter((x, i) => usable(one.y[i]))))].sort((a, b) => a - b);
  const guide = svg(drawn.canvas, 'path', {class: 'axis', d: '', visibility: 'hidden'});
  let at = -1;
  const show = (index, y) => {
    at = Math.min(Math.max(index, 0), places.length - 1);
    const x = places[at];
    const lines = [{text: `${(options.xFormat || format)(x)} ${options.xUnit || ''}`}];
    series.forEach(one => {
      const i = nearest(one.x, x, place => usable(one.y[place]));
      if (i >= 0) {
        const apart = one.x[i] === x ? '' : ` (at ${(options.xFormat || format)(one.x[i])})`;
        lines.push({run: one.run, text: `${one.name}: ${(options.yFormat || format)(one.y[i])}${apart}`});
      }
    });
    guide.setAttribute('d', `M${toX(x)},${frame.top}V${frame.bottom}`);
    guide.setAttribute('visibility', 'visible');
    drawn.tip.show(toX(x), y, lines);
  };
  const leave = () => {
    guide.setAttribute('visibility', 'hidden');
    drawn.tip.hide();
    at = -1;
  };
  follow(drawn.canvas, (x, y) => show(nearest(places.map(toX), x, () => true), y), leave);
  drawn.canvas.addEventListener('keydown', event => {
    const move = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (move) {
      event.preventDefault();
      show(at < 0 ? 0 : at + move, frame.top + 20);
    }
  });
}

/** The index of the value that is nearest to x of those that are allowed, or -1. */
function nearest(values, x, allowed) {
  let best = -1;
  values.forEach((value, i) => {
    if (allowed(i) && (best < 0 || Math.abs(value - x) < Math.abs(values[best] - x))) {
      best = i;
    }
  });
  return best;
}

/**
 * Draws horizontal bars of parts. Each of bars has run, name and parts, in the order of names; a part has the number
 * of its name in it. Options: format of a value.
 */
function bars(figure, title, names, rows, options) {
  const drawn = picture(figure, title, 24 + rows.length * 42);
  const total = Math.max(...rows.map(row => row.parts.reduce((sum, part) => sum + (part || 0), 0)), 1e-12);
  const boxes = [];
  rows.forEach((row, i) => {
    const top = 8 + i * 42;
    svg(drawn.canvas, 'text', {x: 0, y: top + 10}, row.name);
    let left = 0;
    row.parts.forEach((part, k) => {
      const wide = (part || 0) / total * (drawn.width - 2);
      if (wide > 0) {
        svg(drawn.canvas, 'rect', {x: left, y: top + 15, width: wide, height: 19, fill: color(k),
          class: 'part'});
        if (wide > 14) {
          svg(drawn.canvas, 'text', {x: left + wide / 2, y: top + 29, 'text-anchor': 'middle', class: 'inside'},
            String(k + 1));
        }
        boxes.push({left, right: left + wide, top: top + 15, bottom: top + 34,
          text: `${k + 1} ${names[k]}: ${options.format(part)}`, row: row.name});
      }
      left += wide;
    });
  });
  boxTips(drawn, boxes);
}

/** Shows the text of the box that the pointer is on. */
function boxTips(drawn, boxes) {
  follow(drawn.canvas, (x, y) => {
    const box = boxes.find(one => x >= one.left && x <= one.right && y >= one.top && y <= one.bottom);
    if (box) {
      drawn.tip.show(x, y, [{text: box.row}, {text: box.text}]);
    } else {
      drawn.tip.hide();
    }
  }, () => drawn.tip.hide());
}

/** Draws vertical bars of parts over x. Each of columns has x and parts. */
function columns(figure, title, names, all, options) {
  const drawn = picture(figure, title, 260);
  if (all.length === 0) {
    return;
  }
  const frame = {left: 58, right: drawn.width - 12, top: 10, bottom: drawn.height - 38};
  const high = Math.max(...all.map(column => column.parts.reduce((sum, part) => sum + (part || 0), 0)), 1e-12);
  const slot = (frame.right - frame.left) / all.length;
  const toY = value => frame.bottom - value / high * (frame.bottom - frame.top);
  ticks(0, high, 5).forEach(tick => {
    svg(drawn.canvas, 'path', {d: `M${frame.left},${toY(tick)}H${frame.right}`, class: 'gridline'});
    svg(drawn.canvas, 'text', {x: frame.left - 6, y: toY(tick) + 4, 'text-anchor': 'end'}, format(tick));
  });
  const boxes = [];
  const every = Math.ceil(all.length / Math.floor((frame.right - frame.left) / 40));
  all.forEach((column, i) => {
    const left = frame.left + i * slot + slot * 0.1;
    let sum = 0;
    column.parts.forEach((part, k) => {
      if (part > 0) {
        const box = {left, right: left + slot * 0.8, top: toY(sum + part), bottom: toY(sum),
          text: `${k + 1} ${names[k]}: ${options.format(part)}`, row: `${options.xLabel} ${column.x}`};
        svg(drawn.canvas, 'rect', {x: box.left, y: box.top, width: slot * 0.8, height: box.bottom - box.top,
          fill: color(k), class: 'part'});
        if (box.bottom - box.top > 13 && slot > 20) {
          svg(drawn.canvas, 'text', {x: left + slot * 0.4, y: (box.top + box.bottom) / 2 + 4,
            'text-anchor': 'middle', class: 'inside'}, String(k + 1));
        }
        boxes.push(box);
        sum += part;
      }
    });
    if (i % every === 0) {
      svg(drawn.canvas, 'text', {x: left + slot * 0.4, y: frame.bottom + 16, 'text-anchor': 'middle'},
        String(column.x));
    }
  });
  svg(drawn.canvas, 'text', {x: (frame.left + frame.right) / 2, y: frame.bottom + 34, 'text-anchor': 'middle',
    class: 'faint'}, options.xLabel);
  boxTips(drawn, boxes);
}

/** A table of rows of cells; the first row is the head. Numbers are aligned to the right. */
function table(parent, rows) {
  parent.replaceChildren();
  const body = html(parent, 'table');
  rows.forEach((row, i) => {
    const line = html(body, 'tr');
    row.forEach((cell, k) => html(line, i === 0 || k === 0 ? 'th' : 'td',
      i > 0 && k > 0 && /^[-–\d.]/.test(cell) && cell.length < 24 ? {class: 'number'} : {}, cell));
  });
}
