"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const DASHES = ["solid", "dash", "dashdot", "longdash", "dot", "longdashdot"];
const MARKS = ["circle", "square", "diamond", "triangle-up", "x", "cross", "star", "pentagon"];
const LIGHT = ["#0077bb", "#c2570c", "#117733", "#882255", "#007a87", "#7a7a14", "#444444", "#b0405a"];
const DARK = ["#66b8f0", "#ffab6b", "#6bd394", "#e08fbd", "#5fd0de", "#d3d36b", "#c8c8c8", "#ff9db0"];
const PAGE = 12;
const QUIET = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

let shapes = new Uint16Array(0);
let chosen = 0;
const sorted = { column: "mean", up: false };
const gallery = { setting: 0, layer: 0, moment: 0, first: 0, timer: 0 };

// Text from data files goes into the page as text only. Charts read tags in theirs, so those get none.
const plainText = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const put = (element, text) => { element.textContent = text; return element; };
const make = (tag, text) => put(document.createElement(tag), text ?? "");
const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
const tone = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const color = (number) => (dark() ? DARK : LIGHT)[number % LIGHT.length];
const comparison = () => data.comparisons[chosen];
const called = (row) => `${row.label}, ${row.hidden.join("-") || "no hidden layer"}`;
const number = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits));

function layout(more) {
  const axis = { gridcolor: tone("line"), zerolinecolor: tone("line"), linecolor: tone("line"), automargin: true };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: tone("ink"), family: "system-ui, sans-serif", size: 13 },
    margin: { l: 55, r: 15, t: 30, b: 45 }, hoverlabel: { font: { size: 13 } },
    xaxis: axis, yaxis: axis, legend: { orientation: "h", y: -0.22 },
    ...more,
    ...Object.fromEntries(Object.entries(more).filter(([key]) => /^[xy]axis\d*$/.test(key))
      .map(([key, value]) => [key, { ...axis, ...value }])),
  };
}

function draw(id, traces, more, description) {
  const place = byId(id);
  place.setAttribute("aria-label", description);
  Plotly.react(place, traces, layout(more), QUIET);
}

/* The ranked table. */

const score = ({ mean, deviation }) =>
  number(mean, comparison().digits) + (deviation === null ? "" : ` ± ${number(deviation, comparison().digits)}`);

const COLUMNS = () => [
  ["place", "", (row, at) => String(at + 1), (row) => -row.mean],
  ["label", "activation", (row) => row.label, (row) => row.label],
  ["mean", "test score", (row) => score(row), (row) => row.mean],
  ["hidden", "hidden layers", (row) => row.hidden.join("-") || "none", (row) => row.layers],
  ["seeds", "seeds", (row) => String(row.runs.length), (row) => row.runs.length],
  ["p", "p against the best", (row) => (row.p === null ? "–" : row.p.toPrecision(2)), (row) => row.p ?? 2],
  ...comparison().also.flatMap((name) => [
    [name, `test ${name}`, (row) => score(row.also[name]), (row) => row.also[name].mean],
    [`${name}-p`, `p of the ${name}`, (row) => (row.also[name].p === null ? "–" : row.also[name].p.toPrecision(2)), (row) => row.also[name].p ?? 2],
  ]),
  ["parameters", "parameters", (row) => row.parameters.toLocaleString("en"), (row) => row.parameters],
  ["seconds", `seconds an ${comparison().turn}`, (row) => number(row.seconds, 2), (row) => row.seconds],
];

function headings() {
  const line = document.createElement("tr");
  for (const [key, title] of COLUMNS()) {
    const cell = document.createElement("th");
    cell.scope = "col";
    if (title) {
      const button = make("button", key === "mean" ? `test ${comparison().metric}` : title);
      button.type = "button";
      button.dataset.column = key;
      button.addEventListener("click", () => {
        sorted.up = sorted.column === key ? !sorted.up : /^(label|parameters|seconds|hidden|p|.*-p)$/.test(key);
        sorted.column = key;
        ranking();
      });
      cell.append(button);
      if (sorted.column === key) cell.setAttribute("aria-sort", sorted.up ? "ascending" : "descending");
    } else cell.append(make("span", "#"));
    line.append(cell);
  }
  byId("table").tHead.replaceChildren(line);
}

