import type { ComponentChildren } from "preact";
import { money } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { choose } from "./location.ts";
import { Key, letterWidth, placedTicks, type Scale, Shape, useWidth } from "./picture.ts";

/** Shows a sortable list, with the amounts of each row as dots on one scale. */

export interface Column {
  title: string;
  kind: string;
  /** The order's name in the address. */
  sort: string;
  hint?: string;
  /** On a phone, a row has all amounts, and one other column beside the name: the sorted one, or else the usual one. */
  beside?: "usually" | "sorted";
}

export const paysColumn: Column = {
  ...{ title: "You pay about", kind: "number pays", sort: "pays" },
  hint: "A fifth of what Medicare allows, at most the year's deductible of a hospital stay",
};
export const allowedColumn: Column = { title: "Allowed", kind: "number allowed", sort: "allowed" };
export const chargeColumn: Column = { title: "Charge", kind: "number charge", sort: "charge" };
export const ratioColumn: Column = {
  ...{ title: "Times allowed", kind: "number quiet", sort: "markup", beside: "sorted" },
  hint: "The charge, divided by what Medicare allows",
};
export const servicesColumn: Column = {
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
  /** The median to compare the row with; null if there are too few hospitals. */
  median: number | null;
}

export interface Sorted {
  sort: string;
  order: "asc" | "desc";
}

interface ListProps {
  label: string;
  columns: readonly Column[];
  rows: readonly Row[];
  sorted: Sorted;
  /** A scale from dollars to percent of the width. */
  x: Scale;
}

