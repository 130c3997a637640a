// Figures of an application over the last hour, drawn again every ten seconds.
"use strict";
(() => {
  const place = document.querySelector(".plots");
  if (!place || !window.uPlot) return;
  const address = `/api/v1/applications/${place.dataset.application}/history?minutes=60`;
  const kinds = [
    ["rows per second", "rows_per_s", (v) => v],
    ["match rate, %", "match_rate", (v) => 100 * v],
    ["backlog, rows", "backlog_rows", (v) => v],
    ["backlog, seconds of event time", "backlog_us", (v) => v / 1e6],
    ["stream time behind the clock, s", "behind_us", (v) => v / 1e6],
    ["accuracy of the estimate, %", "accuracy", (v) => 100 * v],
    ["index, MB", "index_bytes", (v) => v / 1e6],
    ["waited for the other stream, %", "paused_share", (v) => 100 * v],
  ];
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = colour("--soft"), line = { stroke: colour("--line"), width: 1 };
  const boxes = kinds.map(() => document.createElement("div"));
  place.append(...boxes); // all of them first: how wide one is depends on the others
  const plots = kinds.map(([title], i) => {
    const box = boxes[i];
    const axis = { stroke: ink, grid: line, ticks: line };
    const options = {
      title, width: Math.max(300, box.clientWidth - 16), height: 180, legend: { show: false },
      series: [{}, { stroke: colour("--blue"), width: 1.5, spanGaps: false, fill: dark ? "#7db3ee22" : "#2360a51a" }],
      axes: [axis, { ...axis, size: 60 }],
    };
    return new uPlot(options, [[], []], box);
  });
  const draw = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(address, { headers: { Accept: "application/json" } });
      if (!answer.ok) return;
      const found = await answer.json();
      kinds.forEach(([, name, scaled], i) => {
        plots[i].setData([found.at, found[name].map((v) => (v === null ? null : scaled(v)))]);
      });
    } catch { /* the page says that the service does not answer */ }
  };
  draw();
  setInterval(draw, 10000);
})();
