/**
 * The page as a browser shows it: wide and narrow, light and dark.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { resultPage } from "../../../cmd/bench/result-page.ts";
import { HOSTILE_NAME, sampleReport } from "../../support/bench-report.ts";
import { withPages } from "../../support/browser.ts";
import type { Page } from "../../support/browser.ts";
import { readPng } from "../../support/png.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const SETTINGS = [
  { scheme: "light", width: 1280, height: 900 },
  { scheme: "dark", width: 1280, height: 900 },
  { scheme: "light", width: 390, height: 700 },
  { scheme: "dark", width: 390, height: 700 },
] as const;

/** Elements that reach over the window, or over the box that they are in; a wide table scrolls in its own. */
const OVERFLOWING = `[...document.querySelectorAll("body *")].filter((element) => {
  if (element.closest(".wide") !== null || element.closest("details:not([open])") !== null) return false;
  const box = element.getBoundingClientRect();
  const card = element.closest(".chart")?.getBoundingClientRect() ?? { left: 0, right: innerWidth };
  return box.right > card.right + 0.5 || box.left < card.left - 0.5;
}).map((element) => element.outerHTML.slice(0, 100))`;

/** Where each bar ends, as a share of its track. */
const BARS = `[...document.querySelectorAll(".chart")].slice(0, 1).flatMap((chart) =>
  [...chart.querySelectorAll(".bar")].map((bar) => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width))`;

describe("resultPage", () => {
  it("needs nothing else, and takes nothing of a name for its own", () => {
    const html = resultPage(sampleReport());
    assert.doesNotMatch(html, /<(?:script|link|img|iframe|object)|https?:|@import|url\(/i);
    assert.match(html, /Content-Security-Policy" content="default-src 'none'/);
    assert.ok(!html.includes(HOSTILE_NAME) && html.includes("&lt;script&gt;"));
    assert.doesNotMatch(html.replaceAll("\n", ""), /\p{Cc}/u);
  });

  it("is drawn without a run, too", () => {
    const report = sampleReport();
    const works = report.works.map((work) => ({
      ...work,
      entries: work.entries.map((entry) => ({ ...entry, runs: [], figures: null, failure: "status 1" })),
    }));
    assert.match(resultPage({ ...report, works }), /failed, status 1/);
  });

  it(
    "shows all of itself, light and dark, in a wide window and a narrow one",
    { skip: requireTools("chromium") },
    async () => {
      const shades = new Map<string, number>();
      await inBrowser(async (page, { scheme, width, height }) => {
        assert.equal(await page.evaluate("document.title"), "decant bench", "no script of a name ran");
        const [wanted, has] = await page.evaluate<number[]>("[document.documentElement.scrollWidth, innerWidth]");
        assert.equal(wanted, has, "nothing scrolls sideways");
        assert.deepEqual(await page.evaluate(OVERFLOWING), []);
        assert.equal(await page.evaluate("document.querySelectorAll('.chart').length"), 8);
        const picture = readPng(await page.screenshot());
        assert.deepEqual([picture.width, picture.height], [width, height]);
        const { shade, colours } = look(picture.pixels);
        assert.ok(colours > 50, `${colours} colours`);
        shades.set(`${scheme} ${width}`, shade);
      });
      for (const width of [1280, 390]) {
        const [light = 0, dark = 0] = ["light", "dark"].map((scheme) => shades.get(`${scheme} ${width}`));
        assert.ok(light > 220 && dark < 60, `light is ${light}, dark ${dark}`);
      }
    },
  );

  it(
    "draws bars as long as they should be, and words that can be told from the ground",
    { skip: requireTools("chromium") },
    async () => {
      await inBrowser(async (page) => {
        const bars = await page.evaluate<number[]>(BARS);
        // Medians of 0.8, 0.5, 2.5 and 0.1 seconds; the longest run took 3.1.
        const expected = [0.8, 0.5, 2.5, 0.1].map((seconds) => seconds / 3.1);
        assert.equal(bars.length, expected.length);
        for (const [at, bar] of bars.entries()) assert.ok(Math.abs(bar - (expected[at] ?? 0)) < 0.01, bars.join());
        for (const selector of ["h2", ".note", ".name", ".value", "td", ".bad"]) {
          const contrast = await contrastOf(page, selector);
          assert.ok(contrast >= 4.5, `${selector} has a contrast of ${contrast.toFixed(1)}`);
        }
      });
    },
  );
});

async function inBrowser(use: Parameters<typeof withPages>[2]): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const file = path.join(folder, "result.html");
    fs.writeFileSync(file, resultPage(sampleReport()));
    await withPages(file, SETTINGS, use);
  });
}

/** Of the colours of a picture: the middle shade, and how many there are. */
function look(pixels: Buffer): { readonly shade: number; readonly colours: number } {
  const shades: number[] = [];
  const colours = new Set<number>();
  for (let at = 0; at < pixels.length; at += 3 * 7) {
    colours.add(pixels.readUIntBE(at, 3));
    shades.push(((pixels[at] ?? 0) + (pixels[at + 1] ?? 0) + (pixels[at + 2] ?? 0)) / 3);
  }
  shades.sort((a, b) => a - b);
  return { shade: shades[shades.length >> 1] ?? 0, colours: colours.size };
}

/** @see WCAG 2.2, contrast ratio */
async function contrastOf(page: Page, selector: string): Promise<number> {
  const colours = await page.evaluate<string[]>(`(() => {
    const element = document.querySelector(${JSON.stringify(selector)});
    let ground = element;
    while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
    return [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor];
  })()`);
  const [a = 0, b = 0] = colours.map(luminance).sort((one, other) => other - one);
  return (a + 0.05) / (b + 0.05);
}

function luminance(colour: string): number {
  const channels = [...colour.matchAll(/[\d.]+/g)].slice(0, 3).map(([digits]) => Number(digits) / 255);
  const [red = 0, green = 0, blue = 0] = channels.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
