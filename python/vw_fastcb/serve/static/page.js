// The live page. It draws what the server tells once a second, and keeps no more than that: buckets of time, of which
// there are at most some hundred however long it runs.
"use strict";

const $ = (id) => document.getElementById(id);
const state = { buckets: new Map(), epoch: null, width: 1000, colours: new Map() };

// Words and numbers

const whole = new Intl.NumberFormat();
const few = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const small = new Intl.NumberFormat(undefined, { style: "percent", maximumSignificantDigits: 2 });
const share = { format: (part) => (part > 0 && part < 0.001 ? small : percent).format(part) };
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minutes = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const value = (number) => (number === null || number === undefined ? "–" : number.toFixed(state.digits ?? 3));

// Marks that turn the direction of the text around them, which a name may hold, would turn the page's own words, too.
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function harmless(_, told) {
  return typeof told === "string" ? told.replace(TURNING, "\ufffd") : told;
}

function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, one] of Object.entries(attributes)) made.setAttribute(key, one);
  made.append(...content);
  return made;
}

function svg(name, attributes = {}, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, one] of Object.entries(attributes)) made.setAttribute(key, one);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Changes the rows of a table only where they differ, so that what has the focus keeps it.
function fill(body, rows) {
  rows.forEach((row, i) => {
    const old = body.rows[i];
    if (old === undefined) body.append(row);
    else if (old.dataset.key !== row.dataset.key) old.replaceWith(row);
  });
  while (body.rows.length > rows.length) body.rows[body.rows.length - 1].remove();
}

function row(key, ...cells) {
  const made = element("tr", {}, ...cells);
  made.dataset.key = key;
  return made;
}

const cell = (text, kind = "") => element("td", kind ? { class: kind } : {}, text);

function actionName(place) {
  return state.live.names[place] ?? "others";
}

// Colours: the first eight actions that matter have their own, and keep it.
function colour(place) {
  if (!state.colours.has(place) && state.colours.size < 8) state.colours.set(place, state.colours.size);
  return state.colours.get(place) ?? "o";
}

// Charts

