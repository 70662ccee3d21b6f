import { counted, money, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Ask, FacilitiesAnswer } from "./answers.ts";
import { viewNow, viewOnce } from "./api.ts";
import { milesText } from "./around.ts";
import { Card, sourceOf, trendFigures } from "./card.ts";
import { CheckHospital } from "./check-fold.ts";
import { shownOf } from "./choice.ts";
import { context } from "./context.ts";
import { versionNote } from "./explore-words.ts";
import { YearField } from "./form.ts";
import {
  addressText,
  type HospitalView,
  hospitalDescription,
  hospitalText,
  hospitalViewOf,
  lastingOfHospital,
  nearMiles,
  nearShown,
  whyUnpriced,
} from "./hospital-words.ts";
import { chargeColumn, paysColumn, type Sorted } from "./list.ts";
import { ErrorBand, useLoaded, useTitle, VersionNote, WarningBand } from "./load.ts";
import { addresses, hrefOf, inPlace, inYear, withParameters } from "./location.ts";
import { Key } from "./picture.ts";
import { hospitalLinks, Standings, sortedBy } from "./standings.ts";
import { leastYears, Trend } from "./trend.ts";
import { NeedsScript, PicturesNote } from "./without-script.ts";
import { isFew, isPriced, isSynthetic, nameOf, shareOf, titleOf } from "./words.ts";

/** Shows a hospital: its procedures compared with nation and state, its trend, and the hospitals around it. */

export function Hospital({ url }: { url: URL }) {
  const [, , ccn] = url.pathname.split("/");
  const chosen = (name: string) => url.searchParams.get(name);
  const asked = { year: chosen("year"), procedure: chosen("procedure"), versions: chosen("versions") };
  const make = (ask: Ask) => hospitalViewOf(ccn, asked, ask);
  const loaded = useLoaded(
    JSON.stringify([ccn, asked]),
    () => viewOnce(make),
    () => viewNow(make),
  );
  const { view, isLate } = loaded;
  const name = view === null ? undefined : "ways" in view ? view.title : view.answer.facility.facility;
  useTitle(name, () => (view === null ? "" : "ways" in view ? view.why : hospitalDescription(view)));
  if (view && "ways" in view) context.misses();
  return html`<div class=${`explore ${isLate ? "late" : ""}`} aria-busy=${isLate}>
    <${ErrorBand} of=${loaded} />
    ${
      view === null
        ? html`<div class="sentence heading"></div><div class="card blank"></div><${NeedsScript} />`
        : "ways" in view
          ? html`<div class="sentence"><h1>${view.title}.</h1>
              <p class="under">${view.why} ${view.ways.map((way, i) => html`${i > 0 && " · "}<a href=${hrefOf(way)}>${way.text}</a>`)}</p></div>`
          : html`<${Shown} view=${view} sorted=${sortedBy(url.searchParams)} shown=${shownOf(url.searchParams)} />`
    }
    ${view && html`<${PicturesNote} />`}
  </div>`;
}

interface ShownProps {
  view: HospitalView;
  sorted: Sorted;
  shown: number;
}

function Shown({ view, sorted, shown }: ShownProps) {
  const { answer, code, near, datasets } = view;
  const { facility, data, source } = answer;
  const { own, share, further } = hospitalText(view);
  const note = versionNote(view, source.data_version);
  return html`<div class="sentence heading">
      <div>
        ${note?.isGone && html`<${VersionNote} note=${note} />`}
        <h1>${facility.facility}</h1>
        <p class="under small quiet">${addressText(answer)}</p>
        <${WarningBand} caveat=${source.caveat} />
        ${!note?.isGone && html`<${VersionNote} note=${note} />`}
        <p class="under">${own}</p>
        <p class="under small">${share}</p>
        <p class="under further">${further}</p>
      </div>
      <${YearField} datasets=${datasets} shown=${String(source.data_year)} />
    </div>
    ${data.length > 0 && html`<${Standings} answer=${answer} lasting=${lastingOfHospital(view)} datasets=${datasets} sorted=${sorted} chosen=${code} shown=${shown} note=${further} />`}
    <div class="pictures">
      <${Years} view=${view} />
      ${near && near.data.length > 1 && html`<${Near} near=${near} view=${view} />`}
    </div>
    ${isSynthetic(source.caveat) ? null : html`<p class="quiet small">${source.caveat}</p>`}
    <p class="quiet small">${data.length > 0 && `${counted(data.length, "procedure group has", "procedure groups have")} a price. What it does for too few Medicare patients (10 services or fewer) is suppressed by CMS. `}Data version ${source.data_version}.</p>
    ${data.length > 0 && html`<${CheckHospital} view=${view} page=${withParameters(lastingOfHospital(view))} />`}`;
}

