import * as d3 from "../../../shared/browser/d3.ts";
import { html } from "../../../shared/browser/html.ts";

/** Draws a figure's recent values as a small line, with gaps where there is no value. */

const [width, height] = [160, 28];

export function Sparkline({ values }: { values: readonly (number | null)[] }) {
  const x = d3.scaleLinear([0, values.length - 1], [0, width]);
  const y = d3.scaleLinear([0, d3.max(values, (value) => value) || 1], [height - 2, 2]);
  const line = d3
    .line<number | null>(
      (_, i) => x(i),
      (value) => y(value ?? 0),
    )
    .defined((value) => value !== null)
    .digits(1);
  return html`<svg class="spark" viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" height=${height} aria-hidden="true">
    <path d=${values.length > 1 ? line(values) : null} vector-effect="non-scaling-stroke" />
  </svg>`;
}