class Chart {
  constructor(id, height) {
    this.figure = $(id);
    this.height = height;
    this.svg = svg("svg", { role: "img", tabindex: "0" });
    this.readout = element("p", { class: "readout", "aria-live": "polite" });
    this.legend = element("ul", { class: "legend" });
    this.table = element("table");
    this.details = element("details", {}, element("summary", {}, "As a table"), element("div", { class: "scroll" }, this.table));
    this.figure.append(this.svg, this.readout, this.legend, this.details);
    this.details.addEventListener("toggle", () => this.fillTable());
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.select(null));
    this.svg.addEventListener("keydown", (event) => this.step(event));
    this.selected = null;
    new ResizeObserver(() => schedule()).observe(this.figure);
  }

  // spec: label, columns (the head of the table), xs, cells(i), say(i), draw(plot), low, high, format, keys, times
  show(spec) {
    this.spec = spec;
    const width = Math.max(260, this.figure.clientWidth);
    const plot = { left: 46, right: width - 8, top: 8, bottom: this.height - 22, svg: this.svg };
    const { first, last, low, high } = spec;
    plot.x = (x) => plot.left + ((x - first) / (last - first || 1)) * (plot.right - plot.left);
    const scale = spec.isLogarithmic ? Math.log : (y) => y;
    const height = (plot.bottom - plot.top) / (scale(high) - scale(low) || 1);
    plot.y = (y) => plot.bottom - (scale(Math.min(Math.max(y, low), high)) - scale(low)) * height;
    this.plot = plot;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.svg.setAttribute("aria-label", spec.label);
    this.svg.replaceChildren();
    if (!spec.xs.length) {
      this.svg.append(svg("text", { x: width / 2, y: this.height / 2, class: "empty", "text-anchor": "middle" }, spec.empty));
    } else {
      this.axes(spec, width);
      spec.draw(plot);
    }
    this.cursor = svg("line", { class: "cursor", y1: plot.top, y2: plot.bottom, visibility: "hidden" });
    this.svg.append(this.cursor);
    if (this.selected !== null) this.select(Math.min(this.selected, spec.xs.length - 1), false);
    this.legend.replaceChildren(
      ...(spec.keys ?? []).map(([kind, name]) => element("li", {}, element("span", { class: `key b${kind}`, "aria-hidden": "true" }), name)),
    );
    if (this.details.open) this.fillTable();
  }

  axes(spec, width) {
    const { plot } = this;
    for (const y of spec.isLogarithmic ? powers(spec.low, spec.high) : ticks(spec.low, spec.high, 4)) {
      this.svg.append(svg("line", { class: "axis", x1: plot.left, x2: plot.right, y1: plot.y(y), y2: plot.y(y) }));
      this.svg.append(svg("text", { class: "tick", x: plot.left - 5, y: plot.y(y) + 4, "text-anchor": "end" }, spec.format(y)));
    }
    const count = Math.max(2, Math.floor(width / (40 + 7 * spec.when(spec.first).length)));
    for (let i = 0; i < count; i += 1) {
      const x = spec.first + ((i + 0.5) / count) * (spec.last - spec.first);
      this.svg.append(svg("text", { class: "tick", x: plot.x(x), y: this.height - 6, "text-anchor": "middle" }, spec.when(x)));
    }
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    if (!this.spec?.xs.length || !box.width) return;
    const at = ((event.clientX - box.left) / box.width) * this.svg.viewBox.baseVal.width;
    let nearest = 0;
    this.spec.xs.forEach((x, i) => {
      if (Math.abs(this.plot.x(x) - at) < Math.abs(this.plot.x(this.spec.xs[nearest]) - at)) nearest = i;
    });
    this.select(nearest);
  }

  step(event) {
    const end = (this.spec?.xs.length ?? 0) - 1;
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") this.select(null);
    if (!(event.key in moves) || end < 0) return;
    event.preventDefault();
    this.select(Math.min(end, Math.max(0, (this.selected ?? end + (moves[event.key] < 0 ? 1 : 0)) + moves[event.key])));
  }

  select(i, says = true) {
    this.selected = i;
    const is = i !== null && i >= 0 && this.spec?.xs.length;
    this.cursor?.setAttribute("visibility", is ? "visible" : "hidden");
    if (is) for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.plot.x(this.spec.xs[i]));
    if (says) this.readout.textContent = is ? this.spec.say(i) : "";
  }

  fillTable() {
    if (!this.details.open || !this.spec) return;
    const { spec } = this;
    const head = element("thead", {}, element("tr", {}, ...spec.columns.map((name) => element("th", { scope: "col" }, name))));
    const body = element("tbody", {}, ...spec.xs.map((_, i) => element("tr", {}, ...spec.cells(i).map((text) => cell(text)))));
    this.table.replaceChildren(element("caption", {}, spec.label), head, body);
  }
}

function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let y = Math.ceil(low / step) * step; y <= high + step * 1e-9; y += step) found.push(y);
  return found;
}

function powers(low, high) {
  const found = [];
  for (let k = Math.ceil(Math.log10(low) - 1e-9); 10 ** k <= high * 1.001; k += 1) found.push(10 ** k);
  return found;
}

function path(points, plot) {
  let made = "";
  let isDown = false;
  for (const [x, y] of points) {
    if (y === null || y === undefined) isDown = false;
    else {
      made += `${isDown ? "L" : "M"}${plot.x(x).toFixed(1)} ${plot.y(y).toFixed(1)}${isDown ? "" : "h.01"}`;
      isDown = true;
    }
  }
  return made;
}

function band(points, plot) {
  const known = points.filter(([, low]) => low !== null);
  if (known.length < 2) return "";
  const over = known.map(([x, , high]) => `${plot.x(x).toFixed(1)} ${plot.y(high).toFixed(1)}`);
  const under = known.map(([x, low]) => `${plot.x(x).toFixed(1)} ${plot.y(low).toFixed(1)}`).reverse();
  return `M${over.join("L")}L${under.join("L")}Z`;
}

function whenFor(first, last) {
  const span = last - first;
  const isOneDay = new Date(first).toDateString() === new Date(last).toDateString();
  if (span < 10 * 60e3) return (x) => clock.format(x);
  if (span < 36 * 3600e3 && isOneDay) return (x) => minutes.format(x);
  return (x) => (span < 5 * 86400e3 ? `${day.format(x)} ${minutes.format(x)}` : day.format(x));
}

function marksOf(plot, spec) {
  for (const mark of state.live.marks ?? []) {
    if (mark.time < spec.first) continue;
    const line = svg("line", { class: "mark", x1: plot.x(mark.time), x2: plot.x(mark.time), y1: plot.top, y2: plot.bottom });
    line.append(svg("title", {}, `${moment.format(mark.time)}: ${mark.what}`));
    plot.svg.append(line);
  }
}

