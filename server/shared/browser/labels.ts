import { html } from "./html.ts";

/**
 * Places labels in drawings that needn't be measured: places are percentages of the width, and labels are placed for
 * several widths, of which a style sheet shows one.
 */

/** Widths in pixels. The style sheet shows what was made for the widest that a drawing has room for, if any. */
export const leastWidths = [120, 220, 265, 400] as const;

/** Draws something for each width, in a group with the width's class. */
export const byWidth = (draw: (width: number) => preact.ComponentChildren) =>
  leastWidths.map((width) => html`<g class=${`from-${width}`}>${draw(width)}</g>`);

type Anchor = "start" | "middle" | "end";

/**
 * Anchors the labels of a scale so that none is cut off. A label that would overlap the one before it is left out.
 *
 * @param labels each with its place in percent, ascending
 * @param width the drawing's width in pixels
 * @param letterWidth width in pixels of a character
 * @returns the labels with their anchors, and whether none was left out
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
