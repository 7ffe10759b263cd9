"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const DASHES = ["solid", "dash", "dashdot", "longdash", "dot", "longdashdot"];
const MARKS = ["circle", "square", "diamond", "triangle-up", "x", "cross", "star", "pentagon"];
const LIGHT = ["#0077bb", "#c2570c", "#117733", "#882255", "#007a87", "#7a7a14", "#444444", "#b0405a"];
const DARK = ["#66b8f0", "#ffab6b", "#6bd394", "#e08fbd", "#5fd0de", "#d3d36b", "#c8c8c8", "#ff9db0"];
const PAGE = 12;
const QUIET = { displayModeBar: false, responsive: true };

let packed = new Uint16Array(0);
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
const number = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits));

function layout(more) {
  const axis = { gridcolor: tone("line"), zerolinecolor: tone("line"), linecolor: tone("line"), automargin: true };
  return {
    paper_bgcolor: tone("ground"), plot_bgcolor: tone("ground"),
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

const p = ({ p_value }) => (p_value === null ? "–" : p_value.toPrecision(2));
const signed = (value) => (value < 0 ? "−" : "+") + number(Math.abs(value), comparison().digits);
const difference = ({ difference, low, high }) => (difference === null ? "–"
  : signed(difference) + (low === null ? "" : ` [${signed(low)}, ${signed(high)}]`));

const COLUMNS = () => [
  ["rank", "", (row) => String(row.rank), (row) => -row.rank],
  ["activation", "activation", (row) => row.activation, (row) => row.activation],
  ["mean", "test score", (row) => score(row), (row) => row.mean],
  ["seeds", "seeds", (row) => String(row.seeds), (row) => row.seeds],
  ["difference", `vs. ${comparison().reference}`, (row) => difference(row), (row) => row.difference ?? 0],
  ["p", "p", (row) => p(row), (row) => row.p_value ?? 2],
  ...comparison().also.flatMap((name) => [
    [name, `test ${name.replaceAll("_", " ")}`, (row) => score(row.also[name]), (row) => row.also[name].mean],
    [`${name}-p`, `p of the ${name.replaceAll("_", " ")}`, (row) => p(row.also[name]), (row) => row.also[name].p_value ?? 2],
  ]),
  ["parameters", "parameters", (row) => row.parameters ? row.parameters.toLocaleString("en") : "–", (row) => row.parameters],
  ...(timed() ? [["step", "step time (× ReLU)", (row) => number(row.step_time, 2), (row) => row.step_time ?? 1e9]] : []),
];
const timed = () => comparison().rows.some((row) => row.step_time !== null);

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
        sorted.up = sorted.column === key ? !sorted.up : /^(activation|parameters|step|p|.*-p)$/.test(key);
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
  const rows = comparison().rows.filter((row) => row.activation.toLowerCase().includes(wanted));
  rows.sort((one, two) => {
    const [a, b] = [value(one), value(two)];
    return (a < b ? -1 : a > b ? 1 : 0) * (sorted.up ? 1 : -1);
  });
  byId("table").tBodies[0].replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    for (const [, , text] of COLUMNS()) line.append(make("td", text(row)));
    return line;
  }));
  put(byId("shown"), wanted ? `${rows.length} of ${comparison().rows.length}` : "");
  if (focused) document.querySelector(`th button[data-column="${focused}"]`)?.focus();
}

// All digits, as a spreadsheet reads them; a name that it would take for a formula stays text.
function csv() {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]|^[=+@-]/.test(text) && typeof value === "string"
      ? `"${(/^[=+@-]/.test(text) ? "'" : "") + text.replaceAll('"', '""')}"` : text;
  };
  const { rows, metric, also, reference } = comparison();
  const scores = (name, of) => [[`test ${name}`, (row) => of(row).mean], [`standard deviation of ${name}`, (row) => of(row).deviation],
    [`difference from ${reference}`, (row) => of(row).difference], ["low end of 95 % interval", (row) => of(row).low],
    ["high end", (row) => of(row).high], [`p of ${name}`, (row) => of(row).p_value]];
  const columns = [["rank", (row) => row.rank], ["activation", (row) => row.activation],
    ["seeds", (row) => row.seeds], ...scores(metric, (row) => row),
    ...also.flatMap((name) => scores(name, (row) => row.also[name])), ["parameters", (row) => row.parameters],
    ["step time relative to ReLU", (row) => row.step_time]];
  return [columns.map(([title]) => cell(title)), ...rows.map((row) => columns.map(([, value]) => cell(value(row))))]
    .map((line) => line.join(",")).join("\n") + "\n";
}