// What the server tells

function take(told) {
  const { live, ...others } = told;
  Object.assign(state, others);
  if (live.epoch !== state.epoch) {
    state.buckets.clear();
    state.epoch = live.epoch;
  }
  for (const [index, bucket] of Object.entries(live.buckets ?? {})) state.buckets.set(Number(index), bucket);
  state.live = { names: [], constants: [], recent: [], marks: [], ...live, buckets: undefined };
  schedule();
}

let isScheduled = false;
function schedule() {
  if (isScheduled || document.hidden || !state.live) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    render();
  });
}

// Drawing everything

let charts;
function render() {
  $("content").hidden = false;
  charts ??= {
    reward: new Chart("reward", 300),
    shares: new Chart("shares", 200),
    exploration: new Chart("exploration", 200),
    traffic: new Chart("traffic", 200),
    latency: new Chart("latency", 200),
  };
  const { settings } = state.about;
  const [low, high] = settings.reward_range ?? settings.cost_range ?? [0, 1];
  state.noun = settings.reward_range ? "reward" : "cost";
  state.digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(high - low))));
  state.range = [low, high];
  const name = state.about.journal;
  $("about").textContent = `${name}${state.about.is_read_only ? ", read only" : ""}`;
  document.title = `${name} – fastcb`;
  $("paths").hidden = state.about.is_read_only;
  notices();
  reading();
  cards();
  const plays = totals();
  const order = plays.map((_, place) => place).sort((a, b) => plays[b] - plays[a]);
  order.slice(0, 8).forEach(colour);
  const frame = timeFrame();
  rewardChart(frame, order);
  policies(order);
  shareChart(frame, order, plays);
  explorationChart(frame);
  trafficChart(frame);
  latencyChart();
  join();
  generations();
  recent();
  letters();
}

function notices() {
  const { status, live } = state;
  const found = [state.problem, live.problem, ...(status?.problems ?? [])].filter(Boolean).map((one) => [one, "notice"]);
  found.push(...(status?.warnings ?? []).map((one) => [one, "notice mild"]));
  if (status && status.learner === null) found.push(["No process learns now; decisions go on with the newest checkpoint.", "notice mild"]);
  const key = JSON.stringify(found);
  if ($("notices").dataset.key === key) return;
  $("notices").dataset.key = key;
  $("notices").replaceChildren(...found.map(([text, kind]) => element("p", { class: kind }, text)));
}

function reading() {
  const { live } = state;
  const isStarting = live.epoch === undefined && !live.problem;
  $("reading").hidden = live.is_complete === true || Boolean(live.problem);
  if (isStarting) $("progress").removeAttribute("value");
  else $("progress").value = live.read ?? 0;
  $("share").textContent = isStarting ? "" : `${share.format(live.read ?? 0)}; until then, the newest records are shown`;
}

function totals() {
  const sums = state.live.names.map(() => 0);
  for (const bucket of state.buckets.values()) {
    bucket[1].forEach((count, place) => {
      sums[place] = (sums[place] ?? 0) + count;
    });
  }
  return sums;
}

function timeFrame() {
  const { since, width } = state.live;
  const indices = [...state.buckets.keys()].sort((a, b) => a - b);
  const first = since?.time ?? 0;
  const end = indices.length ? first + (indices.at(-1) + 1) * width : first + 1;
  const xs = indices.map((i) => Math.min(first + (i + 1) * width, Math.max(end, state.live.time ?? 0)));
  return { indices, xs, first, last: end, when: whenFor(first, end), buckets: indices.map((i) => state.buckets.get(i)) };
}

function card(term, number, extra, kind = "") {
  const shown = element("dd", {}, String(number));
  if (extra) shown.append(element("small", {}, extra));
  return element("div", kind ? { class: kind } : {}, element("dt", {}, term), shown);
}

// Of a journal at rest only the page knows that waits are over: no record says so.
function pending() {
  return state.live.is_complete ? state.live.open : state.status.open;
}