function Years({ view }: { view: HospitalView }) {
  const { answer, procedure, own, trends, datasets } = view;
  const { ccn } = answer.facility;
  if (!procedure || !own || !trends || trends.data.length < leastYears) return null;
  const pinned = [{ letter: "A", ccn, entry: null, standings: {}, miles: undefined, trend: own }];
  return html`<${Card}
    title=${`Over the years: ${titleOf(procedure)}`}
    about=${html`<${Key} kind="charge" /> what it charges, <${Key} kind="allowed" /> what Medicare allows; in grey, the nation's median charge${!trends.data.every(isFew) && " with its middle half"}`}
    subject=${answer.facility.facility}
    name=${`opps-${own.source.data_years.join("-")}-years-${ccn}-${procedure.code}`}
    figures=${() => trendFigures(trends, pinned)}
    source=${() => sourceOf(own.source.data_versions, datasets)}
    links=${() => hospitalLinks(lastingOfHospital(view))}
  >
    <${Trend} years=${trends.data} pinned=${pinned} year=${answer.source.data_year} isBeside />
  <//>`;
}

function Near({ near, view }: { near: FacilitiesAnswer; view: HospitalView }) {
  const { facility, data } = view.answer;
  const { nearby, nearDoing } = view;
  const hasPrice = data.some(({ code }) => code === nearby?.code);
  const pageOf = addresses((ccn) => inPlace(`/facilities/${ccn}`, { procedure: nearby?.code ?? null }));
  const others = near.data.filter(({ ccn }) => ccn !== facility.ccn).slice(0, nearShown);
  const [{ distance: miles = 0 }] = others;
  const within = Math.max(nearMiles, Math.ceil(miles));
  const count = near.summary.facilities - 1;
  const about =
    within > nearMiles
      ? `No other within ${nearMiles} miles. The nearest:`
      : `${others.length < count ? `The nearest ${others.length} of ` : ""}${whole(count)} within ${nearMiles} miles`;
  const heads = [
    ["Hospital", "name"],
    ["Miles", "number"],
    ...(nearby ? [paysColumn, chargeColumn].map(({ title, kind }) => [title, kind]) : []),
  ];
  const amountsAt = (ccn: string) => {
    if (!nearby) return [];
    const doing = nearDoing?.data.find((one) => one.ccn === ccn);
    if (!doing || !isPriced(doing)) return ["–", "–"];
    return [shareOf(doing.medicare_allowed, view.answer.source.data_year), doing.submitted_charge].map(money);
  };
  const priceAt = (ccn: string, name: string) => {
    if (!nearby) return null;
    const doing = nearDoing?.data.find((one) => one.ccn === ccn);
    if (!doing) return " · no price for the same procedure";
    if (!isPriced(doing)) return ` · ${whyUnpriced(doing)}`;
    if (!hasPrice)
      return html`<span class="screen-only"> · <a href=${pageOf(ccn)} aria-label=${`See its price: ${name}`}>see its price</a></span>`;
    const both = inPlace("/", { procedure: nearby.code, with: `${facility.ccn},${ccn}` });
    return html`<span class="screen-only"> · <a href=${both} aria-label=${`Compare with ${name}`}>compare</a></span>`;
  };
  return html`<section class="card near" aria-labelledby="near">
    <header><h2 id="near">Hospitals nearby</h2><p class="about quiet">${about}</p></header>
    <div class="list"><table role="table" aria-labelledby="near">
      <thead role="rowgroup"><tr role="row">${heads.map(([title, kind]) => html`<th role="columnheader" scope="col" class=${kind}>${title}</th>`)}</tr></thead>
      <tbody role="rowgroup">${others.map(
        ({ ccn, facility: name, city, state, zip, distance }) => html`<tr role="row">
          <th role="rowheader" scope="row" class="name"><a href=${pageOf(ccn)}>${name}</a>${" "}
            <small class="quiet">${city}, ${state}${priceAt(ccn, name)}</small></th>
          ${[milesText(distance, zip === facility.zip), ...amountsAt(ccn)].map((text, i) => {
            const [word, kind] = heads[i + 1];
            return html`<td role="cell" class=${text === "–" ? `${kind} wide-only` : kind} data-word=${word}>${text}</td>`;
          })}
        </tr>`,
      )}</tbody></table></div>
    ${
      facility.zip &&
      nearby &&
      html`<p class="about screen-only"><a href=${inYear("/", { procedure: nearby.code, near: facility.zip, within: String(within) })}>What they charge for ${nameOf(nearby)}</a></p>`
    }
  </section>`;
}