function ranking() {
  const focused = document.activeElement?.dataset?.column;
  headings();
  const value = COLUMNS().find(([key]) => key === sorted.column)[3];
  const wanted = byId("filter").value.trim().toLowerCase();
  const places = new Map(comparison().rows.map((row, at) => [row, at]));
  const rows = comparison().rows.filter((row) => called(row).toLowerCase().includes(wanted));
  rows.sort((one, two) => {
    const [a, b] = [value(one), value(two)];
    return (a < b ? -1 : a > b ? 1 : 0) * (sorted.up ? 1 : -1);
  });
  byId("table").tBodies[0].replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    for (const [, , text] of COLUMNS()) line.append(make("td", text(row, places.get(row))));
    return line;
  }));
  put(byId("shown"), wanted ? `${rows.length} of ${comparison().rows.length}` : "");
  if (focused) document.querySelector(`th button[data-column="${focused}"]`)?.focus();
}

/* Charts. */

function curves() {
  const kind = byId("curve").value;
  const traces = [];
  comparison().rows.forEach((row, at) => {
    const { mean, deviation } = row[kind];
    if (!mean.length) return;
    const epochs = mean.map((_, epoch) => epoch + 1);
    const name = plainText(called(row));
    const edge = { x: epochs, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: name };
    const visible = at < 6 ? true : "legendonly";
    traces.push({ ...edge, y: mean.map((value, e) => value + deviation[e]), visible });
    traces.push({ ...edge, y: mean.map((value, e) => value - deviation[e]), fill: "tonexty", fillcolor: color(at) + "26", visible });
    traces.push({ x: epochs, y: mean, name, legendgroup: name, mode: "lines", visible,
      line: { color: color(at), dash: DASHES[at % DASHES.length], width: 2 },
      hovertemplate: `%{y:.${comparison().digits}f} in ${comparison().turn} %{x}<extra>%{fullData.name}</extra>` });
  });
  const { metric, task, turn } = comparison();
  const what = kind === "losses" ? "training loss" : task === "control" ? "mean reward of the last 100 episodes" : `validation ${metric}`;
  const narrow = innerWidth < 600;
  draw("curves", traces, {
    xaxis: { title: { text: turn } }, yaxis: { title: { text: what }, range: late(kind) },
    legend: narrow ? { orientation: "h", y: -0.3, yanchor: "top" } : { orientation: "v", x: 1.01, y: 1 },
    height: narrow ? 560 : 460,
  },
    `Line chart: ${what} by ${turn} for ${comparison().rows.length} networks. The table above has the final scores.`);
}

// What the first epochs do would leave a line at the top for all the others: begin where they are behind.
function late(kind) {
  if (comparison().task === "control") return undefined; // there, how fast it rises is the point
  const after = comparison().rows.slice(0, 6).flatMap(({ [kind]: { mean } }) => mean.slice(Math.floor(mean.length / 8)));
  if (!after.length) return undefined;
  const [low, high] = [Math.min(...after), Math.max(...after)];
  const margin = 0.08 * (high - low || 1);
  return [low - margin, high + margin];
}

function costs() {
  for (const [id, key, title, log] of [
    ["by-size", "parameters", "trained parameters", true], ["by-time", "seconds", `seconds an ${comparison().turn}`, true],
  ]) {
    const traces = comparison().rows.map((row, at) => ({
      x: [row[key]], y: [row.mean], error_y: { type: "data", array: [row.deviation ?? 0], thickness: 1.2 },
      name: plainText(called(row)), mode: at < 3 ? "markers+text" : "markers",
      text: [plainText(row.label)], textposition: at % 2 ? "bottom center" : "top center", textfont: { size: 11 }, cliponaxis: false,
      marker: { color: color(at), symbol: MARKS[at % MARKS.length], size: 10 },
      hovertemplate: `%{y:.${comparison().digits}f}, %{x}<extra>%{fullData.name}</extra>`,
    }));
    draw(id, traces, {
      xaxis: { title: { text: title }, type: log ? "log" : "linear" }, showlegend: false, height: 380,
      yaxis: { title: { text: `test ${comparison().metric}` } },
    }, `Scatter chart: test ${comparison().metric} against ${title}, one mark a network. The table above has the numbers.`);
  }
}