function cards() {
  const { status, live, noun, latency } = state;
  if (!status) return;
  const { counts } = status;
  const played = live.played;
  const newest = timeFrame().buckets.filter((bucket) => bucket[0]).at(-1);
  const last = [...(latency ?? [])].reverse().find(Boolean);
  const made = [
    card("Decisions", whole.format(counts.decisions), `${whole.format(counts.learned + counts.learned_defaults)} learned`),
    card(`Mean ${noun}`, played ? value(played[0]) : "–", played ? `95%: ${value(played[1])} to ${value(played[2])}` : "none is final yet"),
    card("Exploration", newest ? share.format(newest[2]) : "–", live.gamma === null || live.gamma === undefined ? "not the likeliest" : `gamma ${few.format(live.gamma)}`),
    card("Pending", whole.format(pending()), "within their wait"),
    card("Late", whole.format(counts.late), "after the wait", counts.late ? "warn" : ""),
    card("Orphans", whole.format(counts.orphans), "no such decision", counts.orphans ? "warn" : ""),
    card("Repeated", whole.format(counts.repeated), "duplicate rewards"),
    card("Dead letters", whole.format(status.dead_letters), "could not be learned", status.dead_letters ? "bad" : ""),
    card("Lag", whole.format(status.lag), "records not applied", status.lag > 10000 ? "warn" : ""),
    card("Generation", whole.format(status.generation), status.role === "learner" ? "this process learns" : `decides; ${status.learner ?? "nobody"} learns`),
  ];
  if (!state.about.is_read_only) {
    made.push(card("Latency", last ? `${few.format(last[0])} ms` : "–", last ? `99th: ${few.format(last[1])} ms` : "no decision now"));
  }
  $("cards").replaceChildren(...made);
}

function rewardChart(frame, order) {
  const { noun, range } = state;
  const shown = order.filter((place) => state.live.constants[place]).slice(0, 8);
  const at = (bucket, which) => bucket[6]?.[which] ?? null;
  const seen = [];
  frame.buckets.forEach((bucket, i) => {
    if (bucket[4] !== null && bucket[3] >= 10 && bucket[5] >= bucket[0]) seen.push(bucket[4]);
    const played = at(bucket, 0);
    if (played) seen.push(played[0]);
    if (played && i > frame.buckets.length / 4) seen.push(played[1], played[2]);
    for (const place of shown) if (i > frame.buckets.length / 4) seen.push(...[at(bucket, place + 1)?.[0] ?? []].flat());
  });
  const least = Math.min(...seen, range[1]);
  const most = Math.max(...seen, range[0]);
  const room = (most - least) * 0.12 || (range[1] - range[0]) * 0.05;
  const low = seen.length ? Math.max(range[0], least - room) : range[0];
  const high = seen.length ? Math.min(range[1], most + room) : range[1];
  const wait = state.about.settings.wait;
  const fallback = state.about.settings[`default_${noun}`];
  $("reward-note").textContent =
    `The line is the mean ${noun} of what was played since ${state.live.since ? moment.format(state.live.since.time) : "the start"}` +
    `, with an interval that holds at all times at once. ${noun === "cost" ? "Lower is better. " : ""}` +
    `An outcome counts when it and all before it are final, at the latest when its wait (${wait}) is over` +
    `${fallback === null || fallback === undefined ? `; decisions without a ${noun} do not count` : ""}. ` +
    `Dots are the means of ${span(state.live.width)} each, hollow while outcomes are pending` +
    `${fallback === null || fallback === undefined ? "" : ` and counted as ${fallback}`}.`;
  const now = state.live.played;
  charts.reward.show({
    ...frame,
    low,
    high,
    format: value,
    empty: `No decision has been made yet.`,
    label: `Mean ${noun} over time. ${now ? `Now ${value(now[0])}, 95% interval ${value(now[1])} to ${value(now[2])}.` : ""}`,
    keys: [["m", "what was played"], ...shown.map((place) => [colour(place), `always ${actionName(place)}`])],
    columns: ["Time", `Mean ${noun} of the bucket`, "So far", "95% interval", ...shown.map((place) => `Always ${actionName(place)}`)],
    cells: (i) => {
      const bucket = frame.buckets[i];
      const played = at(bucket, 0);
      const constants = shown.map((place) => value(at(bucket, place + 1)?.[0]));
      return [moment.format(frame.xs[i]), value(bucket[4]), value(played?.[0]), played ? `${value(played[1])} to ${value(played[2])}` : "–", ...constants];
    },
    say: (i) => {
      const bucket = frame.buckets[i];
      const played = at(bucket, 0);
      const sofar = played ? `so far ${value(played[0])} (${value(played[1])} to ${value(played[2])})` : "not final yet";
      return `${moment.format(frame.xs[i])}: mean ${value(bucket[4])}, ${sofar}`;
    },
    draw(plot) {
      plot.svg.append(svg("path", { class: "band", d: band(frame.xs.map((x, i) => [x, at(frame.buckets[i], 0)?.[1] ?? null, at(frame.buckets[i], 0)?.[2]]), plot) }));
      for (const place of [...shown].reverse()) {
        const points = frame.xs.map((x, i) => [x, at(frame.buckets[i], place + 1)?.[0] ?? null]).filter(([, y]) => y !== null);
        plot.svg.append(svg("path", { class: `line s${colour(place)}`, d: path(points, plot) }));
      }
      frame.buckets.forEach((bucket, i) => {
        if (bucket[4] === null || bucket[4] < low || bucket[4] > high) return;
        const isOpen = bucket[5] < bucket[0];
        plot.svg.append(svg("circle", { class: isOpen ? "open" : "dot", cx: plot.x(frame.xs[i]), cy: plot.y(bucket[4]), r: 2.4 }));
      });
      const points = frame.xs.map((x, i) => [x, at(frame.buckets[i], 0)?.[0]]).filter(([, y]) => y !== undefined);
      plot.svg.append(svg("path", { class: "line main", d: path(points, plot) }));
      marksOf(plot, frame);
    },
  });
}

