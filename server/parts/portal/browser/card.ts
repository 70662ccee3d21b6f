import { type ComponentChild, type ComponentChildren, render } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { change, money, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Dataset, Entry, TrendYear } from "./answers.ts";
import { asFailure } from "./api.ts";
import { copied } from "./curl.ts";
import type { Pinned } from "./explore-data.ts";
import { Menu, Opener } from "./form.ts";
import { type PictureFormat, pictureOf } from "./save-picture.ts";
import { isSynthetic, warningOf } from "./words.ts";

/** Frames a picture. Offers below it the picture and its numbers as files, a link, and the numbers as a table. */

interface CardProps {
  title: string;
  about: ComponentChildren;
  /** The name of saved files without an ending. */
  name: string;
  /** Undefined until the numbers are loaded. */
  figures?: Figures | undefined;
  isTable?: boolean;
  /** A button that saves all rows, if the picture shows only a part of them. */
  all?: { title: string; save: () => Promise<void> } | undefined;
  /** Text after the title in a saved file, such as the procedure and the year. */
  subject?: string;
  /** Text above the picture in a saved file. */
  sentence?: string;
  /** Text below the picture in a saved file, in a frame and on paper; undefined if the picture can't be saved. */
  source?: string | undefined;
  /** Makes a drawing for a saved file, if the card shows none. */
  drawing?: () => ComponentChild;
  /** The card's id in the page, to which a URL can scroll. */
  anchor?: string;
  /** Permanent URLs of the page with all pictures, and of the picture alone. */
  links?: { page: string; embed?: string | undefined } | undefined;
  class?: string;
  children?: ComponentChildren;
}

/** Makes the text for a picture outside the page: compared hospitals by letter, source, warnings and site. */
export function sourceText(
  versions: readonly string[],
  datasets: readonly Dataset[],
  pinned: readonly Pinned[] = [],
): string {
  const shown = versions.flatMap((version) => datasets.filter((one) => one.data_version === version));
  const titles = [...new Set(shown.map(({ publisher, title }) => `${publisher}, ${title}`))].join("; ");
  // For a synthetic sample, the title already says that the data is a sample.
  const real = shown.filter(({ caveat }) => !isSynthetic(caveat));
  const warnings = [...new Set(real.flatMap(({ caveat }) => warningOf(caveat)?.text ?? []))].join(" ");
  const names = pinned.map(({ letter, ccn, entry }) => `${letter}: ${entry?.facility ?? ccn}. `).join("");
  return `${names}Source: ${titles || location.host} (version ${versions.join(", ")}). ${warnings && `${warnings} `}${location.host}`;
}

