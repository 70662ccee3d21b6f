import { money, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Entry } from "./answers.ts";

/** Shows a picture's numbers as a table for screen readers, and saves them as CSV. */

type Cell = string | number | null;

export interface Column {
  title: string;
  /** Formats the column's numbers. A column with it is right-aligned. */
  write?: (value: number) => string;
}

export interface Figures {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
}

/** The numbers of some items: a column for each title, with the item's value and how to format it. */
export const figuresOf = <Item>(
  items: readonly Item[],
  ...columns: [title: string, cellOf: (item: Item) => Cell, write?: (value: number) => string][]
): Figures => ({
  columns: columns.map(([title, , write]) => ({ title, ...(write && { write }) })),
  rows: items.map((item) => columns.map(([, cellOf]) => cellOf(item))),
});

/** The hospitals of a list. */
export const priceFigures = (entries: readonly Entry[]): Figures =>
  figuresOf(
    entries,
    ["ccn", ({ ccn }) => ccn],
    ["hospital", ({ facility }) => facility],
    ["city", ({ city }) => city],
    ["state", ({ state }) => state],
    ["zip", ({ zip }) => zip ?? null],
    ...(entries.some(({ distance }) => distance !== undefined)
      ? ([["miles", ({ distance }) => distance ?? null]] as [string, (entry: Entry) => Cell][])
      : []),
    ["charge", ({ submitted_charge }) => submitted_charge ?? null, money],
    ["allowed", ({ medicare_allowed }) => medicare_allowed ?? null, money],
    ["services", ({ services }) => services ?? null, whole],
  );

const written = (cell: Cell, { write }: Column) =>
  cell === null ? "–" : typeof cell === "number" && write ? write(cell) : cell;

export function FiguresTable({ figures, caption }: { figures: Figures; caption: string }) {
  const { columns, rows } = figures;
  const kind = ({ write }: Column) => (write ? "number" : undefined);
  return html`<div class="figures" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption class="unseen">${caption}</caption>
      <thead>
        <tr>${columns.map((column) => html`<th scope="col" class=${kind(column)}>${column.title}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>${row.map((cell, i) => html`<td class=${kind(columns[i])}>${written(cell, columns[i])}</td>`)}</tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** The numbers as CSV (RFC 4180). */
function csvOf({ columns, rows }: Figures): string {
  const field = (cell: Cell) => {
    const text = cell === null ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map(({ title }) => title), ...rows];
  return lines.map((line) => `${line.map(field).join(",")}\r\n`).join("");
}

export const csvFile = (figures: Figures) => new Blob([csvOf(figures)], { type: "text/csv" });

export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser reads the content after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
