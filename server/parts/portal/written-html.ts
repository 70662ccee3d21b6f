import { basePath } from "../../api/endpoint.ts";
import type { WebFile } from "../../shared/messages.ts";
import { escapeHtml, headOf } from "../../shared/web-assets.ts";
import { isSynthetic, tabTitle, type Word, warningOf } from "./browser/words.ts";

/** Makes the HTML that the server writes into pages. */

export type Written = NonNullable<WebFile["slots"]>;

/**
 * Makes the texts that the server writes into a page. `title` and `description` are plain text, `sentence` and `tables`
 * are HTML.
 */
export function written(
  title: string,
  description: string,
  sentence: string,
  tables: string[],
  isHospital = false,
): Written {
  const more = `Charts and menus need JavaScript. All the numbers are in the API at ${basePath}: <a href="/openapi.json">its description</a>.`;
  return {
    head: headOf(tabTitle(title), description),
    sentence: `<div class="sentence${isHospital ? " hospital-head" : ""}">${sentence}</div>`,
    noscript: `<noscript>${tables.join("")}<p>${more}</p></noscript>`,
  };
}

/** The caveat of a synthetic sample; empty for real data. */
export const caveatOf = ({ caveat }: { caveat: string }) => (isSynthetic(caveat) ? caveat : "");

/** Makes the HTML that warns of a source's caveat; empty if the caveat needs no warning. */
export const noteOf = (source: { caveat: string }) => {
  const warning = warningOf(source.caveat);
  return warning === null
    ? ""
    : `<div class="band sample"><b>${warning.title}</b> ${escapeHtml(warning.text)}</div>`;
};

export const htmlOf = (words: readonly Word[]) =>
  words
    .map((word) =>
      typeof word === "string"
        ? escapeHtml(word)
        : `<span class="${word.kind}">${escapeHtml(word.text)}</span>`,
    )
    .join("");

type Cell = string | { href: string; text: string; more?: string };

/** Makes an HTML table from plain texts; empty if there are no rows. */
export function tableOf(caption: string, titles: readonly string[], rows: readonly Cell[][]): string {
  if (rows.length === 0) return "";
  const kind = (content: Cell) =>
    typeof content === "string" && content.startsWith("$") ? ' class="number"' : "";
  const cell = (content: Cell) =>
    typeof content === "string"
      ? `<td${kind(content)}>${escapeHtml(content)}</td>`
      : `<td><a href="${escapeHtml(content.href)}">${escapeHtml(content.text)}</a> <small class="quiet">${escapeHtml(content.more ?? "")}</small></td>`;
  const head = titles
    .map((title, i) => `<th scope="col"${kind(rows[0][i])}>${escapeHtml(title)}</th>`)
    .join("");
  const body = rows.map((row) => `<tr>${row.map(cell).join("")}</tr>`).join("");
  return `<table><caption>${escapeHtml(caption)}</caption><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}