/* The gallery. */

const filmed = () => comparison().rows.filter((row) => row.film);

function unpacked(piece) {
  // One array a moment.
  const [moments, ...rest] = piece.shape;
  const size = rest.reduce((a, b) => a * b, 1);
  const span = (piece.high - piece.low) / data.levels;
  let level = 0; // each number is told as its difference from the one before it
  const values = Array.from(shapes.subarray(piece.begin, piece.begin + moments * size), (step) => {
    level = (level + step) & 65535;
    return piece.low + level * span;
  });
  return Array.from({ length: moments }, (_, moment) => values.slice(moment * size, (moment + 1) * size));
}

function places(count) {
  return Array.from({ length: count }, (_, at) => -data.boundary + (2 * data.boundary * at) / (count - 1));
}

function galleryChoices() {
  const rows = filmed();
  byId("setting").replaceChildren(...rows.map((row, at) => {
    const option = make("option", `${called(row)} (seed ${row.film.seed})`);
    option.value = at;
    return option;
  }));
  const learned = rows.findIndex((row) => row.label.startsWith("kaf"));
  gallery.setting = Math.max(0, learned);
  byId("setting").value = gallery.setting;
  layerChoices();
}

function layerChoices() {
  const row = filmed()[gallery.setting];
  gallery.layer = 0;
  byId("layer").replaceChildren(...(row ? row.film.layers : []).map((layer, at) => {
    const option = make("option", layer.name);
    option.value = at;
    return option;
  }));
  momentChoices();
}

function momentChoices() {
  const layer = filmed()[gallery.setting]?.film.layers[gallery.layer];
  gallery.first = 0;
  gallery.moment = layer ? layer.moments.length - 1 : 0;
  byId("moment").max = gallery.moment;
  byId("moment").value = gallery.moment;
  drawGallery();
}

