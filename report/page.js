"use strict";
{
  const opened = () => {
    const details = document.getElementById(location.hash.slice(1))?.closest("details");
    if (details && !details.open) {
      details.open = true;
      document.getElementById(location.hash.slice(1)).scrollIntoView();
    }
  };
  window.addEventListener("hashchange", opened);
  opened();
  const find = document.getElementById("find");
  if (find) {
    find.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      let found = 0;
      for (const item of document.querySelectorAll("[id^=pair-],[id^=cluster-]")) {
        item.hidden = ![...item.querySelectorAll("bdi")].some((name) => name.textContent.toLowerCase().includes(wanted));
        found += !item.hidden;
        if (wanted && !item.hidden && item.parentElement.matches("details")) item.parentElement.open = true;
      }
      find.nextElementSibling.textContent = !wanted ? "" : found ? `${found} found` : "none on this page; try neardup show DIR ID";
    });
    document.getElementById("finder").hidden = false;
  }
  const data = document.getElementById("steps"), input = document.getElementById("higher");
  if (data && input) {
    const steps = JSON.parse(data.textContent), number = new Intl.NumberFormat("en-GB");
    const bars = document.querySelectorAll("#similarities .bar");
    const show = () => {
      const step = steps[input.value];
      for (const cell of document.querySelectorAll("[data-step]")) {
        const value = step[cell.dataset.step];
        cell.textContent = cell.dataset.step === "t" ? value.toFixed(4) : number.format(value);
      }
      input.setAttribute("aria-valuetext", "threshold " + step.t.toFixed(4));
      for (const bar of bars) {
        const from = parseFloat(bar.firstElementChild.textContent);
        bar.classList.toggle("below", from < step.t - 1e-9);
      }
      for (const pair of document.querySelectorAll("[data-similarity]")) {
        pair.classList.toggle("below", parseFloat(pair.dataset.similarity) < step.t - 1e-9);
      }
    };
    input.addEventListener("input", show);
    document.getElementById("slider").hidden = false;
    show();
  }
}