export function Card(props: CardProps) {
  const { title, about, name, figures, isTable = false, all, source, links, children } = props;
  const { subject = "", sentence = "" } = props;
  const id = useId();
  const section = useRef<HTMLElement>(null);
  const [isFigures, setFigures] = useState(false);
  const [message, setMessage] = useState("");
  /** Name of the button that has just copied a text; empty after any other action. */
  const [copiedBy, setCopiedBy] = useState("");
  const act = (work: () => Promise<void>) => {
    setMessage("");
    setCopiedBy("");
    work().catch((error) => setMessage(asFailure(error).message));
  };
  const button = (text: string, work: () => Promise<void>) =>
    html`<button type="button" class="plain" aria-describedby=${id} onClick=${() => act(work)}>${text}</button>`;
  const saveCsv = async () => save(`${name}.csv`, csvFile(figures ?? { columns: [], rows: [] }, source));
  const saveAs = (format: PictureFormat) => async () => {
    if (section.current === null || source === undefined) return;
    const note = section.current.querySelector("p.small:not(.source)")?.textContent ?? "";
    const said = typeof about === "string" && about !== sentence ? about.replace(/\.?$/, ".") : "";
    const below = [said, note, source];
    const caption = {
      title: [title, subject].filter(Boolean).join(": "),
      ...{ sentence, source: below.filter(Boolean).join(" ") },
    };
    const host = document.createElement("div");
    host.className = "for-saving unseen";
    section.current.append(host);
    render(props.drawing?.() ?? null, host);
    const picture = pictureOf(section.current, format, caption).finally(() => host.remove());
    save(`${name}.${format}`, await picture);
  };
  // The button itself shows that the text was copied. A message below it would move the content.
  const copyButton = (name: string, text: string) =>
    button(copiedBy === name ? "copied" : name, async () => {
      if (await copied(text)) setCopiedBy(name);
      else setMessage(text);
    });
  return html`<section id=${props.anchor} class=${`card ${props.class ?? ""}`} aria-labelledby=${id} ref=${section}>
    <header>
      <h2 id=${id}>${title}</h2>
      <p class="about quiet">${about}</p>
    </header>
    ${isFigures && figures ? html`<${FiguresTable} figures=${figures} caption=${title} />` : children}
    ${source && html`<p class="source quiet small">${source}</p>`}
    <div class="actions">
      ${
        figures &&
        html`<${Menu} name="Download" card=${id}>
          ${source && !isFigures && html`${button("PNG", saveAs("png"))} ${button("SVG", saveAs("svg"))}`} ${button("CSV", saveCsv)} ${all && button(all.title, all.save)}
        <//>`
      }
      ${
        links &&
        html`<${Menu} name="Share" card=${id}>
          ${copyButton("Copy link", links.page)} ${links.embed && copyButton("Embed", `<iframe src="${links.embed}" title="${title}" width="640" height="860"></iframe>`)}
        <//>`
      }
      ${figures && !isTable && html`<${Opener} name="Table" card=${id} isOpen=${isFigures} onClick=${() => setFigures(!isFigures)} />`}
    </div>
    <p class="said quiet" role="status">${message}</p>
    <p class="unseen" role="status">${copiedBy && "Copied."}</p>
  </section>`;
}

type Cell = string | number | null;

export interface Column {
  title: string;
  /** Formats the column's numbers, which are then right-aligned. */
  write?: (value: number) => string;
}

export interface Figures {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
}

export type FigureColumn<Item> = [
  title: string,
  cellOf: (item: Item) => Cell,
  write?: (value: number) => string,
];

export const pinnedName = ({ letter, ccn, entry }: Pinned) =>
  entry ? `${letter}: ${entry.facility} (${ccn})` : `${letter}: ${ccn}`;

/** @param columns each with a title, a function that reads an item's value, and optionally a format */
export const figuresOf = <Item>(items: readonly Item[], ...columns: FigureColumn<Item>[]): Figures => ({
  columns: columns.map(([title, , write]) => ({ title, ...(write && { write }) })),
  rows: items.map((item) => columns.map(([, cellOf]) => cellOf(item))),
});

/** @param more further columns */
export const priceFigures = (entries: readonly Entry[], ...more: FigureColumn<Entry>[]): Figures =>
  figuresOf(
    entries,
    ["ccn", ({ ccn }) => ccn],
    ["hospital", ({ facility }) => facility],
    ["city", ({ city }) => city],
    ["state", ({ state }) => state],
    ["zip", ({ zip }) => zip ?? null],
    ...(entries.some(({ distance }) => distance !== undefined)
      ? ([["miles", ({ distance }) => distance ?? null]] as FigureColumn<Entry>[])
      : []),
    ["charge", ({ submitted_charge }) => submitted_charge ?? null, money],
    ["allowed", ({ medicare_allowed }) => medicare_allowed ?? null, money],
    ["services", ({ services }) => services ?? null, whole],
    ...more,
  );

export const trendFigures = (years: TrendYear[], pinned: readonly Pinned[]): Figures =>
  figuresOf<TrendYear>(
    years,
    ["year", ({ data_year }) => String(data_year)],
    ["hospitals", ({ facilities }) => facilities, whole],
    ["lower quartile", ({ p25_charge }) => p25_charge, money],
    ["median charge", ({ median_charge }) => median_charge, money],
    ["upper quartile", ({ p75_charge }) => p75_charge, money],
    ["median allowed", ({ median_allowed }) => median_allowed, money],
    ["change of charge in %, same hospitals", ({ matched }) => matched?.median_charge ?? null, change],
    ...pinned.flatMap((one): FigureColumn<TrendYear>[] => {
      const inYear = ({ data_year }: TrendYear) => one.trend?.data.find((row) => row.data_year === data_year);
      return [
        [`${pinnedName(one)}, charge`, (year) => inYear(year)?.submitted_charge ?? null, money],
        [`${pinnedName(one)}, allowed`, (year) => inYear(year)?.medicare_allowed ?? null, money],
      ];
    }),
    ["procedure", ({ name }) => name],
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

/** Writes CSV by RFC 4180, with at most two decimals. @param source a text for the last line's first field */
function csvOf({ columns, rows }: Figures, source: string | undefined): string {
  const field = (cell: Cell) => {
    const text = String((typeof cell === "number" ? Math.round(100 * cell) / 100 : cell) ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const last = source === undefined ? [] : [[source, ...columns.slice(1).map(() => null)]];
  const lines = [columns.map(({ title }) => title), ...rows, ...last];
  return lines.map((line) => `${line.map(field).join(",")}\r\n`).join("");
}

const csvFile = (figures: Figures, source: string | undefined) =>
  new Blob([csvOf(figures, source)], { type: "text/csv" });

export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser reads the content after the click, so the URL is kept for a while.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
