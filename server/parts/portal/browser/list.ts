import type { ComponentChildren } from "preact";
import { html } from "../../../shared/browser/html.ts";
import { byWidth } from "../../../shared/browser/labels.ts";
import { chosenAt, useDrawn } from "./location.ts";
import { Key, type Kind, PinShape, placedTicks, type Scale, Shape } from "./picture.ts";
import { drawingWidth, linesOf, widthOf } from "./save-picture.ts";
import { paysTitle } from "./words.ts";

/** Shows a sortable list, with the amounts of each row as dots on one scale, and draws tables for saved files. */

export interface ListColumn {
  title: string;
  kind: string;
  /** The order's name in the URL. */
  sort: string;
  hint?: string;
  /** A phone shows at most one of the columns with this field: the sorted column, or else the column with `usually`. */
  beside?: "usually" | "sorted";
}

export const paysColumn: ListColumn = {
  ...{ title: paysTitle, kind: "number pays", sort: "pays" },
  hint: "A fifth of what Medicare allows, at most the year's deductible of a hospital stay",
};
export const allowedColumn: ListColumn = { title: "Allowed", kind: "number allowed", sort: "allowed" };
export const chargeColumn: ListColumn = { title: "Charge", kind: "number charge", sort: "charge" };
export const ratioColumn: ListColumn = {
  ...{ title: "Times allowed", kind: "number quiet", sort: "markup", beside: "sorted" },
  hint: "The charge, divided by what Medicare allows",
};
export const servicesColumn: ListColumn = {
  ...{ title: "Services", kind: "number quiet services", sort: "services", beside: "sorted" },
  hint: "How often the hospital did it for Medicare patients in the year",
};

export interface Row {
  key: string;
  kind?: string;
  cells: readonly ComponentChildren[];
  amounts: Amounts;
  onClick?: (event: MouseEvent) => void;
}

interface Amounts {
  charged: number;
  allowed: number;
  /** The median to compare the row with; null to draw none. */
  median: number | null;
}

export interface Sorted {
  sort: string;
  order: "asc" | "desc";
}

interface ListProps {
  label: string;
  columns: readonly ListColumn[];
  rows: readonly Row[];
  sorted: Sorted;
  /** Makes a scale from dollars to percent of the width. */
  scale: () => Scale;
}

/**
 * The elements have ARIA roles, because `display: grid` removes a table's native roles. Screen readers skip the dots,
 * because each row says its amounts.
 */
