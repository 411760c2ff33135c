"use strict";
// The mean function of one instance and where an agent pulled, as leaderboards/show/where_agents_pull.py describes them.
{
  const { css, address, load, plotting, whenIdle } = window.gpbandit;
  const plot = document.getElementById("pulls");
  const choice = document.getElementById("pull-agent");
  const BLUES = [[0, "#f7fbff"], [0.5, "#6baed6"], [1, "#08306b"]];
  const KINDS = {
    line: ({ x, y }) => [{ x, y, mode: "lines", line: { color: css("--soft"), width: 1.8 } }],
    rank: ({ x, y }) => [{ x, y, mode: "lines", line: { color: css("--soft"), width: 1.8 } }],
    arms: ({ x, y, z }) => [{
      x, y, mode: "markers", customdata: z,
      marker: { color: z, colorscale: BLUES, size: 7, symbol: "square", showscale: true, colorbar: { title: { text: "mean", side: "right" }, thickness: 12, outlinewidth: 0 } },
    }],
    grid: ({ x, y, z }) => [{ x, y, z, type: "heatmap", colorscale: BLUES, zsmooth: "best", colorbar: { title: { text: "mean", side: "right" }, thickness: 12, outlinewidth: 0 } }],
  };
  let ready = false; // data and library are there
  const draw = () => {
    if (!ready) return;
    const { kind, labels, best, agents, top } = window.pullData;
    const found = agents[choice.value];
    const ink = css("--ink"), soft = css("--soft"), rule = css("--rule"), strong = css("--hue1");
    const base = KINDS[kind](window.pullData).map((trace) => ({ type: "scatter", hoverinfo: "skip", ...trace }));
    const most = Math.max(...found.n);
    const flat = kind === "line" || kind === "rank";
    const pulls = {
      x: found.x, y: found.y, type: "scatter", mode: "markers", customdata: found.n.map((n, i) => [n, found.t[i]]),
      hovertemplate: "%{customdata[0]} pulls, the first at t = %{customdata[1]}<extra></extra>",
      marker: { color: flat ? strong : "rgba(0,0,0,0)", opacity: flat ? 0.65 : 1, size: found.n.map((n) => 6 + 16 * Math.sqrt(n / Math.max(most, 12))), line: { color: strong, width: flat ? 0 : 2 } },
    };
    const star = { x: [best[0]], y: [best[1]], type: "scatter", mode: "markers", hovertemplate: `best: ${top.toPrecision(4)}<extra></extra>`, marker: { symbol: "star", size: 14, color: css("--hue2"), line: { color: css("--page"), width: 1 } } };
    const axis = (label) => ({ title: { text: label, font: { color: soft, size: 12 } }, gridcolor: rule, linecolor: rule, zerolinecolor: rule, tickfont: { color: soft }, automargin: true });
    Plotly.react(plot, [...base, pulls, star], {
      height: 380, margin: { l: 12, r: 8, t: 8, b: 12 }, showlegend: false, hovermode: "closest", paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: css("--sans"), size: 13, color: ink }, hoverlabel: { bgcolor: css("--page"), bordercolor: rule, font: { color: ink } },
      xaxis: { ...axis(labels[0]), ...(kind === "rank" ? { type: "log", dtick: 1 } : {}) }, yaxis: axis(labels[1]),
    }, { responsive: true, displayModeBar: false });
    const text = `${found.total} pulls of ${found.distinct} different ${found.distinct === 1 ? "action" : "actions"}`;
    document.getElementById("pull-counts").textContent = `${text}.`;
    plot.setAttribute("aria-label", `Mean function with the pulls of ${choice.value}: ${text}.`);
  };
  const restore = () => {
    const asked = address.get().get("pulls");
    if (Array.from(choice.options).some((option) => option.value === asked)) choice.value = asked;
    draw();
  };
  choice.addEventListener("change", () => { address.set({ pulls: choice.selectedIndex ? choice.value : [] }); draw(); });
  document.addEventListener("themechange", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("hashchange", restore);
  restore();
  whenIdle(async () => {
    await Promise.all([load(plot.dataset.script), plotting()]);
    ready = true;
    draw();
  });
}
