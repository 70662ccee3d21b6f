import { useEffect, useState } from "preact/hooks";
import { html } from "../../../../shared/browser/html.ts";
import { base, type FacilitiesAnswer, type ProceduresAnswer, pathOf } from "../answers.ts";
import { ask, get, ownKey } from "../api.ts";
import { context } from "../context.ts";
import { Command } from "../curl.ts";
import { ErrorBand, useLoaded } from "../load.ts";
import { useScrollToHash } from "../location.ts";
import {
  choicesOf,
  type OpenApi,
  type Operation,
  operationsOf,
  type Parameter,
  resolved,
  typeOf,
} from "../openapi.ts";
import { curlOf, loopOf } from "../programs.ts";
import { start } from "../start.ts";
import { TryIt, textOf } from "../try-it.ts";

/**
 * Shows the API's reference, made from the API's OpenAPI document. The document's texts are Markdown.
 *
 * No viewer from npm is used. Scalar 1.72.1, Redoc 3.0.1, RapiDoc 9.3.8 and Stoplight Elements 9.0.25 insert inline
 * styles without a nonce, evaluate code or send requests to other hosts. axe-core finds critical faults in all of them
 * except Redoc, and Redoc can't try requests.
 */

const manyChoices = 12;
const loopHeading = "All pages of a list";

type Examples = Readonly<Record<string, string>>;

