import { html } from "./html.ts";

/**
 * Places labels in drawings without measuring them, once for each of several widths. A style sheet shows the labels for
 * one width. Positions are percentages of the width.
 */

/** Widths in pixels. The style sheet shows what was made for the largest of these that fits into the drawing, if any. */
export const leastWidths = [120, 220, 265, 400] as const;

export const byWidth = (draw: (width: number) => preact.ComponentChildren) =>
  leastWidths.map((width) => html`<g class=${`from-${width}`}>${draw(width)}</g>`);

type Anchor = "start" | "middle" | "end";

/**
 * Anchors the labels of a scale so that they stay within the drawing. Leaves out a label if the gap to the
 * last placed label would be a character or less.
 * @param labels the labels with their positions in percent, ascending
 * @param width the drawing's width in pixels
 * @param letterWidth a character's width in pixels
 * @returns the labels with their anchors, and whether all were placed
 */
export function placedLabels<Label extends { at: number; text: string }>(
  labels: readonly Label[],
  width: number,
  letterWidth: number,
) {
  const placed: (Label & { anchor: Anchor })[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const label of labels) {
    const at = (label.at * width) / 100;
    const length = label.text.length * letterWidth;
    const anchor = at < length / 2 ? "start" : at > width - length / 2 ? "end" : "middle";
    const start = at - { start: 0, middle: length / 2, end: length }[anchor];
    if (start <= end + letterWidth) continue;
    placed.push({ ...label, anchor });
    end = start + length;
  }
  return { placed, isWhole: placed.length === labels.length };
}
