import type { ComponentChild, ComponentChildren, RefObject } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import * as d3 from "../../../shared/browser/d3.ts";
import { change, money, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Dataset, Entry, ProcedureAnswer, TrendsAnswer, TrendYear } from "./answers.ts";
import { asFailure } from "./api.ts";
import { copied } from "./curl.ts";
import type { Pinned } from "./explore-data.ts";
import { Menu, Opener } from "./form.ts";
import { useDrawn } from "./location.ts";
import { csvOf, drawnIn, type FigureCell, type PictureFormat, pictureOf, save } from "./save-picture.ts";
import { checkTitle, isSynthetic, paysTitle, shareOf, tabTitle, warningOf } from "./words.ts";

/** Frames a picture. Buttons below it offer the picture and its numbers as files, a link, and the numbers as a table. */

interface CardProps {
  title: string;
  about: ComponentChildren;
  /** Name of saved files, without the ending. */
  name: string;
  /** Makes the numbers for a table and a file; undefined if there are none. */
  figures?: (() => Figures) | undefined;
  isTable?: boolean;
  /** Gets all rows for the CSV. Without it, the CSV has the rows of `figures`. */
  all?: (() => Promise<Figures>) | undefined;
  /** What the title alone doesn't say, such as the procedure and the year. */
  subject?: string;
  /** Makes texts for a saved picture and for citing. @param rows rows in the picture; undefined for as many as shown */
  saved?: (rows?: number) => Saved;
  /** Makes the source for saved files, citations, frames and paper; undefined if the picture can't be saved. */
  source?: (() => Source) | undefined;
  /** Makes a drawing for a saved file, in place of the card's children. @param rows see `saved` */
  drawing?: (rows?: number) => ComponentChild;
  /** The numbers of rows that a saved picture may have, apart from the number on the screen. */
  rowCounts?: readonly number[];
  anchor?: string;
  /** Makes permanent URLs of the page with all pictures, and of the picture alone. */
  links?: (() => { page: string; embed?: string | undefined }) | undefined;
  class?: string;
  children?: ComponentChildren;
}

interface Saved {
  sentence?: string;
  /** Which part of the rows is shown; empty if all are. */
  part?: string;
  /** A sentence with its year, for citing. */
  cited?: string;
}

/** What is written next to numbers that are shown outside the page. */
interface Source {
  /** Compared hospitals by letter, and the origin. */
  text: string;
  /** Publisher and title, versions, and warnings. */
  origin: string;
  /** Whether some of the numbers are invented. A saved picture then has a warning band. */
  isSample: boolean;
}

/** Writes years as a range, or as a list if years between the first and the last are missing. */
export function yearsText(some: readonly number[]): string {
  const years = [...new Set(some)].sort();
  const [first, last] = [years[0], years[years.length - 1]];
  return years.length > 1 && last - first === years.length - 1 ? `${first}–${last}` : years.join(", ");
}

/** Describes the source of numbers. Titles that differ only in the year are written once: "Title, 2022–2024". */
export function sourceOf(
  versions: readonly string[],
  datasets: readonly Dataset[],
  pinned: readonly Pinned[] = [],
): Source {
  const shown = versions.flatMap((version) => datasets.filter((one) => one.data_version === version));
  const titles = [...Map.groupBy(shown, untitledYear)].map(([title, some]) => {
    return title.replace("<year>", yearsText(some.map(({ data_year }) => data_year)));
  });
  // For a synthetic sample, the title already says that the data is a sample.
  const real = shown.filter(({ caveat }) => !isSynthetic(caveat));
  const warnings = [...new Set(real.flatMap(({ caveat }) => warningOf(caveat)?.text ?? []))].join(" ");
  const names = pinned.map(({ letter, ccn, entry }) => `${letter}: ${entry?.facility ?? ccn}. `).join("");
  const numbers = `${versions.length > 1 ? "versions" : "version"} ${versions.join(", ")}`;
  const origin = `${titles.join("; ") || "this site"} (${numbers}).${warnings && ` ${warnings}`}`;
  return {
    text: `${names}Source: ${origin}`,
    origin,
    isSample: real.length < shown.length,
  };
}