/** The elements have ARIA roles, because `display: grid` removes a table's native roles. */
export function List({ label, columns, rows, sorted, x }: ListProps) {
  const others = columns.filter(({ beside }) => beside !== undefined);
  const beside =
    others.find(({ sort }) => sort === sorted.sort) ?? others.find(({ beside }) => beside === "usually");
  const placeOf = (column: Column) => (column === beside ? "beside" : column.beside ? "wide-only" : "");
  return html`<div class="list">
    <table role="table" aria-label=${label}>
      <thead role="rowgroup"><tr role="row">
        ${columns.map((column) => html`<${Head} column=${column} sorted=${sorted} />`)}
        <th role="columnheader" scope="col" class="dots"><span class="unseen">On a scale</span><${DotsAxis} x=${x} /></th>
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
            ${cells.map(
              (cell, i) => html`<td role="cell" class=${`${columns[i].kind} ${placeOf(columns[i])}`}>
              ${i > 0 && html`<small class="word">${columns[i].title}</small> `}${cell}</td>`,
            )}
            <td role="cell" class="dots"><${Dots} x=${x} ...${amounts} /></td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Sorts names and distances in ascending order at a first click, other columns in descending order. */
function Head({ column: { kind, title, sort, hint }, sorted }: { column: Column; sorted: Sorted }) {
  const isSorted = sorted.sort === sort;
  const isAscending = isSorted && sorted.order === "asc";
  const first = ["name", "distance"].includes(sort) ? null : "desc";
  const order = isSorted ? (isAscending ? "desc" : null) : first;
  const direction = isAscending ? "ascending" : "descending";
  return html`<th role="columnheader" scope="col" class=${kind} title=${hint} aria-sort=${isSorted ? direction : undefined}>
    <button type="button" class="plain sort" onClick=${() => choose({ sort, order })}>
      ${title}<span aria-hidden="true">${isSorted ? (isAscending ? " ▴" : " ▾") : ""}</span>
    </button>
  </th>`;
}

function Dots({ x, charged, allowed, median }: Amounts & { x: Scale }) {
  const at = (amount: number) => `${x(amount)}%`;
  const dot = (kind: "charge" | "allowed", amount: number) =>
    html`<svg x=${at(amount)} y="9" overflow="visible"><${Shape} kind=${kind} x=${0} y=${0} size=${4.5} /></svg>`;
  return html`<svg width="100%" height="18" overflow="visible" aria-hidden="true">
    <line class="track" x1="0" x2="100%" y1="9" y2="9" />
    ${median !== null && html`<line class="median" x1=${at(median)} x2=${at(median)} y1="3" y2="15" />`}
    <line class="between" x1=${at(allowed)} x2=${at(charged)} y1="9" y2="9" />
    ${dot("charge", charged)} ${dot("allowed", allowed)}
  </svg>`;
}

function DotsAxis({ x }: { x: Scale }) {
  const [measured, width] = useWidth();
  const inPixels = x.copy().range([0, width]);
  const ticks = width === 0 ? [] : placedTicks(inPixels, width);
  return html`<div ref=${measured}><svg width="100%" height="20" overflow="visible" aria-hidden="true">
    ${ticks.map(
      ({ tick, at }) => html`<g class="tick">
        <text x=${at} y="12" text-anchor="middle">${money(tick)}</text>
        <line x1=${inPixels(tick)} x2=${inPixels(tick)} y1="16" y2="20" />
      </g>`,
    )}
  </svg></div>`;
}

const drawingWidth = 940;
const rowHeight = 26;
/** Left edges of the columns in pixels: after the names, the amounts end here. The scale is the rest. */
const [nameEnd, chargeEnd, allowedEnd] = [410, 500, 590];

interface DrawingProps {
  rows: readonly (Amounts & { name: string })[];
  /** A scale from dollars to percent of the width. */
  x: Scale;
}

/** Draws a list for a saved file or for paper: a line for each hospital, with its amounts as numbers and as dots. */
export function ListDrawing({ rows, x }: DrawingProps) {
  const scale = x.copy().range([allowedEnd + 24, drawingWidth - 12]);
  const height = 34 + rows.length * rowHeight;
  const most = Math.floor(nameEnd / letterWidth);
  const ticks = placedTicks(
    x.copy().range([0, drawingWidth - allowedEnd - 36]),
    drawingWidth - allowedEnd - 36,
  );
  return html`<svg class="drawing" width=${drawingWidth} height=${height}>
    <${Shape} kind="charge" x=${chargeEnd - 60} y=${10} size=${4.5} />
    <text x=${chargeEnd} y="14" text-anchor="end" class="strong">Charge</text>
    <${Shape} kind="allowed" x=${allowedEnd - 68} y=${10} size=${4.5} />
    <text x=${allowedEnd} y="14" text-anchor="end" class="strong">Allowed</text>
    ${ticks.map(({ tick, at }) => html`<text x=${allowedEnd + 24 + at} y="14" text-anchor="middle">${money(tick)}</text>`)}
    ${rows.map(({ name, charged, allowed, median }, i) => {
      const y = 34 + i * rowHeight;
      return html`<g>
        <line class="track" x1="0" x2=${drawingWidth} y1=${y + 13} y2=${y + 13} />
        <text x="0" y=${y} dy="0.32em" class="label">${name.length > most ? `${name.slice(0, most - 1)}…` : name}</text>
        <text x=${chargeEnd} y=${y} dy="0.32em" text-anchor="end" class="label">${money(charged)}</text>
        <text x=${allowedEnd} y=${y} dy="0.32em" text-anchor="end" class="label">${money(allowed)}</text>
        <line class="between" x1=${scale(allowed)} x2=${scale(charged)} y1=${y} y2=${y} />
        ${median !== null && html`<line class="median" x1=${scale(median)} x2=${scale(median)} y1=${y - 8} y2=${y + 8} />`}
        <${Shape} kind="charge" x=${scale(charged)} y=${y} size=${4.5} />
        <${Shape} kind="allowed" x=${scale(allowed)} y=${y} size=${4.5} />
      </g>`;
    })}
  </svg>`;
}

/** @param median the place whose median is drawn as a line; null without a line */
export const DotsLegend = ({ median }: { median: string | null }) =>
  html`<${Key} kind="charge" /> charge, <${Key} kind="allowed" /> allowed${median !== null && html`, <span class="median-key"></span> ${median}`}`;