function Page() {
  const loaded = useLoaded("openapi", async () => {
    // Without data, the reference uses the document's examples.
    const examples = loadedExamples().catch(() => ({}));
    const document = await get<object>(`${base}/openapi.json`);
    const known = (await examples) as Examples;
    const operations = operationsOf(resolved(document, document) as OpenApi, known);
    return {
      document: resolved(document, document) as OpenApi,
      operations,
      examples: known,
      first: await firstOf(operations, known),
    };
  });
  const { view, isLate } = loaded;
  useScrollToHash(view !== null);
  const current = useCurrentSection(view !== null);
  if (!view)
    return html`<h1>API reference</h1>
      <${ErrorBand} of=${loaded} /> ${isLate && html`<p class="quiet" role="status">Loading…</p>`}`;
  const { tags, info } = view.document;
  const operations = tags.flatMap(({ name }) => view.operations.filter(({ tag }) => tag === name));
  const [about, ...chapters] = info.description.split(/\n\n(?=## )/);
  const headings = chapters.map((chapter) => chapter.slice(3, chapter.indexOf("\n")));
  return html`<div class="reference">
    <header>
      <h1>API reference</h1>
      <div class="lead"><${Markdown} text=${about} /></div>
      <p>Made from <a href="#openapi"><code>openapi.json</code></a>, from which tools can generate clients. Requests from this page use your key if this browser has one, and the key of these pages otherwise.</p>
    </header>
    <nav class="contents" aria-label="On this page">
      <ul><li><a href="#first">${firstHeading}</a></li></ul>
      <p class="quiet">For all requests</p>
      <ul>${[...headings, loopHeading].map((heading) => html`<li><a href=${`#${anchorOf(heading)}`}>${heading}</a></li>`)}</ul>
      ${tags.map(
        ({ name, description }) => html`<p class="quiet">${description}</p>
          <ul>
            ${operations.filter(({ tag }) => tag === name).map(({ id, path }) => html`<li><a href=${`#${id}`} aria-current=${id === current ? "true" : undefined}><code>${shortOf(path)}</code></a></li>`)}
          </ul>`,
      )}
    </nav>
    <div class="operations">
      <${First} of=${view.first} />
      <section class="card general">
        ${chapters.map((chapter) => html`<${Markdown} text=${chapter} />`)}
        <h2 id=${anchorOf(loopHeading)}>${loopHeading}</h2>
        <${Command} text=${loopOf(view.examples.procedure ?? "5115", location.origin)} label="Python that reads all pages of a list" />
      </section>
      ${operations.map((operation) => html`<${Section} key=${operation.id} operation=${operation} />`)}
    </div>
  </div>`;
}

const firstHeading = "A first request";

async function firstOf(operations: readonly Operation[], { procedure }: Examples): Promise<FirstRequest> {
  const path = `${base}/healthcare/prices?procedure=${procedure}&limit=2`;
  const answer = procedure === undefined ? null : await get<object>(path).catch(() => null);
  if (answer !== null) return { path, answer, isSample: false };
  const { example, path: plain } = operations.find(({ id }) => id === "prices") ?? operations[0];
  return { path: example?.path ?? plain, answer: example?.value, isSample: true };
}

interface FirstRequest {
  path: string;
  answer: unknown;
  /** Whether the answer is the document's example, from the synthetic sample that a first start writes. */
  isSample: boolean;
}

function First({ of: { path, answer, isSample } }: { of: FirstRequest }) {
  const key =
    ownKey() !== null
      ? html`This browser has a key: see <a href="/account">your account</a>.`
      : context.settings.signup === "off"
        ? html`You get a key from whoever runs this server.`
        : html`<a href="/signup">Get a key</a>: it is free.`;
  return html`<section class="card first" id="first" aria-labelledby="first-title">
    <h2 id="first-title">${firstHeading}</h2>
    <p>${key} Put it into <code>KEY</code> by <code>export KEY=hcq_…</code>, and ask what hospitals charge for a procedure:</p>
    <${Command} text=${curlOf(path, location.origin)} label="The first request" />
    <p>${isSample ? "With the synthetic sample that a first start writes, the answer is:" : "The answer:"}</p>
    <pre class="answer" tabindex="0" role="region" aria-label="The first request's answer">${textOf(answer)}</pre>
  </section>`;
}

/** Finds examples in the loaded data. The document's examples are from the synthetic sample. */
async function loadedExamples(): Promise<Record<string, string>> {
  const most = pathOf("/healthcare/procedures", { sort: "facilities", limit: 1 });
  const [{ code: procedure }] = (await ask<ProceduresAnswer>(most)).data;
  const prices = pathOf("/healthcare/facilities", { procedure, limit: 1 });
  const { data, next, source } = await ask<FacilitiesAnswer>(prices);
  const [{ ccn, facility, city, state, zip }] = data;
  return {
    ...{ procedure, code: procedure, ccn, q: facility, city, state, version: source.data_version },
    ...(zip && { near: zip }),
    ...(next !== null && { cursor: next.slice(next.lastIndexOf("/") + 1) }),
  };
}

function useCurrentSection(isThere: boolean): string {
  const [current, setCurrent] = useState("");
  useEffect(() => {
    if (!isThere) return;
    const observer = new IntersectionObserver(
      (seen) => {
        const entered = seen.find(({ isIntersecting }) => isIntersecting);
        if (entered) setCurrent(entered.target.id);
      },
      { rootMargin: "-20% 0px -80% 0px" },
    );
    for (const section of document.querySelectorAll(".operation")) observer.observe(section);
    return () => observer.disconnect();
  }, [isThere]);
  return current;
}

const shortOf = (path: string) => (path.startsWith(`${base}/`) ? path.slice(base.length) : path);

function Section({ operation }: { operation: Operation }) {
  const { id, path, summary } = operation;
  const [isOpen, setOpen] = useState(location.hash === `#${id}`);
  useEffect(() => {
    const follow = () => location.hash === `#${id}` && setOpen(true);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [id]);
  const onToggle = (event: Event & { currentTarget: HTMLDetailsElement }) =>
    setOpen(event.currentTarget.open);
  return html`<details class="card operation" id=${id} open=${isOpen} onToggle=${onToggle}>
    <summary><h2 id=${`${id}-title`}><span class="quiet">GET</span> <code>${path}</code></h2>
      <span class="summary">${inline(summary)}.</span></summary>
    ${isOpen && html`<${Details} operation=${operation} />`}
  </details>`;
}

function Details({ operation }: { operation: Operation }) {
  const { path, versionPath, description, parameters, returns, fields, errors } = operation;
  return html`<div>
    ${versionPath && html`<p class="quiet small">or <code>${versionPath}</code></p>`}
    <${Markdown} text=${description} />
    ${
      parameters.length > 0 &&
      html`<h3>Parameters</h3>
        <dl class="parameters">${parameters.map((one) => html`<${Description} parameter=${one} isVersion=${one.name === "version" && versionPath !== null} />`)}</dl>`
    }
    <h3>Answer</h3>
    <p>${inline(returns)}</p>
    ${
      fields.length > 0 &&
      html`<details class="more"><summary>${fields.length} fields</summary>
        <dl class="parameters">${fields.map(({ name, type, description }) => html`<dt><code>${name}</code> <span class="quiet">${type}</span></dt><dd>${inline(description)}</dd>`)}</dl>
      </details>`
    }
    <div class="sample-request"><h3>Try it</h3>
    <${TryIt} operation=${operation} /></div>
    <details class="more"><summary>Errors</summary>
      <${Table} label=${`Errors of ${path}`} head=${["Status", "Type", "When"]} rows=${errors.map(({ status, type, when }) => [status, `\`${type}\``, when])} />
    </details>
  </div>`;
}

function Description({ parameter, isVersion }: { parameter: Parameter; isVersion: boolean }) {
  const { name, in: place, required, description, schema } = parameter;
  const choices = choicesOf(parameter);
  const facts = [
    place === "path" ? "in the path" : undefined,
    isVersion ? "optional: the newest without it" : required ? "required" : undefined,
    choices === undefined ? typeOf(parameter) : undefined,
    schema.default === undefined ? undefined : `default ${schema.default}`,
  ];
  return html`<dt><code>${name}</code> <span class="quiet">${facts.filter(Boolean).join(" · ")}</span></dt>
    <dd>
      ${inline(description ?? "")}
      ${choices && html` <span class="quiet">${choices.length > manyChoices ? `One of ${choices.length}: the form lists them.` : `One of ${choices.join(", ")}.`}</span>`}
    </dd>`;
}

export const inline = (text: string) =>
  text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part));

export function Markdown({ text }: { text: string }) {
  return text.split(/\n{2,}/).map((block) => {
    const [first, ...rest] = block.split("\n");
    if (first.startsWith("## "))
      return html`<h2 id=${anchorOf(first.slice(3))}>${first.slice(3)}</h2>${rest.length > 0 && html`<${Markdown} text=${rest.join("\n")} />`}`;
    if (first.startsWith("|")) {
      const [head, , ...rows] = [first, ...rest].map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
      return html`<${Table} label=${`Table: ${head.join(", ")}`} head=${head} rows=${rows} />`;
    }
    return block.split("\n").map((line) => html`<p>${inline(line)}</p>`);
  });
}

export const anchorOf = (heading: string) => heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

function Table({ label, head, rows }: { label: string; head: string[]; rows: string[][] }) {
  return html`<div class="figures" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr>${head.map((cell) => html`<th scope="col">${inline(cell)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

start(Page);