const untitledYear = ({ publisher, title, data_year }: Dataset) =>
  `${publisher}, ${title.replace(String(data_year), "<year>")}`;

export function Card(props: CardProps) {
  const { title, about, figures, children } = props;
  const id = useId();
  const section = useRef<HTMLElement>(null);
  const [isFigures, setFigures] = useState(false);
  const isDrawn = useDrawn();
  return html`<section id=${props.anchor} class=${`card ${props.class ?? ""}`} aria-labelledby=${id} ref=${section}>
    <header>
      <h2 id=${id}>${title}</h2>
      <p class="about quiet">${about}</p>
    </header>
    ${isFigures && figures ? html`<${FiguresTable} figures=${figures()} caption=${title} />` : children}
    ${isDrawn ? html`<${Tools} ...${props} id=${id} section=${section} isFigures=${isFigures} toggle=${() => setFigures(!isFigures)} />` : html`<div class="actions"></div>`}
  </section>`;
}

/** @param address the page's permanent URL, or the host */
const checkedAt = (address: string) =>
  `${address} has statements to check each number, under “${checkTitle}”.`;

const titledBy = (title: string, subject = "") => [title, subject].filter(Boolean).join(": ");

interface ToolsProps extends CardProps {
  id: string;
  section: RefObject<HTMLElement>;
  isFigures: boolean;
  toggle: () => void;
}