function save(content, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* Charts. */

function curves() {
  const kind = byId("curve").value;
  const traces = [];
  comparison().rows.forEach((row, at) => {
    const { mean, deviation } = row[kind];
    if (!mean.length) return;
    const epochs = mean.map((_, epoch) => epoch + 1);
    const name = plainText(row.activation);
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
  byId("by-time").parentElement.hidden = !timed();
  for (const [id, key, title] of [["by-size", "parameters", "trained parameters"], ["by-time", "step_time", "step time (× ReLU)"]]) {
    if (id === "by-time" && !timed()) continue;
    const traces = comparison().rows.map((row, at) => ({
      x: [row[key]], y: [row.mean], error_y: { type: "data", array: [row.deviation ?? 0], thickness: 1.2 },
      name: plainText(row.activation), mode: at < 3 || comparison().rows.length < 9 ? "markers+text" : "markers",
      text: [` ${plainText(row.activation)}`], textposition: "middle right", textfont: { size: 11 }, cliponaxis: false,
      marker: { color: color(at), symbol: MARKS[at % MARKS.length], size: 10 },
      hovertemplate: `%{y:.${comparison().digits}f}, %{x}<extra>%{fullData.name}</extra>`,
    }));
    draw(id, traces, {
      xaxis: { title: { text: title }, type: "log", ...logTicks(comparison().rows.map((row) => row[key])) }, showlegend: false, height: 380,
      yaxis: { title: { text: `test ${comparison().metric}` } },
    }, `Scatter chart: test ${comparison().metric} against ${title}, one mark per network. The table above has the numbers.`);
  }
}

// Round numbers; three or more of them, however narrow the range is.
function logTicks(values) {
  const known = values.filter((value) => value > 0);
  const [low, high] = [Math.min(...known) * 0.85, Math.max(...known) * 1.18];
  const ticks = [];
  for (const steps of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]]) {
    ticks.length = 0;
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
      for (const step of steps) if (step * 10 ** power >= low && step * 10 ** power <= high) ticks.push(step * 10 ** power);
    }
    if (ticks.length >= 3) break;
  }
  return { range: [Math.log10(low), Math.log10(high)], tickvals: ticks, ticktext: ticks.map((value) => Number(value.toPrecision(2)).toLocaleString("en")) };
}

/* The gallery. */

const inspected = () => comparison().rows.filter((row) => row.learned);

function rowOf(piece, at) {
  if (!piece || at >= piece.low.length) return null;
  const begin = piece.begin + at * piece.size;
  let level = 0; // each number is told as its difference from the one before it
  return Array.from(packed.subarray(begin, begin + piece.size), (step) => {
    level = (level + step) & 65535;
    return piece.low[at] + (level * piece.span[at]) / data.levels;
  });
}

// One row alone stands for all functions.
const functionOf = (layer, moment, at) => rowOf(layer.values[moment], layer.values[moment].low.length === 1 ? 0 : at);
const inputOf = (layer, moment, at) => rowOf(layer.histograms[moment], layer.connections ? at % layer.connections : at);
const nameOf = (layer, at) => layer.features.length ? layer.features[at] : layer.connections ? `input ${at % layer.connections} → output ${Math.floor(at / layer.connections)}`
  : `${layer.inputs === 2 ? "pair" : "neuron"} ${at}`;

// Panels of features hold all functions of one.
const functionsIn = (layer) => layer.values.at(-1).size / data.points;
const panelAt = (layer, place) => layer.order?.[place] ?? place;
const titleOf = (layer, at) => nameOf(layer, at) + (layer.influence?.[at] === undefined ? "" : ` (${(100 * layer.influence[at]).toFixed(0)} %)`);

