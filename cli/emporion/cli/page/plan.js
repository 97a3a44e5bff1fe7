"use strict";
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  let printing = false;

  function theme() {
    const style = getComputedStyle(root);
    const value = (name) => style.getPropertyValue(name).trim();
    return printing ? { ink: "#1a1d21", line: "#d5d9de", card: "#ffffff", soft: "#545b64" }
      : { ink: value("--ink"), line: value("--line"), card: value("--card"), soft: value("--soft") };
  }

  function layout(figure) {
    const tone = theme();
    const axis = (own) => Object.assign({ gridcolor: tone.line, zerolinecolor: tone.line, linecolor: tone.line, automargin: true }, own);
    return Object.assign({}, figure.layout, {
      xaxis: axis(figure.layout.xaxis), yaxis: axis(figure.layout.yaxis),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: tone.ink, family: "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif", size: 13 },
      hoverlabel: { bgcolor: tone.card, bordercolor: tone.line, font: { color: tone.ink }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: tone.soft, activecolor: tone.ink },
      margin: { l: 64, r: 24, t: 28, b: 96 }
    });
  }

  function traces(data, wide) {  // a scale of colours takes the room of the picture on a small screen
    return wide ? data : data.map((one) => one.marker && one.marker.showscale
      ? Object.assign({}, one, { marker: Object.assign({}, one.marker, { showscale: false }) }) : one);
  }

  function draw() {
    for (const id of Object.keys(figures)) {
      const place = document.getElementById(id);
      if (place) {
        Plotly.react(place, traces(figures[id].data, place.clientWidth >= 560), layout(figures[id]),
          { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] });
      }
    }
  }

  function open(id) {
    const target = document.getElementById(id);
    if (target) {
      if (target.tagName === "DETAILS") { target.open = true; }
      location.hash = id;
    }
  }

  draw();
  const front = document.getElementById("front");
  if (front && front.on) {
    front.on("plotly_click", (event) => open(event.points[0].customdata));
  }
  const scale = document.getElementById("scale");
  if (scale) {
    scale.addEventListener("click", () => {
      const axis = figures.front.layout.xaxis;
      axis.type = axis.type === "log" ? "linear" : "log";
      delete axis.tickvals;
      scale.setAttribute("aria-pressed", String(axis.type === "log"));
      draw();
    });
  }
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    draw();
  });
  dark.addEventListener("change", draw);
  const turn = (on) => () => {
    printing = on;
    draw();
  };
  window.addEventListener("beforeprint", turn(true));
  window.addEventListener("afterprint", turn(false));
}());
