import { html } from "../../../shared/browser/html.ts";
import { base } from "./answers.ts";
import { type Choice, maxWordsLength } from "./choice.ts";
import { context } from "./context.ts";
import { chosenAt } from "./location.ts";

/** Shows what only browsers without JavaScript get. */

interface SearchFormProps {
  text: string;
  choice: Choice;
}

/** A form to search by words. It keeps the year and the compared hospitals. */
export function SearchForm({ text, choice: { year, pinned } }: SearchFormProps) {
  const kept = Object.entries({ year: year ?? "", with: pinned.join(",") }).filter(
    ([, value]) => value !== "",
  );
  return html`<noscript><form class="words" action="/"><div class="field"><label for="q">Procedure, and a place such as “in Austin, TX”</label><input id="q" name="q" maxlength=${maxWordsLength} value=${text} /></div>
    ${kept.map(([name, value]) => html`<input type="hidden" name=${name} value=${value} />`)}<button>Search</button></form></noscript>`;
}

export const YearLinks = ({ years, shown }: { years: readonly string[]; shown: string }) =>
  html`<noscript><p class="years">Year: ${years.map((year, i) => html`${i > 0 && " "}${year === shown ? html`<b>${year}</b>` : html`<a href=${chosenAt({ year })}>${year}</a>`}`)}</p></noscript>`;

export const PicturesNote = () =>
  html`<noscript><p>Charts and menus need JavaScript. All the numbers are in the API at ${base}: <a href="/openapi.json">its description</a>.</p></noscript>`;

/** @param title the page's heading; empty if the page already has a heading */
export function NeedsScript({ title = "" }: { title?: string }) {
  const endings = ["csv", "arrow", "parquet"];
  const form = html`the form at <a href="/signup">Get a key</a>, which needs JavaScript, or from `;
  return html`<noscript>${title && html`<h1>${title}</h1>`}<p>This page needs JavaScript. Without it, these have all the numbers:</p>
    <ul>
      <li><a href="/">Explore</a>: prices of a procedure, as a table</li>
      <li>the API at ${base}, with a key; <a href="/openapi.json">its description</a> needs none</li>
      <li>all rows, with a key: ${endings.map((ending, i) => html`${i > 0 && ", "}<code>${base}/export.${ending}</code>`)}</li>
    </ul>
    <p>A key comes from ${context.settings.signup !== "off" && form}whoever runs this server.</p></noscript>`;
}
