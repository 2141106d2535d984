// Opens pages, light and dark, wide and narrow, and prints them. It exits with 1 if one has a console error, a request or
// a finding of axe-core, is wider than the window or the paper, or hides on paper what can be opened on a screen.
//
//	node look.mjs CHROMIUM PICTURES PAGE...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const [chromium, pictures, ...pages] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });
let failed = false;
for (const file of pages) {
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const findings = [];
      const page = await browser.newPage();
      page.on("console", (m) => m.type() === "error" && findings.push(`console: ${m.text()}`));
      page.on("pageerror", (e) => findings.push(`error: ${e.message}`));
      page.on("request", (r) => /^(file|data|about):/.test(r.url()) || findings.push(`asks for ${r.url()}`));
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.goto(pathToFileURL(resolve(file)).href);
      if (await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")) findings.push("is wider than the window");
      await page.evaluate(axe);
      const { violations } = await page.evaluate("axe.run()");
      for (const v of violations) findings.push(`axe: ${v.id}: ${v.help}: ${v.nodes[0].html}`);
      // The keyboard moves a slider, whose text changes.
      const slider = await page.$("input[type=range]");
      if (slider) {
        const shown = () => page.$eval("#slider", (s) => s.textContent);
        const before = await shown();
        await slider.focus();
        for (let i = 0; i < 60; i++) await page.keyboard.press("ArrowRight");
        if ((await shown()) === before) findings.push("the slider does nothing");
      }
      const find = await page.$("#find");
      if (find) {
        await find.type("no such document");
        if (await page.$$eval("[id^=pair-],[id^=cluster-]", (all) => all.some((e) => e.checkVisibility()))) findings.push("finds what is not there");
        await find.evaluate((f) => { f.value = ""; f.dispatchEvent(new Event("input")); });
        if (!(await page.$eval("#pair-1", (e) => e.checkVisibility()))) findings.push("hides pairs when nothing is looked for");
      }
      await page.screenshot({ path: join(pictures, `${basename(file)}-${scheme}-${width}.png`), fullPage: true });
      await page.close();
      for (const finding of findings) console.error(`${file}, ${scheme}, ${width} pixels: ${finding}`);
      failed ||= findings.length > 0;
    }
  }
}
for (const file of pages) {
  const findings = [];
  const page = await browser.newPage();
  await page.setViewport({ width: 718, height: 1000 }); // A4 with margins of one centimetre
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await page.emulateMediaType("print");
  await page.goto(pathToFileURL(resolve(file)).href);
  // No paper is wide enough for a study's table with more than 20 columns.
  const wide = await page.evaluate(() => [...document.querySelectorAll("body *")].filter((e) => !(e.closest("table")?.rows[0].cells.length > 20) && e.getClientRects().length && e.getBoundingClientRect().right > window.innerWidth + 1).map((e) => e.outerHTML.slice(0, 200)));
  if (wide.length) findings.push(`is wider than the paper: ${wide[0]}`);
  const hidden = await page.$$eval("details", (all) => all.filter((d) => d.checkVisibility() && ![...d.children].every((c) => c.checkVisibility({ contentVisibilityAuto: true }))).length);
  if (hidden) findings.push(`hides ${hidden} closed details on paper`);
  if (await page.$$eval("input, nav", (all) => all.some((e) => e.checkVisibility()))) findings.push("prints what is to be used on a screen");
  await page.evaluate(axe);
  const { violations } = await page.evaluate("axe.run({ runOnly: ['color-contrast'] })");
  for (const v of violations) findings.push(`axe: ${v.id}: ${v.help}: ${v.nodes[0].html}`);
  await page.pdf({ path: join(pictures, `${basename(file)}.pdf`), format: "A4", margin: { top: "1cm", bottom: "1cm", left: "1cm", right: "1cm" } });
  await page.close();
  for (const finding of findings) console.error(`${file}, printed: ${finding}`);
  failed ||= findings.length > 0;
}
await browser.close();
process.exitCode = failed ? 1 : 0;