function drawGallery() {
  const row = filmed()[gallery.setting];
  const layer = row?.film.layers[gallery.layer];
  for (const id of ["setting", "layer", "moment", "play"]) byId(id).disabled = !layer;
  if (!layer) {
    put(byId("gallery-note"), "No run of this comparison has stored shapes.");
    Plotly.purge(byId("gallery"));
    byId("gallery").setAttribute("aria-label", "Nothing to show");
    for (const id of ["words", "kinds", "neurons", "moment-name"]) byId(id).replaceChildren();
    return;
  }
  const pieces = layer.curves ?? layer.surfaces ?? layer.histogram;
  const shown = pieces.slice(gallery.first, gallery.first + PAGE);
  const columns = innerWidth < 500 ? 2 : innerWidth < 900 ? 3 : 4;
  const lines = Math.ceil(shown.length / columns);
  const moment = layer.moments[gallery.moment];
  put(byId("moment-name"), moment);
  byId("moment").setAttribute("aria-valuetext", moment);
  put(byId("neurons"), `neurons ${gallery.first} to ${gallery.first + shown.length - 1} of ${pieces.length} stored`);
  byId("before").disabled = gallery.first === 0;
  byId("after").disabled = gallery.first + PAGE >= pieces.length;
  put(byId("gallery-note"), layer.surfaces
    ? "Each square is one function of two inputs: darker is larger."
    : "Dashed: where it started. Solid: what it is at this moment. Filled: the inputs it sees.");
  const traces = [];
  const more = { showlegend: false, height: 40 + 190 * lines, margin: { l: 35, r: 10, t: 25, b: 30 }, annotations: [] };
  shown.forEach((piece, at) => {
    const [column, line] = [at % columns, Math.floor(at / columns)];
    const gap = 0.045;
    const x = [column / columns + gap / 2, (column + 1) / columns - gap / 2];
    const y = [1 - (line + 1) / lines + 0.12 / lines, 1 - line / lines - 0.14 / lines];
    const n = 2 * at + 1;
    // Inputs on the axis underneath, functions on the one above it.
    const [xa, za, ya] = [n, n, n + 1].map((value) => (value === 1 ? "" : String(value)));
    more[`xaxis${xa}`] = { domain: x, anchor: `y${za}`, range: [-data.boundary, data.boundary], tickfont: { size: 10 }, fixedrange: true };
    more[`yaxis${za}`] = { domain: y, anchor: `x${xa}`, visible: false, fixedrange: true, rangemode: "tozero" };
    more[`yaxis${ya}`] = { domain: y, anchor: `x${xa}`, overlaying: `y${za}`, side: "left", tickfont: { size: 10 }, nticks: 4, fixedrange: true };
    more.annotations.push({ text: `neuron ${gallery.first + at}`, showarrow: false, xref: "paper", yref: "paper",
      x: (x[0] + x[1]) / 2, y: y[1], yanchor: "bottom", font: { size: 11 } });
    const to = { xaxis: `x${xa}`, yaxis: `y${ya}` };
    if (layer.surfaces) {
      more[`yaxis${za}`] = { domain: y, anchor: `x${xa}`, tickfont: { size: 10 }, nticks: 4, fixedrange: true };
      delete more[`yaxis${ya}`];
      to.yaxis = `y${za}`;
      const flat = unpacked(piece)[gallery.moment];
      const z = Array.from({ length: data.side }, (_, b) => Array.from({ length: data.side }, (_, a) => flat[a * data.side + b]));
      traces.push({ ...to, type: "heatmap", z, x: places(data.side), y: places(data.side), colorscale: "Cividis",
        reversescale: true, showscale: false, hovertemplate: "%{z:.3g} at (%{x:.2g}, %{y:.2g})<extra></extra>" });
      return;
    }
    const histogram = layer.histogram?.[gallery.first + at];
    if (histogram) {
      const shares = unpacked(histogram)[gallery.moment];
      const width = (2 * data.boundary) / data.bins;
      traces.push({ xaxis: `x${xa}`, yaxis: `y${za}`, type: "bar", x: shares.map((_, bin) => -data.boundary + (bin + 0.5) * width),
        y: shares, width, marker: { color: tone("seen"), line: { width: 0 } }, opacity: 0.75,
        hovertemplate: "%{y:.1%} of inputs<extra></extra>" });
    }
    if (!layer.curves) return;
    const film = unpacked(piece);
    const grid = places(data.points);
    if (gallery.moment > 0) traces.push({ ...to, mode: "lines", x: grid, y: film[0], line: { color: tone("start"), dash: "dash", width: 1.5 },
      hovertemplate: "%{y:.3g} at %{x:.2g}<extra>start</extra>" });
    traces.push({ ...to, mode: "lines", x: grid, y: film[gallery.moment], line: { color: tone("learned"), width: 2.3 },
      hovertemplate: "%{y:.3g} at %{x:.2g}<extra>" + moment + "</extra>" });
    const all = film.flat();
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const margin = 0.06 * (high - low || 1);
    more[`yaxis${ya}`].range = [low - margin, high + margin];
  });
  draw("gallery", traces, more, `Small charts of ${shown.length} activations of ${called(row)} at ${moment}. Their descriptions follow.`);
  const counts = {};
  for (const kind of layer.kinds) counts[kind] = (counts[kind] ?? 0) + 1;
  put(byId("kinds"), layer.words.length
    ? "At the end: " + Object.entries(counts).sort((a, b) => b[1] - a[1]).map(([kind, count]) => `${count} ${kind}`).join(", ") + "."
    : "");
  byId("words").start = gallery.first;
  byId("words").replaceChildren(...layer.words.slice(gallery.first, gallery.first + PAGE).map((words) => make("li", words)));
}

function play() {
  if (gallery.timer) return stop();
  const last = Number(byId("moment").max);
  gallery.moment = gallery.moment >= last ? 0 : gallery.moment;
  put(byId("play"), "Stop");
  gallery.timer = setInterval(() => {
    byId("moment").value = gallery.moment;
    drawGallery();
    if (gallery.moment >= last) return stop();
    gallery.moment += 1;
  }, 700);
}

function stop() {
  clearInterval(gallery.timer);
  gallery.timer = 0;
  put(byId("play"), "Play");
}

/* Provenance. */

