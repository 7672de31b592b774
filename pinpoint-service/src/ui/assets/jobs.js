// The list of jobs: rows that change, ages, and new jobs.

const news = document.querySelector("#news[data-events]");

// Puts a row in the place of another one. The focus stays on the same link of it.
function replace(row, next) {
  const places = "a, button";
  const at = [...row.querySelectorAll(places)].indexOf(document.activeElement);
  const name = at >= 0 ? document.activeElement.textContent : undefined;
  row.replaceWith(next);
  if (at >= 0) {
    const same = [...next.querySelectorAll(places)].find((it) => it.textContent === name);
    (same ?? next.querySelector("a")).focus();
  }
}

if (news) {
  const jobs = [...document.querySelectorAll("tr[data-job]")].map(({ dataset }) => dataset.job);
  const close = listen(`${news.dataset.events}&jobs=${jobs.join(",")}`, {
    row: ({ job, html }) => {
      const row = document.querySelector(`tr[data-job="${CSS.escape(job)}"]`);
      if (!row) return;
      const template = document.createElement("template");
      template.innerHTML = html;
      const next = template.content.firstElementChild;
      // A link that is being pressed stays until it is released.
      if (!row.matches(":active")) replace(row, next);
      else addEventListener("pointerup", () => setTimeout(() => row.isConnected && replace(row, next)), { once: true });
    },
    ages: (ages) => {
      for (const [job, age] of Object.entries(ages)) {
        const time = document.querySelector(`tr[data-job="${CSS.escape(job)}"] time`);
        if (time) time.textContent = age;
      }
    },
    new: ({ jobs, text }) => {
      speak(news, () => {
        const link = news.firstElementChild ?? document.createElement("a");
        link.href = news.dataset.href;
        if (link.textContent !== text) link.textContent = text;
        if (!jobs) news.replaceChildren();
        else if (!link.parentNode) news.append(link);
      });
    },
    newer: () => {
      close();
      offerReload("The service has a newer version of this page.");
    },
  });
}