// How many functions there are at the end, of which all can be looked at.
const storedIn = (layer) => {
  const rows = layer.values.at(-1).low.length;
  return rows === 1 ? (layer.histograms.at(-1)?.low.length ?? layer.count ?? 1) / layer.inputs : rows;
};

const places = (count, limit) => Array.from({ length: count }, (_, at) => -limit + (2 * limit * at) / (count - 1));

function choices(id, texts, value) {
  byId(id).replaceChildren(...texts.map((text, at) => {
    const option = make("option", text);
    option.value = at;
    return option;
  }));
  byId(id).value = value;
}

function galleryChoices() {
  const rows = inspected();
  gallery.setting = Math.max(0, rows.findIndex((row) => row.learned.layers.some((layer) => layer.dictionary)));
  choices("setting", rows.map((row) => `${row.activation} (seed ${row.learned.seed})`), gallery.setting);
  layerChoices();
}

function layerChoices() {
  const layers = inspected()[gallery.setting]?.learned.layers ?? [];
  gallery.layer = Math.max(0, layers.findIndex((layer) => layer.features.length));
  choices("layer", layers.map((layer) => layer.title), gallery.layer);
  momentChoices();
}

function momentChoices() {
  const layer = inspected()[gallery.setting]?.learned.layers[gallery.layer];
  gallery.first = 0;
  gallery.moment = layer ? layer.moments.length - 1 : 0;
  byId("moment").max = gallery.moment;
  byId("moment").value = gallery.moment;
  drawGallery();
}

function facts(layer) {
  if (layer.features.length) {
    const [each, count] = [functionsIn(layer), layer.features.length];
    return `${layer.activation}: ${each} function${each > 1 ? "s" : ""} for ${count > 1 ? `each of ${count} features` : "one feature"}, `
      + "which the first hidden layer takes as additional inputs.";
  }
  const kind = layer.connections ? "one per connection" : layer.sharing > 1 ? `each shared by ${layer.sharing} ${layer.inputs === 2 ? "pairs" : "neurons"}`
    : layer.inputs === 2 ? "one per pair of neurons" : "one per neuron";
  const count = layer.count === null ? "functions" : `${layer.count.toLocaleString("en")} function${layer.count > 1 ? "s" : ""}`;
  return `${layer.activation || "Layer"}: ${count}, ${kind}`
    + (layer.dictionary ? `; dictionary from ${layer.dictionary.map((end) => Number(end.toPrecision(3))).join(" to ")}` : "")
    + (layer.tails && layer.tails !== "zero" ? `, ${layer.tails} tails` : "") + (layer.base ? `, added to ${layer.base}` : "") + ".";
}

function explanation(layer, moving) {
  const first = layer.values[0].low.length;
  if (layer.features.length) {
    return "Thin lines: start. Thick: at this moment. Filled: distribution of the feature. From left to right, its values by their rank: "
      + "numbers are the smallest value, the quartiles and the largest. Features with one or two values have no functions."
      + (layer.influence ? " Percentages estimate how much of the variance of the network's outputs depends on the feature, by shuffling "
        + "its values; they overlap where features act together. The most influential features come first." : "")
      + (moving ? "" : ` Snapshots by epoch are stored for the first ${first} columns of the table only.`);
  }
  return (layer.inputs === 2 ? "Each square is one function of two inputs, all on one color scale."
    : "Dashed: start. Solid: at this moment. Filled: distribution of its inputs.")
    + (layer.dictionary ? " Dotted: ends of the dictionary." : "")
    + (moving ? "" : ` Snapshots by epoch are stored for the first ${first} functions only.`);
}

