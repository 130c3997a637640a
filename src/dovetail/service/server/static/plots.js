// Figures of an application over the last hour, drawn again every ten seconds.
"use strict";
(() => {
  const place = document.querySelector(".plots");
  if (!place || !window.uPlot) return;
  const address = `/api/v1/applications/${place.dataset.application}/history?minutes=60`;
  const kinds = [
    ["rows per second", "rows_per_s", (v) => v],
    ["match rate, %", "match_rate", (v) => 100 * v],
    ["behind the clock, s", "behind_us", (v) => v / 1e6],
    ["backlog, rows", "backlog_rows", (v) => v],
    ["index, MB", "index_bytes", (v) => v / 1e6],
  ];
  const boxes = kinds.map(() => document.createElement("div"));
  place.append(...boxes); // all of them first: how wide one is depends on the others
  const plots = kinds.map(([title], i) => {
    const box = boxes[i];
    const options = {
      title, width: Math.max(300, box.clientWidth - 16), height: 180, legend: { show: false },
      series: [{}, { stroke: "#2360a5", width: 1.5, spanGaps: false }],
      axes: [{}, { size: 60 }],
    };
    return new uPlot(options, [[], []], box);
  });
  const draw = async () => {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const found = await answer.json();
    kinds.forEach(([, name, scaled], i) => {
      plots[i].setData([found.at, found[name].map((v) => (v === null ? null : scaled(v)))]);
    });
  };
  draw();
  setInterval(draw, 10000);
})();
