import { useEffect, useState } from "preact/hooks";
import { counted, whole } from "../../../../shared/browser/format.ts";
import { html } from "../../../../shared/browser/html.ts";
import { base, type Dataset, type DatasetsAnswer, pathOf } from "../answers.ts";
import { get, getFile, request } from "../api.ts";
import { Card, FiguresTable, figuresOf } from "../card.ts";
import { columns, loadingLines, notInParquet, parquetNames, typedLines } from "../columns.ts";
import { Command } from "../curl.ts";
import { otherError, useAction } from "../form.ts";
import { ErrorBand, useLoaded, WarningBand } from "../load.ts";
import { useScrollToHash } from "../location.ts";
import { save } from "../save-picture.ts";
import { start } from "../start.ts";
import { statesText, whyMissing } from "../states.ts";
import { totalsText } from "../words.ts";

/** Shows the data versions: their content, their gaps, their files, and code that loads them. */

const path = `${base}/datasets`;
const statusWords = {
  current: "current: the API answers from it unless a request names a version",
  available: "newest version of an earlier year",
  superseded: "replaced by a newer version of the same year",
};

function Page({ url }: { url: URL }) {
  const loaded = useLoaded("datasets", () => get<DatasetsAnswer>(path));
  const { view, isLate } = loaded;
  useScrollToHash(view !== null);
  return html`<h1>The data</h1>
    <${ErrorBand} of=${loaded} /> ${isLate && !view && html`<p class="quiet" role="status">Loading…</p>`}
    ${view && html`<${Versions} versions=${view.data} year=${url.searchParams.get("year")} />`}`;
}

function Versions({ versions, year }: { versions: Dataset[]; year: string | null }) {
  const years = new Set(versions.map(({ data_year }) => data_year));
  const [newest] = versions;
  const shown = versions.findIndex((one) => [String(one.data_year), one.data_version].includes(year ?? ""));
  const figures = figuresOf(
    versions,
    ["data_version", "Version", (one) => one.data_version],
    ["status", "Status", (one) => one.status],
    ["rows", "Rows", (one) => one.rows, whole],
    ["priced_rows", "Priced", (one) => one.priced_rows, whole],
    ["suppressed_rows", "Suppressed", (one) => one.suppressed_rows, whole],
    ["incomplete_rows", "Incomplete", (one) => one.incomplete_rows, whole],
    ["facilities", "Hospitals", (one) => one.facilities, whole],
    ["procedures", "Procedures", (one) => one.procedures, whole],
    ["released", "Released", (one) => one.released],
  );
  return html`<p class="lead">
      ${counted(versions.length, "version", "versions")} of ${counted(years.size, "year", "years")}. The numbers of a version never change, so cite its number.
    </p>
    <${WarningBand} caveat=${newest.caveat} />
    <${Card}
      title="Versions"
      about="rows: one hospital and procedure each; suppressed: CMS leaves amounts out where a hospital had 10 services or fewer"
      name="versions"
      figures=${() => figures}
      isTable
    ><${FiguresTable} figures=${figures} caption="Figures of the versions" /><//>
    ${versions.map((version, i) => html`<${Version} key=${version.data_version} version=${version} isFirst=${i === Math.max(0, shown)} />`)}`;
}

function Version({ version, isFirst }: { version: Dataset; isFirst: boolean }) {
  const [isOpen, setOpen] = useState(isFirst || location.hash === `#${version.data_version}`);
  const { data_version: name, status, released, source_url, coverage, verify } = version;
  const onToggle = (event: Event & { currentTarget: HTMLDetailsElement }) =>
    setOpen(event.currentTarget.open);
  return html`<details class="card version" id=${name} open=${isOpen} onToggle=${onToggle}>
    <summary><h2>${name}</h2> <span class="quiet">${statusWords[status]}</span></summary>
    ${
      isOpen &&
      html`<div class="parts">
        <section aria-label=${`Files of ${name}`}>
          <h3>Download</h3>
          <${Downloads} version=${name} />
          <details class="more"><summary>by curl</summary>
            <${Command} text=${`curl -OJ -H "Authorization: Bearer $KEY" \\\n  "${new URL(pathOf("/export.csv", {}, name), location.origin)}"`} />
          </details>
        </section>
        <section>
          <h3>Cite it</h3>
          <${Command} label="Citation" text=${citationOf(version)} />
        </section>
        <section>
          <h3>What is in it</h3>
          <p>${version.title}, by ${version.publisher}. It has prices from ${statesText(coverage.states)}: <span class="quiet">${coverage.states.join(" ")}</span></p>
          <p>${released === null ? "The release date is unknown." : `Released ${released}.`} ${source_url && html`<a href=${source_url} rel="noreferrer">The source</a>`}</p>
          <p class="quiet">${version.caveat}</p>
          ${version.totals && html`<p>${totalsText(version.totals)}</p>`}
        </section>
        <section>
          <h3>What is missing</h3>
          <${Gaps} coverage=${coverage} />
        </section>
        <${Loading} version=${version} />
        <section class="wide">
          <h3>Checksum (SHA-256)</h3>
          <dl class="facts">
            <dt class="quiet">the rows, the same for every file format</dt><dd><code>${version.content_sha256}</code></dd>
            ${verify && html`<dt class="quiet">CMS's file ${verify.file}</dt><dd><code>${verify.sha256}</code></dd>`}
          </dl>
          <details class="more"><summary>check them by DuckDB</summary>
            ${verify && html`<p>This statement for <a href="https://duckdb.org">DuckDB</a> counts the rows of CMS's file, and adds up their amounts:</p><${Command} text=${verify.sql} label="Rows and sums" />`}
            <p>This one gives the checksum of the rows from the Parquet file <b>${`opps-${name}.parquet`}</b>:</p><${Command} text=${version.content_sql} label="Checksum of the rows" />
          </details>
        </section>
      </div>`
    }
  </details>`;
}