function drawGallery() {
  const row = inspected()[gallery.setting];
  const layer = row?.learned.layers[gallery.layer];
  for (const id of ["setting", "layer", "moment", "play", "first"]) byId(id).disabled = !layer;
  if (!layer) {
    put(byId("gallery-note"), "No run of this comparison has stored functions.");
    Plotly.purge(byId("gallery"));
    byId("gallery").setAttribute("aria-label", "Nothing to show");
    for (const id of ["words", "kinds", "neurons", "moment-name", "facts"]) byId(id).replaceChildren();
    return;
  }
  const stored = storedIn(layer);
  gallery.first = Math.max(0, Math.min(gallery.first, stored - 1));
  const shown = Array.from({ length: Math.min(PAGE, stored - gallery.first) }, (_, at) => panelAt(layer, gallery.first + at));
  const moving = layer.moments.length > 1 && shown.every((at) => layer.values.every((_, moment) => functionOf(layer, moment, at)));
  if (!moving) {
    stop();
    gallery.moment = layer.moments.length - 1;
    byId("moment").value = gallery.moment;
  }
  byId("moment").disabled = byId("play").disabled = !moving;
  const moment = layer.moments[gallery.moment];
  put(byId("moment-name"), moment);
  byId("moment").setAttribute("aria-valuetext", moment);
  const plural = layer.features.length ? "features" : layer.connections ? "functions" : layer.inputs === 2 ? "pairs" : "neurons";
  const range = `${plural} ${gallery.first} to ${gallery.first + shown.length - 1}`;
  put(byId("neurons"), layer.features.length && shown.length === layer.count ? `all ${plural}` : `${range} ` + (stored === layer.count ? `of ${stored}` : `of the first ${stored}, which are stored`));
  byId("first").max = stored - 1;
  byId("first").value = gallery.first;
  byId("before").disabled = gallery.first === 0;
  byId("after").disabled = gallery.first + PAGE >= stored;
  put(byId("facts"), facts(layer));
  put(byId("gallery-note"), explanation(layer, moving || layer.moments.length === 1));
  draw("gallery", ...panels(layer, shown), `Small charts of ${layer.features.length ? `the functions of ${shown.length} features` : `${shown.length} functions`} of ${row.activation} at ${moment}. Their descriptions follow.`);
  const described = layer.words.flat().length;
  put(byId("kinds"), described
    ? `At the end, of ${described}: ` + Object.entries(layer.kinds).map(([kind, count]) => `${count} ${kind}`).join(", ") + "." : "");
  byId("words").replaceChildren(...shown.filter((at) => layer.words[at]).map((at) => {
    if (!layer.features.length) return make("li", `${nameOf(layer, at)}: ${layer.words[at][0]}`);
    const [item, list] = [make("li", nameOf(layer, at)), make("ol")];
    list.append(...layer.words[at].map((words) => make("li", words)));
    item.append(list);
    return item;
  }));
}