function span(width) {
  const seconds = (width ?? 1000) / 1000;
  if (seconds < 120) return `${few.format(seconds)} s`;
  return seconds < 7200 ? `${few.format(seconds / 60)} min` : `${few.format(seconds / 3600)} h`;
}

function policies(order) {
  const { live, noun } = state;
  const found = order.filter((place) => live.constants[place]).map((place) => [colour(place), `always ${actionName(place)}`, live.constants[place]]);
  const rank = ([, , [mean]]) => (mean === null ? Infinity : noun === "cost" ? mean : -mean);
  found.sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
  if (live.played) found.unshift(["m", "what was played", live.played]);
  const low = Math.min(...found.map(([, , one]) => one[1]));
  const high = Math.max(...found.map(([, , one]) => one[2]));
  const place = (one) => 4 + ((one - low) / (high - low || 1)) * 192;
  const rows = found.map(([kind, name, [mean, least, most, events]]) => {
    const picture = svg("svg", { class: "interval", viewBox: "0 0 200 18", preserveAspectRatio: "none", "aria-hidden": "true" });
    picture.append(svg("line", { class: `s${kind}`, x1: place(least), x2: Math.max(place(most), place(least) + 1), y1: 9, y2: 9, "stroke-width": 3 }));
    if (mean !== null) picture.append(svg("line", { class: `s${kind}`, x1: place(mean), x2: place(mean), y1: 1, y2: 17, "stroke-width": 3 }));
    const numbers = element("span", { class: "numbers" }, `${value(least)} to ${value(most)}`);
    const head = element("th", { scope: "row", title: `${whole.format(events)} events` }, element("span", { class: `key b${kind}`, "aria-hidden": "true" }), name);
    const shown = mean === null ? element("td", { class: "n", title: "It was played too rarely to tell." }, "?") : cell(value(mean), "n");
    return row(`${kind}${name}${mean}${least}${most}${low}${high}`, head, shown, element("td", {}, picture, numbers));
  });
  if (!rows.length) rows.push(row("none", element("td", { colspan: 3, class: "soft" }, `No ${noun} is final yet.`)));
  fill($("policies").tBodies[0], rows);
}

