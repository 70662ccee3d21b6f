import type { ComponentChild } from "preact";
import { counted, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { Failure, type ProcedureAnswer } from "./answers.ts";
import { CheckView } from "./check-fold.ts";
import { nowhere, radiusesInMiles } from "./choice.ts";
import { Command } from "./curl.ts";
import type { View } from "./explore-data.ts";
import { caveatOf, type ExploreWords } from "./explore-words.ts";
import { VersionNote, WarningBand } from "./load.ts";
import { chosenAt, hrefOf, inPlace, inYear, pinnedAt, useOrigin, withParameters } from "./location.ts";
import { seeTitle } from "./nothing.ts";
import { Chip } from "./picture.ts";
import { curlOf } from "./programs.ts";
import { isSynthetic, placeTitle, type Word } from "./words.ts";

/** Shows the text around the pictures: the sentence, the choices, and notes on how to read the pictures. */

export function Sentence({ words, view }: { words: ExploreWords; view: View }) {
  const { note } = words;
  const band = html`<${WarningBand} caveat=${caveatOf(view)} />${!note?.isGone && html`<${VersionNote} note=${note} />`}`;
  return html`${note?.isGone && html`<${VersionNote} note=${note} />`}<${Prices} words=${words} code=${view.code} band=${band} />`;
}

interface PricesProps {
  words: ExploreWords;
  code: string;
  band: ComponentChild;
}

function Prices({ words: { found, nothing, also }, code, band }: PricesProps) {
  const meant =
    also &&
    html`<p class="under small">${also.text} ${also.ways.map((way, i) => html`${i > 0 && " · "}<a href=${hrefOf(way)}>${way.text}</a>`)}</p>`;
  if (found === null) {
    const links = (nothing?.ways ?? []).map((way) => html`<a href=${hrefOf(way)}>${way.text}</a>`);
    const { title, why, see, before = "", matches = [] } = nothing ?? {};
    const other = html`<p class="under">${why} ${see && html`<a href=${see}>${seeTitle(see)}</a>`} ${links.map((link, i) => html`${(i > 0 || see) && " · "}${link}`)}</p>`;
    const list = html`${before && html`<p class="under">${before}</p>`}
      ${matches.map((way) => html`<p class="match"><a href=${hrefOf(way)}>${way.text}</a> <small class="quiet">${way.detail}</small></p>`)}`;
    // If there is no reason to give, the links to what may be meant come first.
    return html`<h1>${title}.</h1>${band}${meant}${why ? html`${other}${list}` : html`${list}${other}`}`;
  }
  const { main, share, own, paid, comparison } = found;
  return html`<h1>${main.map(shown)}</h1>${band}${meant}<p class="under small">${share}</p>
    ${own.map(
      ({ letter, ccn, name, clause }) => html`<p class="under"><b class="letter">${letter}</b>${" "}
        ${name !== null && html`<a class="further" href=${inPlace(`/facilities/${ccn}`, { procedure: code })}>${name}</a>`}${clause.map(shown)}</p>`,
    )}
    <p class="under further">${paid}</p>
    <p class="under further quiet">${comparison}</p>`;
}

const shown = (word: Word) =>
  typeof word === "string" ? word : html`<span class=${word.kind}>${word.text}</span>`;

export function Chips({ view: { choice, pinned, scope, unknown } }: { view: View }) {
  const place = unknown ? "" : placeTitle(choice);
  // Offers the next larger radius. If nothing is found, the text links to larger circles.
  const wider =
    choice.near === null || scope instanceof Failure
      ? undefined
      : radiusesInMiles.find((miles) => miles > choice.within);
  return html`<p class="chips">
    ${place !== "" && html`<${Chip} text=${place} href=${chosenAt(nowhere)} next=".place input" />`}
    ${wider && html`<a href=${withParameters({ within: String(wider) })}>within ${wider} miles</a>`}
    ${pinned.map(({ letter, ccn, entry }) => html`<${Chip} text=${entry?.facility ?? ccn} href=${pinnedAt(choice, ccn)} letter=${letter} next=".hospital input" />`)}
  </p>`;
}

export function Reading({ scope, view }: { scope: ProcedureAnswer; view: View }) {
  const { rows, source } = scope;
  const origin = useOrigin();
  const all = rows.priced + rows.suppressed + rows.incomplete;
  const dataset = view.datasets.find(({ data_version }) => data_version === source.data_version);
  const rowsText =
    all === rows.priced
      ? all === 1
        ? "The only hospital in the data that does it has a price."
        : `${all === 2 ? "Both" : `All ${whole(all)}`} hospitals in the data that do it have a price; none is suppressed.`
      : html`${whole(rows.priced)} of ${whole(all)} hospitals in the data that do it have a price.
          ${
            rows.suppressed > 0 &&
            html` <b>${counted(rows.suppressed, "more hospital", "more hospitals")} did it for too few Medicare patients</b> (10 services or fewer in the year): CMS suppresses the amounts.`
          }
          ${rows.incomplete > 0 && ` ${counted(rows.incomplete, "row is", "rows are")} incomplete.`} ${all - rows.priced === 1 ? "Its charge isn't zero: it isn't published, and no figure counts it." : "Their charges aren't zero: they aren't published, and no figure counts them."}`;
  return html`<section class="card reading" aria-labelledby="reading">
    <h2 id="reading">What these amounts leave out</h2>
    <p><b>A charge is what a hospital bills, not what a patient pays.</b> Medicare pays by its own amounts, and insurers by contract. A patient's share comes after the yearly deductible, and other insurance may pay it. Doctors, such as the surgeon and the anesthesiologist, send bills of their own.</p>
    <p><b>Without insurance</b> the bill may be the charge, or a lower cash price. Ask for that price, which hospitals must publish, and for a written estimate before the procedure: you have a right to it.</p>
    <p>${rowsText} Services are how often a hospital did it for Medicare patients in the year.</p>
    <p><b>Some places aren't in the data</b>, because Medicare pays them in other ways: Maryland's hospitals, critical access hospitals, those for veterans or the military, and surgery centers outside a hospital.</p>
    ${!isSynthetic(source.caveat) && html`<p class="quiet small">${source.caveat}</p>`}
    <p class="quiet small">
      ${dataset ? `${dataset.title}${dataset.released ? `, released ${dataset.released}` : ""}, ${dataset.publisher}. ` : ""}Version for citing:
      ${" "}<a href=${inYear("/data")}>${source.data_version}</a>.
    </p>
    <${CheckView} view=${view} />
    <details><summary>API</summary><${Command} text=${curlOf(view.paths.list, origin)} /></details>
  </section>`;
}