/** The buttons need the script, so only the browser draws them. */
function Tools(props: ToolsProps) {
  const { title, about, name, figures, isTable = false, all, links, children } = props;
  const { id, section, isFigures, toggle, rowCounts = [], subject = "" } = props;
  const [rows, setRows] = useState<number>();
  const source = props.source?.();
  const [message, setMessage] = useState("");
  /** Name of the button that copied a text, until the next save or copy. */
  const [copiedBy, setCopiedBy] = useState("");
  const [busy, setBusy] = useState("");
  const act = (text: string, work: () => Promise<void>) => {
    if (busy !== "") return;
    setMessage("");
    setCopiedBy("");
    setBusy(text);
    work()
      .catch((error) => setMessage(`${text} wasn't saved: ${asFailure(error).message}`))
      .finally(() => setBusy(""));
  };
  const button = (text: string, work: () => Promise<void>, doing = "saving…") =>
    html`<button type="button" class="plain" aria-describedby=${id} onClick=${() => act(text, work)}>${busy === text ? doing : text}</button>`;
  /** The source is a column, because a CSV file has only rows. */
  const saveCsv = async () => {
    const { columns, rows } = (await all?.()) ?? figures?.() ?? { columns: [], rows: [] };
    const [head, about] =
      source === undefined ? [[], []] : [["source"], [`${source.origin} ${checkedAt(address)}`]];
    const lines = [
      [...columns.map((column) => column.name), ...head],
      ...rows.map((row) => [...row, ...about]),
    ];
    save(`${name}.csv`, csvOf(lines));
  };
  const saveAs = (format: PictureFormat) => async () => {
    if (section.current === null || source === undefined) return;
    const { sentence = "", part = "" } = props.saved?.(rows) ?? {};
    const note = section.current.querySelector("p.small:not(.source)")?.textContent ?? "";
    const said =
      typeof about === "string" && ![sentence, subject].includes(about) ? about.replace(/\.?$/, ".") : "";
    const caption = {
      ...{ title: titledBy(title, subject), sentence: [part, sentence].filter(Boolean).join(" ") },
      ...{
        source: [said, note, source.text, checkedAt(address)].filter(Boolean).join(" "),
        isSample: source.isSample,
      },
    };
    const host = await drawnIn(section.current, props.drawing?.(rows) ?? children);
    save(`${name}.${format}`, await pictureOf(host, format, caption));
  };
  // The button itself shows that the text was copied. A message below it would move the content.
  const copyButton = (name: string, text: string) =>
    button(
      copiedBy === name ? "copied" : name,
      async () => {
        if (await copied(text)) setCopiedBy(name);
        else setMessage(text);
      },
      name,
    );
  // A printed card has the URL of the page, and says what the card shows.
  const paper = (text: string) => html`<span class="paper-only">${text}</span>`;
  const address = links?.().page ?? location.host;
  return html`${source && html`<p class="source quiet small">${subject && paper(`${subject}. `)}${source.text}${paper(` ${checkedAt(address)}`)}</p>`}
    <div class="actions">
      ${
        figures &&
        html`<${Menu} name="Download" card=${id}>${() =>
          html`${
            source &&
            !isFigures &&
            rowCounts.length > 0 &&
            html`<label>Rows <select value=${rows ?? ""} onChange=${(event: Event & { currentTarget: HTMLSelectElement }) => setRows(Number(event.currentTarget.value) || undefined)}>
              <option value="">as shown</option>${rowCounts.map((count) => html`<option value=${count}>${count}</option>`)}</select></label>`
          }${source && !isFigures && html`${button("PNG", saveAs("png"))} ${button("SVG", saveAs("svg"))}`} ${button("CSV", saveCsv)}`}<//>`
      }
      ${
        links &&
        html`<${Menu} name="Share" card=${id}>${() => {
          const { page, embed } = links();
          const frame = `<iframe src="${embed}" title="${title}" width="640" height="860"></iframe>`;
          const { sentence = "", cited = sentence } = props.saved?.() ?? {};
          const from = `Source: ${source?.origin ?? location.host} ${page}`;
          return html`${copyButton("Copy link", page)} ${cited && copyButton("Copy sentence with source", `${cited} ${from}`)} ${copyButton("Copy citation", `${tabTitle()}: ${titledBy(title, subject)}. ${from}`)} ${embed && copyButton("Embed", frame)}`;
        }}<//>`
      }
      ${figures && !isTable && html`<${Opener} name="Table" card=${id} isOpen=${isFigures} onClick=${toggle} />`}
    </div>
    <p class="said quiet" role="status">${message}</p>
    <p class="unseen" role="status">${copiedBy && "Copied."}</p>`;
}

export interface FigureHead {
  name: string;
  /** The title in the page's table; null if only the saved file has the column. */
  title: string | null;
  /** Formats the column's numbers, which are then right-aligned. */
  write?: (value: number) => string;
  /** Whether the page's table has this column after the others, so that the others are in view on a phone. */
  isLast?: boolean | undefined;
}

export interface Figures {
  columns: readonly FigureHead[];
  rows: readonly (readonly FigureCell[])[];
}

export type FigureColumn<Item> = [
  name: string,
  title: string | null,
  cellOf: (item: Item) => FigureCell,
  write?: ((value: number) => string) | undefined,
  isLast?: boolean,
];

export const pinnedName = ({ letter, ccn, entry }: Pinned) =>
  entry ? `${letter}: ${entry.facility} (${ccn})` : `${letter}: ${ccn}`;

export const figuresOf = <Item>(items: readonly Item[], ...columns: FigureColumn<Item>[]): Figures => ({
  columns: columns.map(([name, title, , write, isLast]) => ({
    name,
    title,
    ...(write && { write }),
    isLast,
  })),
  rows: items.map((item) => columns.map(([, , cellOf]) => cellOf(item))),
});

export const versionColumns = ({
  data_year,
  data_version,
}: Record<"data_year" | "data_version", number | string>): FigureColumn<unknown>[] => [
  ["data_year", null, () => data_year],
  ["data_version", null, () => data_version],
];

export const groupColumns = ({ code, name }: { code: string; name: string }): FigureColumn<unknown>[] => [
  ["code", null, () => code],
  ["procedure", null, () => name],
];

/**
 * Most columns are columns of `/export.csv`, with the same names and in the same order. Those for what a patient pays
 * and for the distance are added.
 */
export const priceFigures = (
  entries: readonly Entry[],
  { procedure, source }: Pick<ProcedureAnswer, "procedure" | "source">,
): Figures =>
  figuresOf(
    entries,
    ...versionColumns(source),
    ["ccn", "ccn", ({ ccn }) => ccn, undefined, true],
    ["facility", "hospital", ({ facility }) => facility],
    ["city", "city", ({ city }) => city, undefined, true],
    ["state", "state", ({ state }) => state, undefined, true],
    ...groupColumns(procedure),
    ["submitted_charge", "charge", ({ submitted_charge }) => submitted_charge ?? null, money],
    ["medicare_allowed", "allowed", ({ medicare_allowed }) => medicare_allowed ?? null, money],
    [paysName, paysTitle.toLowerCase(), (entry) => paysOf(entry, source.data_year), money],
    ...(entries.some(({ distance }) => distance !== undefined)
      ? ([["distance", "miles", ({ distance }) => distance ?? null]] as FigureColumn<Entry>[])
      : []),
    ["zip", "zip", ({ zip }) => zip ?? null, undefined, true],
    ["services", "services", ({ services }) => services ?? null, whole],
  );

export const paysName = "you_pay";
export const paysOf = ({ medicare_allowed }: Pick<Entry, "medicare_allowed">, year: number) =>
  typeof medicare_allowed === "number" ? shareOf(medicare_allowed, year) : null;

export const trendFigures = ({ data, procedure }: TrendsAnswer, pinned: readonly Pinned[]): Figures =>
  figuresOf<TrendYear>(
    data,
    ["data_year", "year", ({ data_year }) => String(data_year)],
    ["data_version", null, ({ data_version }) => data_version],
    ["code", null, () => procedure.code],
    ["procedure", null, ({ name }) => name],
    ["facilities", "hospitals", ({ facilities }) => facilities, whole],
    ["p25_charge", "lower quartile", ({ p25_charge }) => p25_charge, money],
    ["median_charge", "median charge", ({ median_charge }) => median_charge, money],
    ["p75_charge", "upper quartile", ({ p75_charge }) => p75_charge, money],
    ["median_allowed", "median allowed", ({ median_allowed }) => median_allowed, money],
    [
      "matched_median_charge",
      "change of charge in %, same hospitals",
      ({ matched }) => matched?.median_charge ?? null,
      change,
    ],
    ...pinned.flatMap((one): FigureColumn<TrendYear>[] => {
      const inYear = ({ data_year }: TrendYear) => one.trend?.data.find((row) => row.data_year === data_year);
      return [
        [
          `submitted_charge_${one.ccn}`,
          `${pinnedName(one)}, charge`,
          (year) => inYear(year)?.submitted_charge ?? null,
          money,
        ],
        [
          `medicare_allowed_${one.ccn}`,
          `${pinnedName(one)}, allowed`,
          (year) => inYear(year)?.medicare_allowed ?? null,
          money,
        ],
      ];
    }),
  );

const written = (cell: FigureCell, { write }: FigureHead) =>
  cell === null ? "–" : typeof cell === "number" && write ? write(cell) : cell;

export function FiguresTable({ figures, caption }: { figures: Figures; caption: string }) {
  const { columns, rows } = figures;
  const kind = ({ write }: FigureHead) => (write ? "number" : undefined);
  const shown = [...columns.keys()].filter((i) => columns[i].title !== null);
  const order = d3.sort(shown, (i) => Number(columns[i].isLast ?? false));
  return html`<div class="figures" tabindex="0" role="region" aria-label=${`Table: ${caption}`}>
    <table>
      <caption class="unseen">${caption}</caption>
      <thead>
        <tr>${order.map((i) => html`<th scope="col" class=${kind(columns[i])}>${columns[i].title}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>${order.map((i) => html`<td class=${kind(columns[i])}>${written(row[i], columns[i])}</td>`)}</tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
