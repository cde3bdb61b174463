/**
 * Draws a disk as a picture: a grid of cells from the first byte to the last, each coloured by what lies there.
 */
import type { DiskImage } from "../formats/disk-format.ts";
import type { MapRow } from "./map.ts";
import { showBytes } from "./quantity.ts";

const COLUMNS = 64;
const ROWS = 32;
const CELL = 12;
const GAP = 1;
const MARGIN = 24;
const TITLE_HEIGHT = 56;
const LEGEND_HEIGHT = 40;

type Kind = "plain" | "encoded" | "zero" | "hole";
const KINDS: readonly Kind[] = ["plain", "encoded", "zero", "hole"];
const LABELS: Readonly<Record<Kind, string>> = {
  plain: "data",
  encoded: "compressed data",
  zero: "allocated, zeros",
  hole: "not allocated",
};

/** A self-contained SVG, light or dark as the viewer prefers. */
export async function drawMap(
  name: string,
  image: DiskImage,
  rows: Iterable<MapRow> | AsyncIterable<MapRow>,
): Promise<string> {
  const size = image.virtualSize ?? 0;
  const cells = await shares(size, rows);
  const width = 2 * MARGIN + COLUMNS * (CELL + GAP);
  const height = TITLE_HEIGHT + ROWS * (CELL + GAP) + LEGEND_HEIGHT + MARGIN;
  const perCell = showBytes(size / (COLUMNS * ROWS));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escape(name)}: where its data lies</title>
<style>
  svg { font: 13px system-ui, sans-serif; background: #fff }
  text { fill: #222 } .note { fill: #666 }
  .hole { fill: #eceff1 } .zero { fill: #b9c6cf } .plain { fill: #1769aa } .encoded { fill: #d9730d }
  @media (prefers-color-scheme: dark) {
    svg { background: #16191d } text { fill: #e6e6e6 } .note { fill: #9aa4ad }
    .hole { fill: #262b31 } .zero { fill: #4a5661 } .plain { fill: #4ea3e0 } .encoded { fill: #f0974a }
  }
</style>
<text x="${MARGIN}" y="24" font-weight="600">${escape(name)}</text>
<text x="${MARGIN}" y="42" class="note">${image.format}, ${showBytes(size)}; each cell is ${perCell}, row by row from the start</text>
${cells.map((cell, index) => drawCell(cell, index)).join("\n")}
${legend(size, cells, height - MARGIN)}
</svg>
`;
}

/** For each cell the share of each kind, 0 to 1. */
async function shares(size: number, rows: Iterable<MapRow> | AsyncIterable<MapRow>): Promise<Float64Array[]> {
  const cells = Array.from({ length: COLUMNS * ROWS }, () => new Float64Array(KINDS.length));
  const perCell = Math.max(1, size / cells.length);
  for await (const row of rows) {
    const kind = KINDS.indexOf(kindOf(row));
    const end = row.start + row.length;
    for (let cell = Math.floor(row.start / perCell); cell * perCell < end && cell < cells.length; cell++) {
      const covered = Math.min(end, (cell + 1) * perCell) - Math.max(row.start, cell * perCell);
      const share = cells[cell];
      if (share !== undefined && covered > 0) share[kind] = (share[kind] ?? 0) + covered / perCell;
    }
  }
  return cells;
}

function kindOf(row: MapRow): Kind {
  if (!row.zero) return row.offset === undefined ? "encoded" : "plain";
  return row.present ? "zero" : "hole";
}

/** The kinds stacked from the bottom, so that a cell that is one tenth data shows it. */
function drawCell(share: Float64Array, index: number): string {
  const x = MARGIN + (index % COLUMNS) * (CELL + GAP);
  const y = TITLE_HEIGHT + Math.floor(index / COLUMNS) * (CELL + GAP);
  const parts = [`<rect class="hole" x="${x}" y="${y}" width="${CELL}" height="${CELL}"/>`];
  let bottom = y + CELL;
  for (const [kind, name] of KINDS.entries()) {
    const part = share[kind] ?? 0;
    if (name === "hole" || part === 0) continue;
    // A pixel at least: the smallest file is worth seeing.
    const height = Math.min(bottom - y, Math.max(1, part * CELL));
    if (height <= 0) continue;
    bottom -= height;
    parts.push(`<rect class="${name}" x="${x}" y="${round(bottom)}" width="${CELL}" height="${round(height)}"/>`);
  }
  return parts.join("");
}

function legend(size: number, cells: readonly Float64Array[], y: number): string {
  const perCell = size / cells.length;
  return KINDS.map((kind, index) => {
    const bytes = cells.reduce((sum, share) => sum + (share[index] ?? 0) * perCell, 0);
    const x = MARGIN + index * 212;
    return `<rect class="${kind}" x="${x}" y="${y - 11}" width="12" height="12"/><text x="${x + 18}" y="${y}">${LABELS[kind]}: ${showBytes(bytes)}</text>`;
  }).join("\n");
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