export function List({ label, columns, rows, sorted, scale }: ListProps) {
  const others = columns.filter(({ beside }) => beside !== undefined);
  const beside =
    others.find(({ sort }) => sort === sorted.sort) ?? others.find(({ beside }) => beside === "usually");
  const x = useDrawn() ? scale() : null;
  const placeOf = (column: ListColumn) => (column === beside ? "beside" : column.beside ? "wide-only" : "");
  const kinds = columns.map((column) => [column.kind, placeOf(column)].filter(Boolean).join(" "));
  return html`<div class="list">
    <table role="table" aria-label=${label}>
      <thead role="rowgroup"><tr role="row">
        ${columns.map((column) => head(column, sorted))}
        <th class="dots" aria-hidden="true"><${DotsAxis} x=${x} /></th>
      </tr></thead>
      <tbody role="rowgroup">
        ${rows.map(
          ({
            key,
            kind,
            cells,
            amounts,
            onClick,
          }) => html`<tr key=${key} role="row" class=${kind} onClick=${onClick}>
            <th role="rowheader" scope="row" class=${kinds[0]}>${cells[0]}</th>
            ${cells.slice(1).map((cell, i) => html`<td role="cell" class=${kinds[i + 1]} data-word=${columns[i + 1].title}>${cell}</td>`)}
            <td class="dots" aria-hidden="true"><svg class="drawing" height="18" overflow="visible">${x && html`<${Dots} x=${x} ...${amounts} />`}</svg></td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Orders that are descending at the first click. Others are ascending, because patients look for low amounts. */
const highestFirst = ["markup", "services", "nation", "state"];

function head({ kind, title, sort, hint }: ListColumn, sorted: Sorted) {
  const isSorted = sorted.sort === sort;
  const isAscending = isSorted && sorted.order === "asc";
  const first = highestFirst.includes(sort) ? "desc" : null;
  const order = isSorted ? (isAscending ? "desc" : null) : first;
  const direction = isAscending ? "ascending" : "descending";
  return html`<th role="columnheader" scope="col" class=${kind} title=${hint} aria-sort=${isSorted ? direction : undefined}>
    <a class="button plain sort" href=${chosenAt({ sort, order })}>${title}<span aria-hidden="true">${isSorted ? (isAscending ? " ▴" : " ▾") : ""}</span></a>
  </th>`;
}

function Dots({ x, charged, allowed, median }: Amounts & { x: Scale }) {
  const at = (amount: number) => `${x(amount)}%`;
  return html`<line class="track" x1="0" x2="100%" y1="9" y2="9" />
    ${median !== null && html`<line class="median" x1=${at(median)} x2=${at(median)} y1="3" y2="15" />`}
    <line x1=${at(allowed)} x2=${at(charged)} y1="9" y2="9" />
    <${Shape} kind="charge" x=${at(charged)} y=${9} size=${4.5} /><${Shape} kind="allowed" x=${at(allowed)} y=${9} size=${4.5} />`;
}

function DotsAxis({ x }: { x: Scale | null }) {
  return html`<div class="by-width"><svg class="drawing" height="20" overflow="visible" aria-hidden="true">
    ${
      x !== null &&
      byWidth((width) =>
        placedTicks(x, width).map(
          ({ text, at, anchor }) => html`<g class="tick">
          <text x=${`${at}%`} y="12" text-anchor=${anchor}>${text}</text>
          <line x1=${`${at}%`} x2=${`${at}%`} y1="16" y2="20" />
        </g>`,
        ),
      )
    }
  </svg></div>`;
}

/** In pixels. `gap` is the space between columns and between rows. */
const [lineHeight, gap, markWidth] = [16, 10, 17];

interface Drawn {
  letter?: string;
  name: string;
  place?: string;
  /** The mark of the column's dots, which is drawn before the name. */
  mark?: Kind | undefined;
  isStrong?: boolean;
}

export interface DrawnRow extends Drawn {
  texts: readonly string[];
  amounts?: Amounts;
}

interface DrawingProps {
  heads: readonly Drawn[];
  rows: readonly DrawnRow[];
  /** A scale from dollars to percent of the width, if the rows have amounts. */
  x?: Scale;
}

const marks: Readonly<Record<string, Kind>> = { allowed: "allowed", charge: "charge" };

export const headsOf = (columns: readonly ListColumn[]): Drawn[] =>
  columns.map(({ title, sort }) => ({ name: title, mark: marks[sort], isStrong: sort === paysColumn.sort }));

export function TableDrawing({ heads, rows, x }: DrawingProps) {
  const [nameWidth, dotsWidth] = x ? [heads.length > 5 ? 230 : 310, 190] : [170, 0];
  const step = (drawingWidth - nameWidth - dotsWidth) / heads.length;
  const dotsAt = drawingWidth - dotsWidth + 2 * gap;
  const dotsPlace = { x: dotsAt, width: drawingWidth - dotsAt, overflow: "visible" };
  const headLines = heads.map((head) => drawnLines(head, step - gap));
  const headHeight = lineHeight * Math.max(...headLines.map(({ length }) => length)) + gap;
  let y = headHeight;
  const placed = rows.map((row) => {
    const lines = drawnLines(row, nameWidth - gap);
    const height = lineHeight * lines.length + gap;
    y += height;
    return { row, lines, height, middle: y - height / 2 };
  });
  const rightOf = (column: number) => nameWidth + (column + 1) * step;
  return html`<svg class="drawing" width=${drawingWidth} height=${y}>
    ${heads.map((head, i) => html`<${DrawnName} ...${head} lines=${headLines[i]} end=${rightOf(i)} middle=${headHeight - gap - (lineHeight * headLines[i].length) / 2} />`)}
    ${x && html`<svg ...${dotsPlace}>${placedTicks(x, dotsPlace.width).map(({ text, at, anchor }) => html`<text x=${`${at}%`} y=${headHeight - gap} text-anchor=${anchor}>${text}</text>`)}</svg>`}
    ${placed.map(
      ({ row, lines, height, middle }) => html`<g>
        <line class="track" x1="0" x2=${drawingWidth} y1=${middle - height / 2} y2=${middle - height / 2} />
        <${DrawnName} ...${row} lines=${lines} middle=${middle} />
        ${row.texts.map((text, i) => html`<text x=${rightOf(i)} y=${middle} dy="0.32em" text-anchor="end" class=${`label ${heads[i].isStrong || row.isStrong ? "strong" : ""}`}>${text}</text>`)}
        ${x && row.amounts && html`<svg ...${dotsPlace} y=${middle - 9}><${Dots} ...${row.amounts} x=${x} /></svg>`}
      </g>`,
    )}
  </svg>`;
}

const drawnLines = ({ letter, name, place, mark }: Drawn, width: number) => [
  ...linesOf([letter, name].filter(Boolean).join(" "), width - (letter || mark ? markWidth : 0), 13).map(
    (text) => ({ text, kind: "label" }),
  ),
  ...(place ? linesOf(place, width, 12).map((text) => ({ text, kind: "" })) : []),
];

interface DrawnNameProps extends Drawn {
  lines: ReturnType<typeof drawnLines>;
  middle: number;
  /** The right edge, if the text ends there. */
  end?: number;
}

function DrawnName({ letter, mark, lines, middle, end }: DrawnNameProps) {
  const first = middle - (lineHeight * (lines.length - 1)) / 2;
  const left = letter || mark ? markWidth : 0;
  const markAt = end === undefined ? 6 : end - widthOf(lines[0].text, 13) - markWidth + 6;
  return html`<g>
    ${letter && html`<${PinShape} letter=${letter} x=${markAt} y=${first} />`}
    ${mark && html`<${Shape} kind=${mark} x=${markAt} y=${first} size=${4.5} />`}
    ${lines.map(({ text, kind }, i) => html`<text x=${end ?? left} y=${first + i * lineHeight} dy="0.32em" text-anchor=${end === undefined ? "start" : "end"} class=${kind}>${text}</text>`)}
  </g>`;
}

/** @param median names the median that is drawn as a line; null if no line is drawn */
export const DotsLegend = ({ median }: { median: string | null }) =>
  html`<span class="wide-only"><${Key} kind="charge" /> charge, <${Key} kind="allowed" /> allowed${median !== null && html`, <svg class="key" width="9" height="11" aria-hidden="true"><line class="median" x1="4.5" x2="4.5" y2="11" /></svg> ${median}`}</span>`;
