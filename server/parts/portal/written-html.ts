import { basePath } from "../../api/endpoint.ts";
import type { WebFile } from "../../shared/messages.ts";
import { escapeHtml, headOf, jsonElement } from "../../shared/web-assets.ts";
import type { Known } from "./browser/answers.ts";
import { isSynthetic, tabTitle, type Word, warningOf } from "./browser/words.ts";

/** Makes the HTML that the server writes into pages. */

export type Written = NonNullable<WebFile["slots"]>;

/** Makes a field as the page's script shows it, so that nothing moves. The texts are plain; no detail is shown if empty. */
function fieldOf(name: string, label: string, value: string, detail = ""): string {
  const more = detail && `<small class="detail quiet">${escapeHtml(detail)}</small>`;
  return `<div class="field ${name}"><label>${label}</label><input type="text" disabled value="${escapeHtml(value)}">${more}</div>`;
}

export const yearField = (year: string) => fieldOf("year", "Year", year);

/** Makes the fields of the Explore page. All texts are plain. */
export function controlsOf(
  shown: Record<"procedure" | "detail" | "place" | "compared" | "year", string>,
): string {
  const fields = [
    fieldOf("procedure", "Procedure", shown.procedure, shown.detail),
    fieldOf("place", "State, city or ZIP code", shown.place),
    fieldOf("hospital", "Compare a hospital", "", shown.compared),
    yearField(shown.year),
  ];
  return `<search class="controls">${fields.join("")}</search>`;
}

interface Words {
  /** HTML of the fields before the sentence. */
  controls?: string;
  /** Plain text. */
  title: string;
  /** Plain text. */
  description: string;
  /** HTML. */
  sentence: string;
  /** HTML. */
  tables: string[];
  isHospital?: boolean;
}

/** Makes the search form of pages without JavaScript; empty for a picture in a frame. */
export const formOf = (path: string): string =>
  path.startsWith("/embed")
    ? ""
    : '<form action="/" role="search"><label>Procedure, and a place such as “in Austin, TX” <input name="q" maxlength="200"></label> <button>Search</button></form>';

/** Makes the texts that the server writes into a page. @param known the answers that the words are made from */
export function written(
  { title, description, controls = "", sentence, tables, isHospital }: Words,
  known: Known,
): Written {
  const more = `Charts and menus need JavaScript. All the numbers are in the API at ${basePath}: <a href="/openapi.json">its description</a>.`;
  return {
    head: headOf(tabTitle(title), description),
    sentence: `${controls}<div class="sentence${isHospital ? " heading" : ""}">${sentence}</div>`,
    noscript: `<noscript>${tables.join("")}<p>${more}</p></noscript>`,
    answers: jsonElement("answers", known),
  };
}

/** The caveat of a synthetic sample; empty for real data. */
export const caveatOf = ({ caveat }: { caveat: string }) => (isSynthetic(caveat) ? caveat : "");

/** Makes the HTML that warns of a source's caveat; empty if the caveat needs no warning. */
export const noteOf = (source: { caveat: string }) => {
  const warning = warningOf(source.caveat);
  return warning === null
    ? ""
    : `<div class="band sample"><b>${warning.title}</b> ${escapeHtml(warning.text)} <span class="further">${escapeHtml(warning.further)}</span></div>`;
};

export const htmlOf = (words: readonly Word[]) =>
  words
    .map((word) =>
      typeof word === "string"
        ? escapeHtml(word)
        : `<span class="${word.kind}">${escapeHtml(word.text)}</span>`,
    )
    .join("");

type TableCell = string | { href: string; text: string; more?: string };

/** Makes an HTML table from plain texts; empty if there are no rows. */
export function tableOf(caption: string, titles: readonly string[], rows: readonly TableCell[][]): string {
  if (rows.length === 0) return "";
  const kind = (content: TableCell) =>
    typeof content === "string" && content.startsWith("$") ? ' class="number"' : "";
  const cell = (content: TableCell) =>
    typeof content === "string"
      ? `<td${kind(content)}>${escapeHtml(content)}</td>`
      : `<td><a href="${escapeHtml(content.href)}">${escapeHtml(content.text)}</a> <small class="quiet">${escapeHtml(content.more ?? "")}</small></td>`;
  const head = titles
    .map((title, i) => `<th scope="col"${kind(rows[0][i])}>${escapeHtml(title)}</th>`)
    .join("");
  const body = rows.map((row) => `<tr>${row.map(cell).join("")}</tr>`).join("");
  return `<table><caption>${escapeHtml(caption)}</caption><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}
