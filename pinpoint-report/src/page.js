// Unpacks the table of runs when it is opened, and an output on demand.
"use strict";

const ROWS = 100;

async function unpack(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

const outputs = new Map();

function output([block, place]) {
  if (!outputs.has(block)) outputs.set(block, unpack(`outputs-${block}`));
  return outputs.get(block).then((texts) => texts[place]);
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function foreign(text) {
  return element("bdi", { textContent: text });
}

class Runs {
  constructor(table, data) {
    this.data = data;
    this.page = 0;
    this.commit = element("select", {}, element("option", { value: "", textContent: "all commits" }),
      ...data.commits.map((name, value) => element("option", { value, textContent: name })));
    this.failed = element("input", { type: "checkbox" });
    this.count = element("span", { role: "status" });
    this.back = element("button", { type: "button", textContent: "Earlier" });
    this.on = element("button", { type: "button", textContent: "Later" });
    this.body = element("tbody");
    const again = () => { this.page = 0; this.show(); };
    this.commit.addEventListener("change", again);
    this.failed.addEventListener("change", again);
    this.back.addEventListener("click", () => { this.page -= 1; this.show(); });
    this.on.addEventListener("click", () => { this.page += 1; this.show(); });
    const names = ["Run", "Commit", "Started", ...data.charts, "Duration", "Output"];
    const heads = names.map((name) => element("th", { scope: "col" }, foreign(name)));
    table.append(
      element("div", { className: "bar" },
        element("label", {}, "Commit ", this.commit),
        element("label", {}, this.failed, " failed only"),
        this.back, this.on, this.count),
      element("div", { className: "wide" },
        element("table", {}, element("thead", {}, element("tr", {}, ...heads)), this.body)));
    this.columns = names.length;
    this.show();
  }

  show() {
    const rows = this.data.rows.filter(([, commit, , , , failure]) =>
      (this.commit.value === "" || Number(this.commit.value) === commit)
      && (!this.failed.checked || failure !== null));
    const from = this.page * ROWS;
    const shown = rows.slice(from, from + ROWS);
    this.back.disabled = this.page === 0;
    this.on.disabled = from + ROWS >= rows.length;
    this.count.textContent = rows.length === 0 ? "no runs"
      : `${from + 1} to ${from + shown.length} of ${rows.length}`;
    this.body.replaceChildren(...shown.map((row) => this.row(row)));
  }

  row([name, commit, started, values, took, failure, where, whole]) {
    const cell = (text) => element("td", {}, foreign(text ?? "–"));
    const last = element("td");
    const row = element("tr", { className: failure === null ? "" : "failed" },
      cell(name), element("td", {}, element("code", {}, foreign(this.data.commits[commit]))),
      cell(started), ...values.map(cell), cell(took), last);
    if (failure !== null) last.append(foreign(failure), " ");
    if (Array.isArray(where)) {
      const button = element("button", { type: "button", textContent: "show", ariaExpanded: "false" });
      button.setAttribute("aria-label", `output of run ${name}`);
      button.addEventListener("click", () => this.toggle(row, button, where, whole));
      last.append(button);
    } else if (where !== null) {
      last.append(element("code", {}, foreign(where)));
    } else if (failure === null) {
      last.append("none");
    }
    return row;
  }

  async toggle(row, button, where, whole) {
    if (button.ariaExpanded === "true") {
      row.nextElementSibling.remove();
      button.ariaExpanded = "false";
      button.textContent = "show";
      return;
    }
    button.ariaExpanded = "true";
    button.textContent = "hide";
    const text = element("pre", { tabIndex: 0, className: "output" });
    const shown = element("td", { colSpan: this.columns }, text);
    if (whole !== null) {
      const path = element("code", {}, foreign(whole));
      shown.append(element("p", { className: "note" }, "The whole output is in ", path, "."));
    }
    row.after(element("tr", { className: "output" }, shown));
    text.textContent = await output(where);
  }
}

// Paper cannot be unfolded: open everything except the table of runs, which is too long for it.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not(#runs, [open])")];
  opened.forEach((details) => { details.open = true; });
});
addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));

const runs = document.getElementById("runs");
if (runs) {
  runs.addEventListener("toggle", async () => {
    new Runs(document.getElementById("runs-table"), await unpack("runs-data"));
  }, { once: true });
}
