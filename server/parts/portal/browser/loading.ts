import { useEffect, useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import type { Dataset, ProceduresAnswer } from "./answers.ts";
import { ask, getFile, pathOf } from "./api.ts";
import { columns, loadingLines } from "./columns.ts";
import { Command } from "./curl.ts";

/** Shows a data version's columns and first rows, and code that loads its CSV. */

const shownRows = 3;

export function Loading({ version }: { version: Dataset }) {
  const { data_version, coverage } = version;
  const [lines, setLines] = useState<string[]>([]);
  useEffect(() => {
    // A small part of the file, as its text: one procedure group in one state.
    const [state] = coverage.states;
    ask<ProceduresAnswer>(pathOf("/healthcare/procedures", { state, limit: 1 }, data_version))
      .then(({ data: [first] }) =>
        getFile(pathOf("/export.csv", { state, procedure: first.code }, data_version)),
      )
      .then((file) => file.text())
      .then(
        (text) => setLines(text.split("\r\n").slice(0, 1 + shownRows)),
        () => {},
      );
  }, [data_version]);
  const names = lines[0]?.split(",") ?? Object.keys(columns);
  return html`<section class="wide">
      <h3>Columns</h3>
      <dl class="facts">${names.map((name) => {
        const [type, meaning] = (columns[name] ?? " | ").split(" | ");
        return html`<dt><code>${name}</code></dt><dd>${meaning} <span class="quiet">· ${type}</span></dd>`;
      })}</dl>
    </section>
    ${
      lines.length > 0 &&
      html`<section class="wide">
        <h3>First rows</h3>
        <pre class="answer" tabindex="0" role="region" aria-label=${`First rows of ${data_version}`}>${lines.join("\n")}</pre>
      </section>`
    }
    <section class="wide">
      <h3>Load the CSV</h3>
      ${Object.entries(loadingLines(data_version, names)).map(
        ([tool, text]) =>
          html`<p class="quiet small">${tool}</p><${Command} text=${text} label=${`Loading by ${tool}`} />`,
      )}
    </section>`;
}
