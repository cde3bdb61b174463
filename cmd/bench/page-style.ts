/**
 * How the result page looks: light or dark as the reader prefers, in one column or two as the window allows. The colours of
 * series stay apart for eyes that do not tell red from green.
 */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ground: #fbfbfa; --card: #fff; --text: #1d2127; --note: #5c6670; --line: #dde1e6;
  --track: #eef0f3; --bad: #b3261e; --one: #1d2127; --hatch: rgb(255 255 255 / 45%);
  --c0: #1769aa; --c1: #c8640a; --c2: #2c8a4b; --c3: #8a4fbf; --c4: #b8336a; --c5: #4b8fa8; --c6: #7a6a1c; --c7: #6b7580 }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --card: #1c2026; --text: #e7e9ec; --note: #9aa4ae; --line: #333a43;
    --track: #272d35; --bad: #ff8a80; --one: #e7e9ec; --hatch: rgb(0 0 0 / 40%);
    --c0: #5aaeea; --c1: #f0974a; --c2: #62c285; --c3: #b78be6; --c4: #ec7aa6; --c5: #7cc3dc; --c6: #c9b45a; --c7: #a0aab4 }
}
* { box-sizing: border-box }
body { margin: 0; padding: 24px clamp(12px, 4vw, 48px) 48px; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
main, header, footer { max-width: 1240px; margin: 0 auto }
h1 { font-size: 26px; margin: 0 0 4px } h2 { font-size: 20px; margin: 0 } h3 { font-size: 15px; margin: 0 }
.note { color: var(--note); font-size: 13px; margin: 0 }
article { margin-top: 36px } .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr));
  gap: 16px; margin: 14px 0 }
.chart { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; min-width: 0 }
.chart .note { margin-bottom: 12px }
.row { display: grid; grid-template-columns: minmax(0, 36%) minmax(0, 1fr) 64px; gap: 10px; align-items: center;
  margin: 7px 0; font-size: 13px }
.name { text-align: right; line-height: 1.25 } .value { font-variant-numeric: tabular-nums; white-space: nowrap }
.track { position: relative; display: flex; height: 20px; background: var(--track); border-radius: 4px }
.track i { display: block } .bar { height: 100%; border-radius: 4px; background: var(--ink) }
.part { height: 100%; background-color: var(--ink) }
.wait { background-image: repeating-linear-gradient(135deg, transparent 0 4px, var(--hatch) 4px 8px) }
.range { position: absolute; top: 50%; border-top: 2px solid var(--text); margin-top: -1px }
.dot { position: absolute; top: 50%; width: 7px; height: 7px; margin: -3.5px; border-radius: 50%; background: var(--card);
  border: 1.5px solid var(--text) }
.one { position: absolute; top: -5px; bottom: -5px; border-left: 2px dashed var(--one) }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 12px 0 0; padding: 0; font-size: 13px }
.swatch { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; background-color: var(--ink) }
.lines { position: relative; padding: 18px 0 20px } .lines b { position: absolute; font: 12px system-ui, sans-serif;
  color: var(--note) }
.top { top: 0; left: 0 } .start { bottom: 0; left: 0 } .end { bottom: 0; right: 0 }
svg { display: block; width: 100%; height: 190px } svg * { vector-effect: non-scaling-stroke }
svg line { stroke: var(--line) } polyline { fill: none; stroke: var(--ink); stroke-width: 2; stroke-linejoin: round }
${Array.from({ length: 8 }, (_, at) => `.c${at} { --ink: var(--c${at}) }`).join(" ")}
.wide { overflow-x: auto; margin-bottom: 10px } table { border-collapse: collapse; font-size: 13px; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: 5px 10px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th { color: var(--note); font-weight: 500 } th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 11em }
.bad { color: var(--bad) } dl { font-size: 13px } dt { font-weight: 600; margin-top: 8px }
dd { margin: 0 } code { font: 12px ui-monospace, monospace }
footer { margin-top: 40px; border-top: 1px solid var(--line); padding-top: 14px }
`.trim();