function shareChart(frame, order, plays) {
  const total = plays.reduce((sum, one) => sum + one, 0);
  const shown = order.filter((place) => plays[place]).slice(0, 7);
  const rest = (bucket) => bucket[0] - shown.reduce((sum, place) => sum + (bucket[1][place] ?? 0), 0);
  const hasRest = frame.buckets.some((bucket) => rest(bucket) > 0);
  const parts = (bucket) => [...shown.map((place) => [colour(place), bucket[1][place] ?? 0]), ["o", hasRest ? rest(bucket) : 0]];
  const names = [...shown.map(actionName), ...(hasRest ? ["others"] : [])];
  const text = (bucket) => names.map((name, k) => `${name} ${share.format(parts(bucket)[k][1] / (bucket[0] || 1))}`);
  charts.shares.show({
    ...frame,
    low: 0,
    high: 1,
    format: (y) => share.format(y),
    empty: "No decision has been made yet.",
    label: `Share of each action over time. In all: ${shown.map((place) => `${actionName(place)} ${share.format(plays[place] / (total || 1))}`).join(", ")}.`,
    keys: [...shown.map((place) => [colour(place), actionName(place)]), ...(hasRest ? [["o", "others"]] : [])],
    columns: ["Time", "Decisions", ...names],
    cells: (i) => [moment.format(frame.xs[i]), whole.format(frame.buckets[i][0]), ...names.map((_, k) => share.format(parts(frame.buckets[i])[k][1] / (frame.buckets[i][0] || 1)))],
    say: (i) => `${moment.format(frame.xs[i])}: ${text(frame.buckets[i]).join(", ")}`,
    draw(plot) {
      frame.buckets.forEach((bucket, i) => {
        const right = plot.x(frame.first + (frame.indices[i] + 1) * state.live.width);
        const left = plot.x(frame.first + frame.indices[i] * state.live.width);
        let under = 0;
        for (const [kind, count] of parts(bucket)) {
          const part = count / (bucket[0] || 1);
          if (part > 0) plot.svg.append(svg("rect", { class: `f${kind}`, x: left, width: Math.max(0.5, right - left + 0.3), y: plot.y(under + part), height: plot.y(under) - plot.y(under + part) }));
          under += part;
        }
      });
      marksOf(plot, frame);
    },
  });
}

function simple(chart, frame, spec) {
  const { get, format, noun, empty } = spec;
  const seen = frame.buckets.map(get).filter((one) => one !== null && one !== undefined);
  const { isLogarithmic } = spec;
  const least = 10 ** Math.floor(Math.log10(Math.max(Math.min(...seen, 0.1), 1e-6)));
  chart.show({
    ...frame,
    isLogarithmic,
    low: isLogarithmic ? least : 0,
    high: isLogarithmic ? 1 : Math.max(...seen, 0) * 1.08 || 1,
    format,
    empty,
    label: `${noun} over time. ${frame.buckets.length ? `Newest: ${format(get(frame.buckets.at(-1)) ?? 0)}.` : ""}`,
    columns: ["Time", noun],
    cells: (i) => [moment.format(frame.xs[i]), format(get(frame.buckets[i]) ?? 0)],
    say: (i) => `${moment.format(frame.xs[i])}: ${format(get(frame.buckets[i]) ?? 0)}`,
    draw(plot) {
      plot.svg.append(svg("path", { class: "line s0", d: path(frame.xs.map((x, i) => [x, get(frame.buckets[i])]), plot) }));
      marksOf(plot, frame);
    },
  });
}

function explorationChart(frame) {
  simple(charts.exploration, frame, {
    get: (bucket) => bucket[2],
    format: (y) => share.format(y),
    isLogarithmic: true,
    noun: "Probability of other actions than the likeliest",
    empty: "No decision has been made yet.",
  });
}

function trafficChart(all) {
  // The newest stretch of time is not over.
  const cut = (list) => (list.length > 2 ? list.slice(0, -1) : list);
  const frame = { ...all, xs: cut(all.xs), buckets: cut(all.buckets), indices: cut(all.indices) };
  simple(charts.traffic, frame, { get: (bucket) => bucket[7], format: (y) => few.format(y), noun: "Decisions per second", empty: "No decision has been made yet." });
}

function latencyChart() {
  $("s-latency").hidden = state.about.is_read_only;
  if (state.about.is_read_only) return;
  const all = state.latency ?? [];
  const now = Date.now();
  const seconds = all.map((_, i) => now - (all.length - 1 - i) * 1000);
  const known = all.map((one, i) => [seconds[i], one]).filter(([, one]) => one);
  const most = Math.max(...known.map(([, one]) => one[1]), 0.001);
  const ms = (y) => `${few.format(y)} ms`;
  charts.latency.show({
    first: seconds[0] ?? now - 1,
    last: now,
    when: whenFor(now - 1000, now),
    xs: known.map(([x]) => x),
    low: 0,
    high: most * 1.1,
    format: ms,
    empty: "No decision was asked for in the last two minutes.",
    label: `Latency of the last two minutes. ${known.length ? `Newest: median ${ms(known.at(-1)[1][0])}, 99th percentile ${ms(known.at(-1)[1][1])}.` : ""}`,
    keys: [["0", "median"], ["1", "99th percentile"]],
    columns: ["Time", "Median", "99th percentile", "Decisions"],
    cells: (i) => [clock.format(known[i][0]), ms(known[i][1][0]), ms(known[i][1][1]), whole.format(known[i][1][2])],
    say: (i) => `${clock.format(known[i][0])}: median ${ms(known[i][1][0])}, 99th percentile ${ms(known[i][1][1])}`,
    draw(plot) {
      for (const which of [0, 1]) {
        const points = seconds.map((x, i) => [x, all[i]?.[which]]);
        plot.svg.append(svg("path", { class: `line s${which}`, d: path(points, plot) }));
      }
    },
  });
}

