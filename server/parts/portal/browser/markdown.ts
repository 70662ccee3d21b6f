import { html } from "../../../shared/browser/html.ts";

/** Renders the Markdown of the API's description: headings, paragraphs, tables and code. */

/** Text with code, within a line. */
export const inline = (text: string) =>
  text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part));

export function Markdown({ text }: { text: string }) {
  return text.split(/\n{2,}/).map((block) => {
    const [first, ...rest] = block.split("\n");
    if (first.startsWith("## "))
      return html`<h3 id=${anchorOf(first.slice(3))}>${first.slice(3)}</h3>${rest.length > 0 && html`<${Markdown} text=${rest.join("\n")} />`}`;
    if (first.startsWith("|")) return html`<${Table} lines=${[first, ...rest]} />`;
    return block.split("\n").map((line) => html`<p>${inline(line)}</p>`);
  });
}

export const anchorOf = (heading: string) => heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

function Table({ lines }: { lines: string[] }) {
  const cellsOf = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const [head, , ...rows] = lines;
  return html`<div class="figures" tabindex="0" role="region" aria-label=${`Table: ${cellsOf(head).join(", ")}`}><table>
    <thead><tr>${cellsOf(head).map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${cellsOf(row).map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}
