import { html } from "../../../shared/browser/html.ts";

/** Draws a figure's recent values as a small line. */

const [width, height] = [160, 28];

export function Sparkline({ values }: { values: readonly (number | null)[] }) {
  const known = values.flatMap((value, i) => (value === null ? [] : [{ value, i }]));
  if (known.length < 2) return html`<svg class="spark" height=${height} aria-hidden="true"></svg>`;
  const most = Math.max(...known.map(({ value }) => value), 1e-9);
  const points = known.map(
    ({ value, i }) =>
      `${((i / (values.length - 1)) * width).toFixed(1)},${(height - 1 - (value / most) * (height - 3)).toFixed(1)}`,
  );
  return html`<svg class="spark" viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" height=${height} aria-hidden="true">
    <polyline points=${points.join(" ")} vector-effect="non-scaling-stroke" />
  </svg>`;
}