function join() {
  const { status } = state;
  if (!status) return;
  const { counts } = status;
  const lines = [
    ["Rewards received", counts.rewards],
    ["Learned from a reward", counts.learned],
    ["Learned as the default, because no reward came", counts.learned_defaults],
    ["Pending: decisions within their wait", pending()],
    ["Early: rewards that wait for their decision", status.early],
    ["Late: came when the wait was over", counts.late],
    ["Repeated: duplicates of a first reward", counts.repeated],
    ["Orphans: their decision never came", counts.orphans],
    ["Without a reward, and nothing learned", counts.unrewarded],
    ["Never activated", counts.unactivated],
    ["Rejected: could not be learned", counts.rejected],
    ["Dead letters", status.dead_letters],
    ["Lag: records that the model here has not seen", status.lag],
    ["Records in the journal", status.position],
  ];
  fill($("join").tBodies[0], lines.map(([name, count]) => row(name + count, element("th", { scope: "row" }, name), cell(whole.format(count), "n"))));
}

function generations() {
  const may = state.about.can_roll_back;
  $("generations-note").textContent = may
    ? "Rolling back goes on with an earlier model."
    : state.about.is_read_only
      ? "This page only shows; fastcb serve with a token can roll back."
      : "To roll back from here, start the server with --token-file.";
  const rows = (state.generations ?? []).map((one, i) => {
    const last = element("td", { class: "n" });
    if (i === 0) last.append(element("span", { class: "soft" }, "newest"));
    else if (may) {
      const button = element("button", { type: "button", "aria-label": `Roll back to generation ${one.generation}` }, "Roll back");
      button.addEventListener("click", () => askRollback(one.generation));
      last.append(button);
    }
    return row(`${one.generation}${i === 0}${may}`, cell(whole.format(one.generation), "n"), cell(moment.format(one.time)), cell(whole.format(one.events), "n"), last);
  });
  if (!rows.length) rows.push(row("none", element("td", { colspan: 4, class: "soft" }, "No checkpoint has been made yet.")));
  fill($("generations").tBodies[0], rows);
}

function recent() {
  const rows = state.live.recent.map((one) => {
    const button = element("button", { type: "button", class: "event", title: one.event_id, "aria-label": `What drove ${one.event_id}` }, one.event_id);
    button.addEventListener("click", () => explain(one));
    const outcome = one.value !== null ? value(one.value) : one.is_final ? "none" : "pending";
    return row(`${one.position}${outcome}`, element("td", {}, button), cell(clock.format(one.time), "wide"), cell(one.name ?? actionName(one.place)), cell(share.format(one.probability), "n"), cell(outcome, one.value === null ? "n soft" : "n"));
  });
  if (!rows.length) rows.push(row("none", element("td", { colspan: 5, class: "soft" }, "No decision has been made yet.")));
  fill($("recent").tBodies[0], rows);
}

function letters() {
  const found = state.letters ?? [];
  $("s-letters").hidden = !found.length;
  fill($("letters").tBodies[0], found.map((one) => row(`${one.position}`, cell(whole.format(one.position), "n"), cell(one.reason))));
}

// What drove a decision

async function explain(one) {
  $("why-title").textContent = `What drove ${one.event_id}`;
  $("why-body").replaceChildren(element("p", { class: "soft" }, "Asking…"));
  $("why").showModal();
  try {
    const answer = await fetch(`/page/decision?position=${one.position}`);
    const told = JSON.parse(await answer.text(), harmless);
    if (!answer.ok) throw new Error(told.error.message);
    $("why-body").replaceChildren(...explained(told));
  } catch (problem) {
    $("why-body").replaceChildren(element("p", { role: "alert" }, String(problem.message)));
  }
}

