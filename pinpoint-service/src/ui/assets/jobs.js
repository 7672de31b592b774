// The list of jobs: rows that change, and new jobs.

const table = document.querySelector("table.jobs[data-events]");
const news = document.querySelector("#news");

if (table) {
  listen(table.dataset.events, {
    row: ({ job, html }) => {
      const row = table.querySelector(`tr[data-job="${CSS.escape(job)}"]`);
      if (!row) return;
      const template = document.createElement("template");
      template.innerHTML = html;
      const next = template.content.firstElementChild;
      // The focus stays on the same link of the row.
      const places = "a, button";
      const at = [...row.querySelectorAll(places)].indexOf(document.activeElement);
      const name = at >= 0 ? document.activeElement.textContent : undefined;
      row.replaceWith(next);
      if (at >= 0) {
        const same = [...next.querySelectorAll(places)].find((it) => it.textContent === name);
        (same ?? next.querySelector("a")).focus();
      }
    },
    new: ({ jobs, text }) => {
      const link = document.createElement("a");
      link.href = news.dataset.href;
      link.textContent = text;
      news.replaceChildren(...(jobs ? [link] : []));
    },
  });
}
