import { money } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Priced } from "./answers.ts";
import { PinShape, type Scale } from "./picture.ts";

/** Marks the compared hospitals in the picture of the distribution of charges. */

interface MarksProps {
  marks: readonly { letter: string; entry: Priced }[];
  x: Scale;
  width: number;
  floor: number;
  /** Finds the vertical position of the mark of a hospital's charge. */
  chargeY: (ccn: string) => number;
  allowedY: number;
}

const markRows = [14, 30, 46];
const shapeSize = 11;

/**
 * Takes the space from `start` to `end` in the first row that is free at `start`, or else in the top row.
 * @param ends the end of the taken part of each row
 * @returns the row's index
 */
function rowFor(ends: number[], start: number, end: number): number {
  const row = Math.max(
    0,
    ends.findIndex((taken) => taken < start),
  );
  ends[row] = end;
  return row;
}

/** Marks each compared hospital by a line, a shape and a letter, so that no colour is needed to tell them apart. */
export function Marks({ marks, x, width, floor, chargeY, allowedY }: MarksProps) {
  const free = () => markRows.map(() => Number.NEGATIVE_INFINITY);
  const [labels, charges, allowed] = [free(), free(), free()];
  // Overlapping shapes are drawn one above or below the other.
  const down = (ends: number[], at: number) =>
    shapeSize * rowFor(ends, at - shapeSize / 2, at + shapeSize / 2);
  return marks
    .toSorted((a, b) => a.entry.submitted_charge - b.entry.submitted_charge)
    .map(({ letter, entry }) => {
      const at = x(entry.submitted_charge);
      const allowedAt = x(entry.medicare_allowed);
      const text = `${letter} ${money(entry.submitted_charge)}`;
      const room = text.length * 8 + 18;
      const start = Math.min(at - 6, width - room);
      const row = rowFor(labels, start, start + room);
      return html`<g class="mark">
        <line class="mark-line" x1=${at} x2=${at} y1=${markRows[row] + 4} y2=${floor} />
        <${PinShape} letter=${letter} x=${start + 6} y=${markRows[row] - 4} />
        <text x=${start + 15} y=${markRows[row]}>${text}</text>
        <${PinShape} letter=${letter} x=${at} y=${chargeY(entry.ccn) - down(charges, at)} />
        <${PinShape} letter=${letter} x=${allowedAt} y=${allowedY + down(allowed, allowedAt)} />
      </g>`;
    });
}