function runs() {
  byId("runs").replaceChildren(...comparison().rows.map((row) => {
    const box = document.createElement("details");
    box.append(make("summary", `${called(row)}: ${row.runs.length} run${row.runs.length > 1 ? "s" : ""}`));
    for (const run of row.runs) {
      const made = run.provenance;
      const hardware = made.hardware ? `${made.hardware.processor}, ${made.hardware.cores} cores` : "unknown hardware";
      box.append(make("p", `Seed ${run.seed}: test ${number(run.score, comparison().digits)}, `
        + (comparison().task === "control" ? `${run.epochs} iterations.`
          : `validation ${number(run.validation, comparison().digits)}, best of ${run.epochs} epochs: ${run.best_epoch}.`)
        + ` Commit ${(made.commit ?? "unknown").slice(0, 12)}, ${made.date ?? "no date"}, ${hardware}.`));
      box.append(make("code", run.folder));
    }
    const first = row.runs[0];
    box.append(make("h3", "Settings"));
    const text = make("pre", JSON.stringify({ ...first.config, versions: first.provenance.versions, data: first.data, rows: first.rows }, null, 2));
    text.tabIndex = 0;
    box.append(text);
    return box;
  }));
}

function missing() {
  const box = byId("missing");
  if (!data.unfinished.length && !data.damaged.length) box.append(make("p", "Nothing: every run folder is finished and whole."));
  for (const [title, items] of [
    ["Unfinished", data.unfinished], ["Damaged", data.damaged.map((each) => `${each.path}: ${each.why}`)],
  ]) {
    if (!items.length) continue;
    box.append(make("h3", `${title} (${items.length})`));
    const list = document.createElement("ul");
    list.append(...items.map((item) => make("li", item)));
    box.append(list);
  }
}

function everything() {
  stop();
  const found = comparison();
  const seeds = found.rows.reduce((total, row) => total + row.runs.length, 0);
  put(byId("summary"), `${found.name}: ${found.rows.length} networks, ${seeds} runs, ${found.task}.`);
  const test = found.rows.find((row) => row.test)?.test;
  put(byId("ranking-note"), `Mean ± deviation over seeds of the test ${found.metric}.` + (test ? ` p is that of a ${test}, times ${found.rows.length - 1} for as many rivals.` : "")
    + (data.damaged.length + data.unfinished.length ? " Some run folders are unfinished or damaged: see below." : ""));
  ranking();
  curves();
  costs();
  galleryChoices();
  runs();
}

async function unpack() {
  const letters = atob(byId("shapes").textContent.trim());
  const bytes = new Uint8Array(letters.length); // plain loops: there are millions of them
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / 2;
  shapes = new Uint16Array(count);
  for (let at = 0; at < count; at += 1) shapes[at] = planes[at] | (planes[at + count] << 8);
}

async function begin() {
  put(byId("title"), data.title);
  document.title = `${data.title} – kafnets report`;
  missing();
  if (!data.comparisons.length) {
    put(byId("summary"), "There is no finished run in this folder yet.");
    for (const section of document.querySelectorAll("main section")) section.hidden = !section.querySelector("#missing");
    document.body.dataset.ready = "yes";
    return;
  }
  await unpack();
  byId("comparison").replaceChildren(...data.comparisons.map((each, at) => {
    const option = make("option", each.name);
    option.value = at;
    return option;
  }));
  byId("chooser").hidden = data.comparisons.length < 2;
  byId("comparison").addEventListener("change", (event) => { chosen = Number(event.target.value); everything(); });
  byId("filter").addEventListener("input", ranking);
  byId("curve").addEventListener("change", curves);
  byId("setting").addEventListener("change", (event) => { stop(); gallery.setting = Number(event.target.value); layerChoices(); });
  byId("layer").addEventListener("change", (event) => { stop(); gallery.layer = Number(event.target.value); momentChoices(); });
  byId("moment").addEventListener("input", (event) => { stop(); gallery.moment = Number(event.target.value); drawGallery(); });
  byId("play").addEventListener("click", play);
  byId("before").addEventListener("click", () => { gallery.first -= PAGE; drawGallery(); });
  byId("after").addEventListener("click", () => { gallery.first += PAGE; drawGallery(); });
  const redraw = () => { curves(); costs(); drawGallery(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 200); });
  everything();
  document.body.dataset.ready = "yes";
}

begin();
