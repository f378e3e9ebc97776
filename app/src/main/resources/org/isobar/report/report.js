
const DATA = JSON.parse(document.getElementById('data').textContent);
const RUNS = DATA.runs;
const PHASES = ['loader', 'forward', 'backward', 'communication', 'optimizer', 'read', 'checkpoint', 'other'];
const PLANNED = ['parameters_and_optimizer', 'activations', 'temporaries', 'workspace', 'checkpoint_copy'];
const element = id => document.getElementById(id);
const shown = RUNS.map(() => true);

const words = name => name.replaceAll('_', ' ');
const visible = () => RUNS.map((run, index) => ({run, index})).filter(one => shown[one.index]);
const epochs = run => run.epoch_lines.filter(line => line.epoch > 0);
const sum = values => values.reduce((total, value) => total + (value || 0), 0);

function median(values) {
  const sorted = values.filter(value => Number.isFinite(value)).sort((a, b) => a - b);
  return sorted.length ? (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2 : null;
}

/** The horizontal axis of curves: its label, and the place of a step and a time. */
function horizontal() {
  const latest = Math.max(...RUNS.flatMap(run => [...run.steps.time || [], ...run.epoch_lines.map(line => line.time)]),
    0);
  const [unit, size] = latest > 7200 ? ['hours', 3600] : latest > 180 ? ['minutes', 60] : ['seconds', 1];
  return {
    step: {label: 'training steps', unit: 'steps', of: step => step},
    samples: {label: 'samples', unit: 'samples', of: (step, time, run) => step * run.run.training.global_batch_size},
    time: {label: `${unit} since the run began`, unit, of: (step, time) => time / size}
  }[element('axis').value];
}

function drawCurves() {
  const axis = horizontal();
  const options = {xLabel: axis.label, xUnit: axis.unit, log: element('log').checked};
  const bySteps = value => visible().map(({run, index}) => ({run: index, name: run.name,
    x: (run.steps.step || []).map((step, i) => axis.of(step, run.steps.time[i], run)), y: value(run.steps) || []}));
  const byEpochs = value => visible().map(({run, index}) => ({run: index, name: run.name,
    x: run.epoch_lines.map(line => axis.of(line.step, line.time, run)), y: run.epoch_lines.map(value)}));
  const score = element('score').value;
  curves(element('train'), 'Training loss', bySteps(steps => steps.loss), options);
  curves(element('valid'), 'Validation loss', byEpochs(line => line.valid_loss), {...options, markers: true});
  curves(element('rmse'), `RMSE of ${score}, normalized`, scores(score, axis), {...options, markers: true});
  curves(element('rate'), 'Learning rate', bySteps(steps => steps.learning_rate),
    {...options, log: false, zero: true});
}

/** A score is the name of a variable, or the name with the lead time of a roll-out. */
function scores(score, axis) {
  const [name, lead] = score.split(' after ');
  return visible().map(({run, index}) => {
    const lines = lead ? run.rollout_lines : run.epoch_lines;
    return {run: index, name: run.name, x: lines.map(line => axis.of(line.step, line.time, run)),
      y: lines.map(line => (lead ? ((line.rmse || {})[parseInt(lead, 10)] || {})[name] : (line.rmse || {})[name]) ?? null)};
  });
}

function scoreNames() {
  const names = new Set(RUNS.flatMap(run => run.epoch_lines.flatMap(line => Object.keys(line.rmse || {}))));
  RUNS.flatMap(run => run.rollout_lines).forEach(line => Object.entries(line.rmse || {})
    .forEach(([lead, values]) => Object.keys(values).forEach(name => names.add(`${name} after ${lead} h`))));
  return [...names];
}

function drawSpeed() {
  curves(element('speed'), 'Samples per second', visible().map(({run, index}) => ({run: index, name: run.name,
    x: epochs(run).map(line => line.epoch), y: epochs(run).map(line => line.samples_per_second)})),
    {xLabel: 'epoch', xFormat: value => `epoch ${format(value)}`, markers: true, zero: true});
  const run = RUNS[element('epochRun').value];
  columns(element('epochs'), `Seconds of an epoch: ${run.name}`, [...PHASES, 'validation'], epochs(run)
    .map(line => ({x: line.epoch, parts: [...PHASES.map(name => (line.phases || {})[name]), line.valid_seconds]})),
    {xLabel: 'epoch', format: duration});
  element('parts').textContent = [...PHASES, 'validation'].map((name, k) => `${k + 1} ${name}`).join(', ');
}

/** Seconds of a step in each phase: the mean over all epochs but the first, if there are several. */
function stepPhases(run) {
  const later = epochs(run).filter(line => line.epoch > 1);
  const steps = sum(later.map(line => line.steps));
  return steps > 0 ? PHASES.map(name => sum(later.map(line => (line.phases || {})[name])) / steps)
    : PHASES.map(name => sum(run.steps.phases[name] || []) / (sum(run.steps.steps || []) || 1));
}

function drawPhases() {
  const rows = visible().map(({run}) => ({name: run.name, parts: stepPhases(run)}));
  bars(element('phases'), 'Time of a step', PHASES, rows, {format: duration});
  table(element('phaseTable'), [['', ...rows.map(row => row.name)],
    ...PHASES.map((name, k) => [`${k + 1} ${name}`, ...rows.map(row =>
      `${duration(row.parts[k])}, ${(100 * row.parts[k] / (sum(row.parts) || 1)).toFixed(1)} %`)]),
    ['step', ...rows.map(row => duration(sum(row.parts)))]]);
}

const measured = run => Math.max(...epochs(run).map(line => line.memory_bytes), 0);

function drawMemory() {
  const names = [...PLANNED.map(words), 'measured'];
  const rows = visible().flatMap(({run}) => [
    {name: `${run.name}, planned`, parts: PLANNED.map(name => run.run.memory_planned[name])},
    {name: `${run.name}, measured`, parts: [...PLANNED.map(() => 0), measured(run)]}]);
  bars(element('memory'), 'Memory of rank 0', names, rows, {format: bytes});
  const runs = visible().map(one => one.run);
  table(element('memoryTable'), [['', ...runs.map(run => run.name)],
    ...PLANNED.map((name, k) => [`${k + 1} ${words(name)}`,
      ...runs.map(run => bytes(run.run.memory_planned[name]))]),
    ['planned', ...runs.map(run => bytes(sum(PLANNED.map(name => run.run.memory_planned[name]))))],
    ['6 measured', ...runs.map(run => bytes(measured(run)))]]);
}

/** What happened in a run, in the order of time: glyph, time, text. */
function happenings(run) {
  return [
    ...run.checkpoint_lines.map(line => ['│', line.time, `checkpoint at step ${line.step}`]),
    ...run.run_lines.map((line, i) => ['▶', line.time,
      i > 0 ? `resumed at step ${line.step}` : line.step > 0 ? `begins at step ${line.step}` : 'begins']),
    ...run.bad_step_lines.map(line => ['✕', line.time, `step ${line.step}: the loss is ${line.loss}`]),
    ...run.end_lines.map(line => ['■', line.time, `${line.outcome} at step ${line.step}`])
  ].sort((a, b) => a[1] - b[1]);
}

const lastTime = run => Math.max(...happenings(run).map(one => one[1]), ...run.steps.time || [],
  ...run.epoch_lines.map(line => line.time), 0);

function drawEvents() {
  const rows = visible();
  const drawn = picture(element('events'), 'Time since the run began', 40 + rows.length * 44);
  const latest = Math.max(...rows.map(({run}) => lastTime(run)), 1e-3);
  const toX = time => 10 + time / latest * (drawn.width - 24);
  const places = [];
  rows.forEach(({run, index}, i) => {
    const middle = 32 + i * 44;
    svg(drawn.canvas, 'text', {x: 0, y: middle - 14}, run.name);
    svg(drawn.canvas, 'path', {d: `M${toX(0)},${middle}H${toX(lastTime(run))}`, class: 'curve', stroke: color(index),
      'stroke-dasharray': DASHES[index % 12]});
    happenings(run).forEach(([glyph, time, text]) => {
      svg(drawn.canvas, 'text', {x: toX(time), y: middle + 5, 'text-anchor': 'middle'}, glyph);
      places.push({x: toX(time), y: middle, text: `${duration(time)}: ${text}`, row: run.name});
    });
  });
  const bottom = drawn.height - 20;
  ticks(0, latest, Math.max(2, Math.floor(drawn.width / 130))).forEach(tick => {
    svg(drawn.canvas, 'path', {d: `M${toX(tick)},${bottom - 4}v5`, class: 'axis'});
    svg(drawn.canvas, 'text', {x: toX(tick), y: bottom + 14, 'text-anchor': tick === 0 ? 'start' : 'middle',
      class: 'faint'}, duration(tick));
  });
  follow(drawn.canvas, (x, y) => {
    const near = places.filter(place => Math.hypot(place.x - x, place.y - y) < 14);
    if (near.length > 0) {
      drawn.tip.show(x, y, [{text: near[0].row}, ...near.slice(0, 8).map(place => ({text: place.text}))]);
    } else {
      drawn.tip.hide();
    }
  }, () => drawn.tip.hide());
}

function overview() {
  const best = run => Math.min(...epochs(run).map(line => line.valid_loss ?? Infinity));
  const last = run => epochs(run).at(-1) || {};
  const facts = [
    ['preset', run => run.run.preset],
    ['ranks', run => Object.entries(run.run.layout).map(([name, size]) => `${name} ${size}`).join(', ')],
    ['device', run => run.run.environment.device],
    ['state', run => run.end_lines.length ? words(run.end_lines.at(-1).outcome) : 'not ended'],
    ['steps', run => format(Math.max(...run.steps.step || [], 0))],
    ['epochs', run => `${epochs(run).length} of ${run.run.training.epochs}`],
    ['global batch', run => format(run.run.training.global_batch_size)],
    ['last training loss', run => format(last(run).train_loss)],
    ['last validation loss', run => format(last(run).valid_loss)],
    ['best validation loss', run => epochs(run).length ? format(best(run)) : '–'],
    ['samples per second, median of the epochs', run => format(median(epochs(run).map(e => e.samples_per_second)))],
    ['time', run => duration(lastTime(run))],
    ['starts', run => format(run.run_lines.length)],
    ['bad steps', run => format(run.bad_step_lines.length)],
    ['directory', run => run.directory]
  ];
  compare('overview', facts, RUNS);
}

function compare(id, facts, runs) {
  table(element(id), [['', ...runs.map(run => run.name)],
    ...facts.map(([name, value]) => [name, ...runs.map(run => String(value(run) ?? '–'))])]);
}

function configurations() {
  const keys = [...new Set(RUNS.flatMap(run => Object.keys(run.run.configuration)))];
  const fact = key => [key, run => run.run.configuration[key]];
  const different = keys.filter(key => new Set(RUNS.map(run => run.run.configuration[key])).size > 1);
  if (different.length > 0) {
    compare('differences', different.map(fact), RUNS);
  } else {
    html(element('differences'), 'p', {}, RUNS.length > 1 ? 'The runs have the same configuration.'
      : `Hash of the configuration: ${RUNS[0].run.configuration_hash}`);
  }
  compare('configuration', keys.map(fact), RUNS);
  const environment = [...new Set(RUNS.flatMap(run => Object.keys(run.run.environment)))];
  compare('environment', environment.map(key => [words(key), run => key === 'memory_bytes'
    ? bytes(run.run.environment[key]) : run.run.environment[key]]), RUNS);
}

function drawMaps() {
  const maps = element('maps');
  maps.replaceChildren();
  visible().forEach(({run}) => {
    const figure = html(maps, 'figure');
    html(figure, 'figcaption', {}, run.name);
    if (run.picture) {
      html(figure, 'img', {src: run.picture, alt: `The last target and prediction of ${run.name}`});
    } else {
      html(figure, 'p', {class: 'note'}, run.picture_left_out ? 'The picture is left out, because the page would be '
        + 'too large; it is prediction.png in the directory of the run.' : 'The run has no picture.');
    }
  });
}

/** Draws the lanes of all ranks in one step. A lane has events [name, begin, length, text], in microseconds. */
function drawTrace() {
  const traced = RUNS.filter(run => run.trace);
  element('traceSection').hidden = traced.length === 0;
  if (traced.length === 0) {
    return;
  }
  const run = RUNS[element('traceRun').value];
  const {step, length, ranks, shown: part} = run.trace;
  const rows = ranks.flatMap(rank => rank.lanes.map((lane, i) => ({rank: rank.rank, lane, first: i === 0})));
  const high = 17;
  const drawn = picture(element('trace'), `${step} of ${run.name}: ${duration(length / 1e6)}`,
    34 + rows.length * high + ranks.length * 20);
  const left = 96;
  const toX = time => left + time / length * (drawn.width - left - 4);
  const names = [];
  const boxes = [];
  let top = 0;
  rows.forEach(({rank, lane, first}) => {
    if (first) {
      svg(drawn.canvas, 'text', {x: 0, y: top + 14, class: 'strong'}, `rank ${rank}`);
      top += 20;
    }
    svg(drawn.canvas, 'text', {x: 4, y: top + 12, class: 'faint'}, lane.name.replace('isobar-', ''));
    lane.events.forEach(([name, begin, long, text]) => {
      if (!names.includes(name)) {
        names.push(name);
      }
      const box = {left: toX(Math.max(begin, 0)), right: toX(Math.min(begin + long, length)), top, bottom: top + high,
        row: `rank ${rank}, ${lane.name}: ${name}`, text: `${duration(long / 1e6)}${text ? ', ' + text : ''}`};
      const wide = Math.max(box.right - box.left, 0.4);
      svg(drawn.canvas, 'rect', {x: box.left, y: top + 1, width: wide, height: high - 2, fill:
        color(names.indexOf(name)), class: wide > 3 ? 'part' : ''});
      if (wide > name.length * 7 + 6) {
        svg(drawn.canvas, 'text', {x: (box.left + box.right) / 2, y: top + 13, 'text-anchor': 'middle',
          class: 'inside'}, name);
      }
      boxes.unshift({...box, right: box.left + wide});
    });
    top += high;
  });
  ticks(0, length / 1000, Math.max(2, Math.floor(drawn.width / 130))).forEach(tick => svg(drawn.canvas, 'text',
    {x: toX(tick * 1000), y: top + 16, 'text-anchor': tick === 0 ? 'start' : 'middle', class: 'faint'},
    `${format(tick)} ms`));
  boxTips(drawn, boxes);
  element('traceNote').textContent = `From trace.json of the run, which Perfetto shows in full. ${part || ''}`;
}

function draw() {
  drawCurves();
  drawSpeed();
  drawPhases();
  drawTrace();
  drawMemory();
  drawEvents();
  drawMaps();
}

function begin() {
  element('made').textContent = `${RUNS.length} run${RUNS.length > 1 ? 's' : ''}. Made by Isobar ${DATA.version}, `
    + DATA.made;
  document.title = `Isobar: ${RUNS.map(run => run.name).join(', ')}`;
  RUNS.forEach((run, index) => {
    const label = html(element('runs'), 'label');
    const box = html(label, 'input', {type: 'checkbox', checked: ''});
    swatch(label, index);
    html(label, 'span', {}, run.name);
    box.addEventListener('change', () => {
      shown[index] = box.checked;
      draw();
    });
    html(element('epochRun'), 'option', {value: index}, run.name);
    if (run.trace) {
      html(element('traceRun'), 'option', {value: index}, run.name);
    }
  });
  scoreNames().forEach(name => html(element('score'), 'option', {}, name));
  ['axis', 'score', 'log'].forEach(id => element(id).addEventListener('change', drawCurves));
  element('epochRun').addEventListener('change', drawSpeed);
  element('traceRun').addEventListener('change', drawTrace);
  overview();
  configurations();
  draw();
  let width = document.body.clientWidth;
  window.addEventListener('resize', () => {
    if (document.body.clientWidth !== width) {
      width = document.body.clientWidth;
      draw();
    }
  });
}

begin();