function panels(layer, shown) {
  const named = layer.features.length > 0;
  const most = innerWidth < 500 ? 2 : innerWidth < 900 ? 3 : 4;
  const columns = named ? Math.min(most - 1, shown.length) : most;
  const lines = Math.ceil(shown.length / columns);
  const traces = [];
  const flat = layer.inputs === 2;
  const more = { showlegend: named, height: 40 + (named ? 260 : flat ? 220 : 190) * lines, annotations: [], shapes: [],
    margin: { l: 35, r: flat ? 60 : 10, t: named ? 50 : 25, b: 30 }, legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", itemwidth: 45 } };
  if (flat) {
    const all = shown.flatMap((at) => layer.values.flatMap((_, moment) => functionOf(layer, moment, at) ?? []));
    const [low, high] = extent(all);
    more.coloraxis = { colorscale: "Cividis", reversescale: true, cmin: low, cmax: high, colorbar: { thickness: 12, tickfont: { size: 10 }, x: 1.01 } };
  }
  shown.forEach((number, at) => {
    const [column, line] = [at % columns, Math.floor(at / columns)];
    const gap = 0.18 / columns; // for the numbers along the next panel
    const x = [column / columns + gap / 2, (column + 1) / columns - gap / 2];
    const slanted = named && innerWidth / columns < 450;
    const below = slanted ? 0.22 : 0.12;
    const y = [1 - (line + 1) / lines + below / lines, 1 - line / lines - 0.14 / lines];
    const n = 2 * at + 1;
    // Inputs on the axis underneath, functions on the one above it.
    const [xa, za, ya] = [n, n, n + 1].map((value) => (value === 1 ? "" : String(value)));
    const small = { tickfont: { size: 10 }, fixedrange: true };
    more[`xaxis${xa}`] = { ...small, domain: x, anchor: `y${za}`, range: [-layer.limit, layer.limit] };
    if (layer.quantiles.length) {
      const values = layer.quantiles[number].map((value) => String(Number(value.toPrecision(4))));
      Object.assign(more[`xaxis${xa}`], { tickvals: places(values.length, layer.limit), ticktext: values, tickangle: slanted ? -45 : 0 });
    }
    more.annotations.push({ text: plainText(titleOf(layer, number)), showarrow: false, xref: "paper", yref: "paper",
      x: (x[0] + x[1]) / 2, y: y[1], xanchor: "center", yanchor: "bottom", font: { size: named ? 13 : 11 } });
    if (flat) {
      more[`xaxis${xa}`].constrain = "domain";
      more[`yaxis${za}`] = { ...small, domain: y, anchor: `x${xa}`, nticks: 4, scaleanchor: `x${xa}`, constrain: "domain" };
      traces.push(surface(layer, number, { xaxis: `x${xa}`, yaxis: `y${za}` }));
      const [low, high] = layer.dictionary ?? [];
      if (layer.dictionary) more.shapes.push({ type: "rect", xref: `x${xa}`, yref: `y${za}`, x0: low, x1: high, y0: low, y1: high,
        line: { dash: "dot", width: 1, color: "#ffffff" } });
      return;
    }
    more[`yaxis${za}`] = { domain: y, anchor: `x${xa}`, visible: false, fixedrange: true, rangemode: "tozero" };
    more[`yaxis${ya}`] = { ...small, domain: y, anchor: `x${xa}`, overlaying: `y${za}`, side: "left", tickmode: "auto", nticks: 4, range: reach(layer, number) };
    for (const end of layer.dictionary ?? []) more.shapes.push({ type: "line", xref: `x${xa}`, yref: "paper", x0: end, x1: end, y0: y[0], y1: y[1],
      line: { dash: "dot", width: 1, color: tone("soft") } });
    const [under, over] = [{ xaxis: `x${xa}`, yaxis: `y${za}` }, { xaxis: `x${xa}`, yaxis: `y${ya}` }];
    traces.push(...histogram(layer, number, under), ...(named ? family(layer, number, over, !at) : curve(layer, number, over)));
  });
  return [traces, more];
}

const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

// The same at all moments, so that only functions move.
function reach(layer, number) {
  const [low, high] = extent(layer.values.flatMap((_, moment) => functionOf(layer, moment, number) ?? []));
  const margin = 0.06 * (high - low || 1);
  return [low - margin, high + margin];
}

function surface(layer, number, to) {
  const values = functionOf(layer, gallery.moment, number);
  const z = Array.from({ length: data.side }, (_, b) => Array.from({ length: data.side }, (_, a) => values[a * data.side + b]));
  const grid = places(data.side, layer.limit);
  return { ...to, type: "heatmap", z, x: grid, y: grid, coloraxis: "coloraxis", hovertemplate: "%{z:.3g} at (%{x:.2g}, %{y:.2g})<extra></extra>" };
}

function histogram(layer, number, to) {
  const shares = inputOf(layer, gallery.moment, number);
  const width = (2 * layer.limit) / data.bins;
  return shares ? [{ ...to, type: "bar", showlegend: false, x: shares.map((_, bin) => -layer.limit + (bin + 0.5) * width), y: shares, width,
    marker: { color: tone("seen"), line: { width: 0 } }, opacity: 0.75, hovertemplate: `%{y:.1%} of ${layer.features.length ? "rows" : "inputs"}<extra></extra>` }] : [];
}

const startOf = (layer, number) => (layer.moments[0] === "start" && gallery.moment > 0 ? functionOf(layer, 0, number) : null);

function curve(layer, number, to) {
  const line = (y, look, name) => ({ ...to, mode: "lines", x: places(data.points, layer.limit), y, line: look,
    hovertemplate: `%{y:.3g} at %{x:.2g}<extra>${name}</extra>` });
  const start = startOf(layer, number);
  return [...(start ? [line(start, { color: tone("start"), dash: "dash", width: 1.5 }, "start")] : []),
    line(functionOf(layer, gallery.moment, number), { color: tone("learned"), width: 2.3 }, plainText(layer.moments[gallery.moment]))];
}

// All functions of one feature, which follow one another.
function family(layer, number, to, listed) {
  const below = places(data.points, 0.5).map((place) => place + 0.5);
  const lines = (values, width, moment) => Array.from({ length: values.length / data.points }, (_, at) => ({
    ...to, mode: "lines", x: places(data.points, layer.limit), y: values.slice(at * data.points, (at + 1) * data.points), customdata: below,
    name: `function ${at + 1}`, legendgroup: at, showlegend: listed && width > 1, line: { color: color(at), dash: DASHES[at % DASHES.length], width },
    hovertemplate: `%{y:.3g} where %{customdata:.0%} of rows are below<extra>function ${at + 1}, ${plainText(moment)}</extra>` }));
  const start = startOf(layer, number);
  return [...(start ? lines(start, 0.8, "start") : []), ...lines(functionOf(layer, gallery.moment, number), 2.3, layer.moments[gallery.moment])];
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

/* What the monitor saw. */

const MEASURES = { outside: ["inputs outside the dictionary", 0.2], dead: ["dead functions", 0.5],
  coefficients: ["norm of coefficients"], gradients: ["norm of their gradients"] };
const monitored = () => comparison().rows.filter((row) => Object.keys(row.watched).length);

function watchedChoices() {
  byId("watched-setting").closest("section").hidden = !monitored().length;
  choices("watched-setting", monitored().map((row) => row.activation), 0);
  drawWatched();
}

function drawWatched() {
  const row = monitored()[Number(byId("watched-setting").value)];
  if (!row) return;
  const shown = Object.keys(MEASURES).filter((measure) => row.watched[measure]);
  const layers = [...new Set(shown.flatMap((measure) => Object.keys(row.watched[measure])))]
    .sort((one, two) => one.localeCompare(two, "en", { numeric: true }));
  const columns = innerWidth < 700 ? 1 : 2;
  const lines = Math.ceil(shown.length / columns);
  const more = { height: 60 + 210 * lines, annotations: [], shapes: [], legend: { orientation: "h", y: -0.1 / lines, yanchor: "top" } };
  const traces = shown.flatMap((measure, at) => {
    const [column, line] = [at % columns, Math.floor(at / columns)];
    const [title, limit] = MEASURES[measure];
    const own = at ? String(at + 1) : "";
    const y = [1 - (line + 1) / lines + 0.14 / lines, 1 - line / lines - 0.1 / lines];
    const x = [column / columns + 0.04 * column, (column + 1) / columns - 0.04 * (columns - 1 - column)];
    const turn = line === lines - 1 || at + columns >= shown.length ? comparison().turn : "";
    more[`xaxis${own}`] = { domain: x, anchor: `y${own}`, title: { text: turn, standoff: 4 } };
    more[`yaxis${own}`] = { domain: y, anchor: `x${own}`, rangemode: "tozero", ...(limit ? { tickformat: ".0%" } : {}), nticks: 5 };
    more.annotations.push({ text: title, showarrow: false, xref: "paper", yref: "paper", x: x[0], y: y[1], xanchor: "left", yanchor: "bottom" });
    if (limit) more.shapes.push({ type: "line", xref: `x${own} domain`, yref: `y${own}`, x0: 0, x1: 1, y0: limit, y1: limit,
      line: { dash: "dot", width: 1, color: tone("start") } });
    return layers.filter((layer) => row.watched[measure][layer]).map((layer) => {
      const number = layers.indexOf(layer);
      const values = row.watched[measure][layer];
      return { x: values.map((_, epoch) => epoch + 1), y: values, xaxis: `x${own}`, yaxis: `y${own}`, mode: "lines+markers",
        name: plainText(/^\d/.test(layer) ? `layer ${layer}` : layer), legendgroup: layer, showlegend: !at, marker: { size: 4 },
        line: { color: color(number), dash: DASHES[number % DASHES.length], width: 2 },
        hovertemplate: `%{y:${limit ? ".1%" : ".3g"}} in ${comparison().turn} %{x}<extra>%{fullData.name}</extra>` };
    });
  });
  draw("watched", traces, more, `Line charts by ${comparison().turn} for ${layers.length} layers of ${row.activation}. The table below has the last values.`);
  const told = (measure, layer) => {
    const value = row.watched[measure][layer]?.at(-1);
    return value === undefined ? "–" : MEASURES[measure][1] ? `${(100 * value).toFixed(1)} %` : Number(value.toPrecision(3)).toString();
  };
  const line = (tag, texts) => {
    const made = document.createElement("tr");
    made.append(...texts.map((text) => make(tag, text)));
    return made;
  };
  byId("watched-table").tHead.replaceChildren(line("th", ["layer", ...shown.map((measure) => MEASURES[measure][0])]));
  byId("watched-table").tBodies[0].replaceChildren(...layers.map((layer) => line("td", [layer, ...shown.map((measure) => told(measure, layer))])));
}

/* Provenance. */

function runs() {
  byId("runs").replaceChildren(...comparison().rows.map((row) => {
    const box = document.createElement("details");
    box.append(make("summary", `${row.activation}: ${row.runs.length} run${row.runs.length > 1 ? "s" : ""}`));
    for (const run of row.runs) {
      const hardware = run.hardware ? `${run.hardware.processor}, ${run.hardware.cores} cores` : "unknown hardware";
      box.append(make("p", `Seed ${run.seed}: test ${number(run.score, comparison().digits)}, `
        + (comparison().task === "control" ? `${run.epochs} iterations.`
          : `validation ${number(run.validation, comparison().digits)}, best of ${run.epochs} epochs: ${run.best_epoch}.`)
        + ` Commit ${String(run.commit ?? "unknown").slice(0, 12)}, ${run.date ?? "no date"}, ${hardware}.`));
      box.append(make("code", run.folder));
    }
    box.append(make("h3", "Settings"));
    const text = make("pre", JSON.stringify(row.settings, null, 2));
    text.tabIndex = 0;
    box.append(text);
    return box;
  }));
}

function missing() {
  const box = byId("missing");
  if (!data.unfinished.length && !data.skipped.length) box.append(make("p", "Nothing: every run folder is complete."));
  for (const [title, items] of [
    ["Unfinished", data.unfinished], ["Skipped", data.skipped.map((each) => `${each.path}: ${each.why}`)],
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
  const hidden = found.tuning ? "tuned hidden layers" : found.hidden.length ? `hidden layers ${found.hidden.join("-")}` : "no hidden layers";
  put(byId("summary"), `${found.name}: ${found.task}, ${found.rows.length} activations, ${seeds} runs, ${hidden}.`);
  put(byId("verdict"), found.verdict);
  put(byId("ranking-note"), [`Mean ± standard deviation over seeds of the test ${found.metric}.`, found.test, found.tuning && `${found.tuning}.`,
    data.skipped.length + data.unfinished.length ? "Some run folders are unfinished or were skipped: see below." : ""].join(" "));
  ranking();
  curves();
  costs();
  galleryChoices();
  watchedChoices();
  runs();
}

async function unzipped(id) {
  const letters = atob(byId(id).textContent.trim());
  const bytes = new Uint8Array(letters.length); // plain loops: there are millions of them
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function unpack() {
  const script = make("script", new TextDecoder().decode(await unzipped("charts")));
  document.head.append(script); // runs at once
  const planes = await unzipped("functions");
  const count = planes.length / 2;
  packed = new Uint16Array(count);
  for (let at = 0; at < count; at += 1) packed[at] = planes[at] | (planes[at + count] << 8);
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
  choices("comparison", data.comparisons.map((each) => each.name), 0);
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
  byId("first").addEventListener("change", (event) => { gallery.first = Math.floor(Number(event.target.value)) || 0; drawGallery(); });
  const file = () => `${data.title}-${comparison().name}`.replace(/[^\p{L}\p{N}]+/gu, "-");
  byId("csv").addEventListener("click", () => save(csv(), "text/csv", `${file()}.csv`));
  for (const button of document.querySelectorAll("button[data-chart]")) {
    const chart = byId(button.dataset.chart);
    button.addEventListener("click", () => Plotly.downloadImage(chart,
      { format: "svg", filename: `${file()}-${chart.id}`, width: chart.clientWidth, height: chart.clientHeight }));
  }
  byId("watched-setting").addEventListener("change", drawWatched);
  const redraw = () => { curves(); costs(); drawGallery(); drawWatched(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 200); });
  everything();
  document.body.dataset.ready = "yes";
}

begin();
