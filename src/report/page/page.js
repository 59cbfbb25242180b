// Draws the curves of #data, and nothing else: every text of a run goes through textContent.
(() => {
  "use strict";
  const {runs} = JSON.parse(document.getElementById("data").textContent);
  const alone = runs.length === 1;
  const dashes = [null, [7, 4], [2, 3], [10, 3, 2, 3]];

  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return {
      colors: Array.from({length: 8}, (_, i) => read(`--series-${i}`)),
      axis: read("--line-strong"),
      grid: read("--line"),
    };
  };
  const colorOf = (index) => theme().colors[index % 8];

  /// Five significant digits.
  const figure = (value) => {
    if (value === null || Number.isNaN(value)) return "NaN";
    const size = Math.abs(value);
    if (size >= 1e4 && size < 1e15) return Math.round(value).toLocaleString("en");
    return value.toPrecision(5).replace("e+", "e");
  };
  const tick = (value) => {
    const size = Math.abs(value);
    if (size >= 1e4 && size < 1e15) {
      const [unit, name] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : [1e3, "k"];
      return `${+(value / unit).toPrecision(4)}${name}`;
    }
    if (size !== 0 && size < 1e-4) return value.toExponential(1).replace(".0e", "e");
    return `${+value.toPrecision(4)}`;
  };

  const element = (name, properties = {}, children = []) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  /// The step as a number of epochs, by the last steps of epochs; null where the run has ended none.
  const epochsOf = ({epochs: {x, y}}) => {
    if (x.length === 0) return null;
    const steps = [0, ...x], numbers = [y[0] - 1, ...y];
    return (step) => {
      let low = 0, high = steps.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (steps[middle] < step) low = middle; else high = middle;
      }
      const part = (step - steps[low]) / (steps[high] - steps[low] || 1);
      return numbers[low] + part * (numbers[high] - numbers[low]);
    };
  };
  const toEpochs = runs.map(epochsOf);

  /// What is drawn together: {title, kind, curves}, in the order of the runs' curves.
  const groups = new Map();
  const kinds = ["loss", "metric", "gradient_norm", "learning_rate", "examples_per_second", "waiting", "state"];
  runs.forEach((run, index) => {
    for (const curve of run.curves) {
      const key = `${kinds.indexOf(curve.chart)} ${curve.title}`;
      if (!groups.has(key)) groups.set(key, {title: curve.title, kind: curve.chart, curves: []});
      groups.get(key).curves.push({...curve, run: index});
    }
  });
  const ordered = [...groups.values()].sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));

  /// How each curve of a chart looks: alone by what it is of, beside other runs by the run.
  const look = (curves) => {
    const series = [...new Set(curves.map((curve) => curve.series))];
    const hasEpochs = (one) => curves.some((other) =>
        other.run === one.run && other.series === one.series && other.by === "epoch" && other.y.length > 1);
    for (const curve of curves) {
      const place = series.indexOf(curve.series);
      const name = curve.series + (curve.by === "epoch" && curve.series === "training" ? ", whole epochs" : "");
      curve.color = alone ? place : curve.run;
      curve.pattern = alone ? null : dashes[place % dashes.length];
      curve.label = alone ? name : series.length > 1 || curve.by === "epoch" ? `${runs[curve.run].name}: ${name}`
                                                                             : runs[curve.run].name;
      curve.faint = curve.by === "step" && hasEpochs(curve);
      // Of several runs the steps tell enough of training.
      curve.shown = alone || !(curve.by === "epoch" && curve.series === "training");
    }
  };

  const numberAt = (xs, x) => {
    let low = 0, high = xs.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (xs[middle] <= x) low = middle; else high = middle;
    }
    return Math.abs(xs[high] - x) < Math.abs(xs[low] - x) ? high : low;
  };

  /// One row for each x of any curve, as dygraphs wants them: null where a curve has no point, NaN where it breaks.
  const table = (curves) => {
    const xs = [...new Set(curves.flatMap((curve) => curve.xs))].sort((a, b) => a - b);
    const rowOf = new Map(xs.map((x, row) => [x, row]));
    const rows = xs.map((x) => [x, ...curves.map(() => null)]);
    curves.forEach((curve, column) => {
      curve.xs.forEach((x, i) => { rows[rowOf.get(x)][column + 1] = curve.y[i] === null ? NaN : curve.y[i]; });
    });
    return rows;
  };

  // Fingers scroll the page; a tap shows values as a mouse does.
  const {touchstart, touchmove, touchend, ...interaction} = Dygraph.defaultInteractionModel;

  class Chart {
    constructor(group, parent) {
      this.curves = group.curves;
      look(this.curves);
      this.plot = element("div", {className: "plot"});
      this.legend = element("ul", {className: "legend"});
      const heading = element("h3", {textContent: group.title});
      const title = element("div", {className: "title"}, [heading]);
      this.log = element("input", {type: "checkbox"});
      if (this.curves.every((curve) => curve.y.every((y) => y === null || y > 0)) && group.kind !== "waiting") {
        title.append(element("label", {}, [this.log, " log"]));
        this.log.addEventListener("change", () => this.draw());
      }
      parent.append(element("article", {}, [title, this.plot, this.legend]));
      for (const curve of this.curves) this.addToLegend(curve);
    }

    addToLegend(curve) {
      const swatch = element("span", {className: "swatch"});
      curve.value = element("span", {className: "value"});
      curve.button = element("button", {type: "button"}, [swatch, curve.label, curve.value]);
      curve.swatch = swatch;
      curve.button.addEventListener("click", () => {
        curve.shown = !curve.shown;
        this.draw();
      });
      this.legend.append(element("li", {}, [curve.button]));
    }

    draw(over = this.over) {
      this.over = over;
      for (const curve of this.curves) {
        const convert = toEpochs[curve.run];
        curve.xs = over === "steps" ? curve.x : convert ? curve.x.map(convert) : [];
        curve.button.setAttribute("aria-pressed", curve.shown);
        curve.swatch.style.borderTopColor = colorOf(curve.color);
        curve.swatch.style.borderTopStyle = curve.pattern ? "dashed" : "solid";
        curve.swatch.style.opacity = curve.faint ? 0.5 : 1;
      }
      this.tell(null);
      const drawn = this.curves.filter((curve) => curve.shown && curve.xs.length > 0);
      if (this.graph) this.graph.destroy();
      this.graph = null;
      this.plot.replaceChildren();
      if (!drawn.some((curve) => curve.y.some((y) => y !== null))) {
        this.plot.append(element("p", {
          className: "absent",
          textContent: drawn.length === 0 ? "Nothing to draw here." : "No value is a finite number.",
        }));
        return;
      }
      this.graph = new Dygraph(this.plot, table(drawn), this.options(drawn));
    }

    options(drawn) {
      const colors = theme();
      const labels = drawn.map((_, i) => `curve ${i}`);  // never shown: dygraphs would take them for HTML
      const series = {};
      drawn.forEach((curve, i) => {
        series[labels[i]] = {
          strokeWidth: curve.faint ? 1 : 2,
          strokePattern: curve.pattern,
          drawPoints: curve.y.length <= 40,
          pointSize: 2.5,
        };
      });
      const xs = drawn.flatMap((curve) => [curve.xs[0], curve.xs[curve.xs.length - 1]]);
      const first = Math.min(...xs), last = Math.max(...xs);
      const rgba = (curve) => {
        const {r, g, b} = Dygraph.toRGB_(colors.colors[curve.color % 8]);
        return `rgba(${r},${g},${b},${curve.faint ? 0.5 : 1})`;
      };
      return {
        labels: ["x", ...labels],
        series,
        colors: drawn.map(rgba),
        legend: "never",
        connectSeparatedPoints: true,
        interactionModel: interaction,
        // A single point needs room around it.
        dateWindow: first === last ? [first - 1, last + 1] : null,
        logscale: this.log.checked,
        axisLineColor: colors.axis,
        gridLineColor: colors.grid,
        axisLabelFontSize: 12,
        rightGap: 12,
        xRangePad: 4,
        yRangePad: 8,
        highlightCircleSize: 4,
        axes: {
          x: {drawGrid: false, axisLabelFormatter: tick, pixelsPerLabel: 50},
          y: {axisLabelFormatter: tick, axisLabelWidth: 52, pixelsPerLabel: 36},
        },
        highlightCallback: (_, x) => this.tell(x),
        unhighlightCallback: () => this.tell(null),
      };
    }

    /// Each curve's value next to x, or its last one.
    tell(x) {
      for (const curve of this.curves) {
        const i = curve.xs.length === 0 ? -1 : x === null ? curve.xs.length - 1 : numberAt(curve.xs, x);
        curve.value.textContent = i < 0 ? "" : figure(curve.y[i]);
        const place = i < 0 ? "" : this.over === "steps" ? `step ${curve.x[i]}` : `epoch ${figure(curve.xs[i])}`;
        curve.button.title = place;
      }
    }
  }

  const parent = document.querySelector(".charts");
  if (ordered.length === 0) {
    parent.append(element("p", {className: "absent", textContent: "There are no events to draw."}));
    return;
  }
  const charts = ordered.map((group) => new Chart(group, parent));
  const over = () => document.querySelector("input[name=over]:checked").value;
  const redraw = () => {
    charts.forEach((chart) => chart.draw(over()));
    for (const swatch of document.querySelectorAll("[data-run]"))
      swatch.style.borderTopColor = colorOf(Number(swatch.dataset.run));
  };
  document.querySelector(".tools").hidden = false;
  for (const radio of document.querySelectorAll("input[name=over]")) {
    radio.disabled = radio.value === "epochs" && toEpochs.every((convert) => convert === null);
    radio.addEventListener("change", redraw);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  redraw();
})();