function Gaps({ coverage }: { coverage: Dataset["coverage"] }) {
  const byReason = Map.groupBy(coverage.missing_states, whyMissing);
  const without = coverage.procedures_without_prices;
  return html`<ul>
    ${[...byReason].map(([reason, states]) => html`<li><b>${states.map(({ state }) => state).join(", ")}</b>: ${reason}</li>`)}
    ${without.length > 0 && html`<li><b>${without.join(", ")}</b>: ${without.length === 1 ? "a procedure" : "procedures"} without a price, because every row is suppressed or incomplete</li>`}
  </ul>
  ${byReason.size === 0 && without.length === 0 && html`<p>Nothing is missing: every state and every procedure has prices.</p>`}`;
}

const citationOf = ({ publisher, title, data_version, released, content_sha256 }: Dataset) =>
  `${publisher}${released === null ? "" : ` (${released})`}. ${title}. Version ${data_version}.\n${new URL(`/data#${data_version}`, location.origin)}\nSHA-256 of the rows: ${content_sha256}`;

function Loading({ version }: { version: Dataset }) {
  const names = Object.keys(columns);
  return html`<section class="wide">
      <h3>Columns of CSV and Arrow, and of Parquet</h3>
      <dl class="facts">${names.map((name) => {
        const [type, meaning] = (columns[name] ?? " | ").split(" | ");
        const other = parquetNames[name];
        return html`<dt class="quiet"><code>${name}</code></dt><dd>${meaning} <span class="quiet">· ${type}${other && html`; in Parquet <code>${other}</code>${other.endsWith("_cents") && ", an integer in cents"}`}${notInParquet.includes(name) && "; not in Parquet"}</span></dd>`;
      })}</dl>
    </section>
    <section class="wide">
      <h3>Load the files</h3>
      ${Object.entries({
        ...prefixed(loadingLines(version.data_version, names)),
        ...typedLines(version.data_version),
      }).map(
        ([tool, text]) =>
          html`<p class="quiet small">${tool}</p><${Command} text=${text} label=${`Loading by ${tool}`} />`,
      )}
    </section>`;
}

const prefixed = (lines: Record<string, string>) =>
  Object.fromEntries(Object.entries(lines).map(([tool, text]) => [`CSV in ${tool}`, text]));

const formats = [
  ["CSV", "csv", "for spreadsheets; amounts in dollars"],
  ["Arrow", "arrow", "for data frames; amounts in dollars"],
  ["Parquet", "parquet", "the snapshot itself, smallest; amounts in cents"],
] as const;

const megabytes = (bytes: number) => (bytes < 50_000 ? "< 0.1 MB" : `${(bytes / 1e6).toFixed(1)} MB`);

function Downloads({ version }: { version: string }) {
  return html`<ul class="downloads">
    ${formats.map(([name, ending, about]) => html`<${Download} key=${ending} version=${version} name=${name} ending=${ending} about=${about} />`)}
  </ul>`;
}

/** Downloads a file by script, because a link can't send the key. */
function Download({ version, name, ending, about }: Record<"version" | "name" | "ending" | "about", string>) {
  const path = pathOf(`/export.${ending}`, {}, version);
  const [bytes, setBytes] = useState(0);
  const [message, setMessage] = useState("");
  const { failure, isBusy, run } = useAction();
  useEffect(() => {
    // If the size can't be read, the file can still be downloaded.
    request(path, { method: "HEAD" }).then(
      ({ ok, headers }) => setBytes(ok ? Number(headers.get("Content-Length")) : 0),
      () => {},
    );
  }, [path]);
  const download = () =>
    run(async () => {
      setMessage("");
      const file = `opps-${version}.${ending}`;
      save(file, await getFile(path));
      setMessage(`${file} is saved.`);
    });
  return html`<li>
    <button type="button" class="primary" aria-disabled=${isBusy} onClick=${download} aria-label=${`Download ${version} as ${name}`}>${name}</button>
    <span class="size">${bytes > 0 && megabytes(bytes)}</span>
    <span class="quiet">${about}</span>
    ${isBusy && html`<progress aria-label=${`${name} of ${version}`}></progress>`}
    <span class="good" role="status">${message}</span>
    <span class="error" role="alert">${otherError(failure)}</span>
  </li>`;
}

start(Page);