function explained(told) {
  const better = (a, b) => (told.noun === "cost" ? told.predictions[a] - told.predictions[b] : told.predictions[b] - told.predictions[a]);
  const others = told.actions.map((_, i) => i).filter((i) => i !== told.action).sort(better);
  const shown = [told.action, ...others.slice(0, window.innerWidth < 600 ? 1 : 3)];
  const reach = Math.max(...told.features.flatMap((one) => shown.map((a) => Math.abs(one.adds[a]))), ...shown.map((a) => Math.abs(told.intercepts[a])), 1e-12);
  const adds = (number) => {
    const bar = element("i", { class: number < 0 ? "down" : "up", "aria-hidden": "true" });
    const width = (Math.abs(number) / reach) * 50;
    bar.style.width = `${width}%`;
    bar.style.left = `${number < 0 ? 50 - width : 50}%`;
    return element("td", { class: "adds n" }, bar, element("span", {}, `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(3)}`));
  };
  const head = element("tr", {}, element("th", { scope: "col" }, "Feature"), ...shown.map((a) => element("th", { scope: "col", class: a === told.action ? "n chosen" : "n" }, told.actions[a])));
  const line = (name, cells) => element("tr", {}, element("th", { scope: "row" }, name), ...cells);
  const plain = (texts) => texts.map((text) => cell(text, "n"));
  const body = element(
    "tbody",
    {},
    ...told.features.map((one) => line(one.name, shown.map((a) => adds(one.adds[a])))),
    line("intercept", shown.map((a) => adds(told.intercepts[a]))),
    line("logit, the sum", plain(shown.map((a) => told.logits[a].toFixed(3)))),
    line(`predicted ${told.noun}`, plain(shown.map((a) => value(told.predictions[a])))),
    line("probability when it was drawn", plain(shown.map((a) => share.format(told.pmf[a])))),
  );
  const caption = `How much each feature adds to the predicted ${told.noun}, for the action that was played and ${shown.length > 2 ? "the best others" : "the best other one"}, according to the model of the newest checkpoint`;
  const context = Array.isArray(told.context) ? told.context.join(", ") : Object.entries(told.context).map(([name, one]) => `${name} = ${one}`).join(", ");
  return [
    element("p", { class: "facts" }, `${moment.format(told.time)}. Played: ${told.actions[told.action]}, with probability ${share.format(told.pmf[told.action])}.`),
    element("p", { class: "facts soft" }, `Context: ${context || "empty"}`),
    element("div", { class: "scroll" }, element("table", {}, element("caption", {}, caption), element("thead", {}, head), body)),
  ];
}

// Rolling back

function askRollback(generation) {
  $("ask-title").textContent = `Roll back to generation ${generation}?`;
  $("ask-refused").textContent = "";
  $("ask").dataset.generation = generation;
  $("ask").showModal();
}

async function post(where, body) {
  const answer = await fetch(where, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.json()).error.message);
}

$("ask-yes").addEventListener("click", async (event) => {
  event.preventDefault();
  try {
    await post("/page/rollback", { generation: Number($("ask").dataset.generation) });
    $("ask").close();
  } catch (problem) {
    $("ask-refused").textContent = problem.message;
  }
});

// Connecting

let source;
function say(kind, text) {
  $("connection").className = kind;
  if ($("said").textContent !== text) $("said").textContent = text;
}

function connect() {
  source?.close();
  source = new EventSource("/page/events");
  source.onmessage = (event) => {
    say("is-live", "Live");
    $("login").hidden = true;
    take(JSON.parse(event.data, harmless));
  };
  source.onerror = async () => {
    say("is-lost", "Lost the server; trying again");
    if (source.readyState !== EventSource.CLOSED) return;
    const stop = new AbortController();
    const status = await fetch("/page/events", { signal: stop.signal }).then((answer) => answer.status, () => 0);
    stop.abort();
    if (status === 401) {
      say("", "Needs the token");
      $("content").hidden = true;
      $("login").hidden = false;
      $("token").focus();
    } else setTimeout(connect, 2000);
  };
}

$("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("refused").textContent = "";
  try {
    await post("/page/session", { token: $("token").value });
    $("token").value = "";
    connect();
  } catch (problem) {
    $("refused").textContent = problem.message;
  }
});

// Dark or light: as the system has it, unless somebody said otherwise.

function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  const isDark = (name ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  $("theme").textContent = isDark ? "Light" : "Dark";
  $("theme").setAttribute("aria-label", isDark ? "Use light colours" : "Use dark colours");
  $("theme").dataset.next = isDark ? "light" : "dark";
}

$("theme").addEventListener("click", () => {
  const next = $("theme").dataset.next;
  localStorage.setItem("fastcb-theme", next);
  theme(next);
});
theme(localStorage.getItem("fastcb-theme"));
document.addEventListener("visibilitychange", schedule);
connect();
