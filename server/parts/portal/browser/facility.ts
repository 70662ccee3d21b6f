import { useEffect } from "preact/hooks";
import { counted, money, percent, printable, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { FacilityAnswer, FacilityRow, Standing } from "./answers.ts";
import { Failure } from "./api.ts";
import { askIfThere, pathOf } from "./ask.ts";
import { ErrorBand, SampleBand } from "./bands.ts";
import { Card } from "./card.ts";
import { DotAt, Dots, DotsAxis, Key } from "./dots.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { useLoaded } from "./load.ts";
import { withParameters } from "./location.ts";
import { dollarScale } from "./picture.ts";
import { placeOf } from "./sentence.ts";
import { stateInSentence, stateName } from "./states.ts";

/** Shows a facility, with its standing in every procedure. */

const orders = {
  code: { title: "by code", compare: undefined },
  dearest: {
    title: "dearest for the nation first",
    compare: (a: FacilityRow, b: FacilityRow) => b.national.percentile - a.national.percentile,
  },
  cheapest: {
    title: "cheapest for the nation first",
    compare: (a: FacilityRow, b: FacilityRow) => a.national.percentile - b.national.percentile,
  },
} as const;
type Order = keyof typeof orders;

const isOrder = (text: string | null): text is Order => text !== null && Object.hasOwn(orders, text);

export function Facility({ url }: { url: URL }) {
  const ccn = decodeURIComponent(url.pathname.split("/")[2] ?? "");
  const year = url.searchParams.get("year");
  const sort = url.searchParams.get("sort");
  const path = pathOf(`/healthcare/facilities/${encodeURIComponent(ccn)}`, {}, year);
  const { view, failure, isLate, retry } = useLoaded(path, (signal) =>
    askIfThere<FacilityAnswer>(path, signal),
  );
  const name = view && !(view instanceof Failure) ? view.facility.facility : undefined;
  useEffect(() => {
    if (name !== undefined) document.title = `${name} – What hospitals charge`;
  }, [name]);
  return html`<div class=${`explore ${isLate ? "late" : ""}`} aria-busy=${isLate}>
    ${failure && html`<${ErrorBand} failure=${failure} retry=${retry} />`}
    ${
      view === null
        ? html`<div class="sentence"><h1 class="unseen">A facility</h1></div><div class="card blank"></div>`
        : view instanceof Failure
          ? html`<h1>Nothing was found.</h1>
              <p class="under">${noFacility(ccn)} <a href="/">Explore what there is</a></p>`
          : html`<${Standings} answer=${view} path=${path} year=${year} order=${isOrder(sort) ? sort : "code"} />`
    }
  </div>`;
}

export const noFacility = (ccn: string) =>
  `The data has no facility “${printable(ccn)}” with a price: its number, the CCN, has six characters.`;

interface StandingsProps {
  answer: FacilityAnswer;
  path: string;
  year: string | null;
  order: Order;
}

function Standings({ answer, path, year, order }: StandingsProps) {
  const { facility, data, source } = answer;
  const { compare } = orders[order];
  const rows = compare ? data.toSorted(compare) : data;
  const x = dollarScale(
    data.flatMap((row) => [row.submitted_charge, row.medicare_allowed, row.national.median_charge]),
    0,
    100,
  );
  const place = [facility.street, facility.city, `${facility.state} ${facility.zip ?? ""}`.trim()]
    .filter(Boolean)
    .join(", ");
  const area = facility.rural_urban?.description;
  return html`<${SampleBand} caveat=${source.caveat} />
    <div class="sentence standing">
      <h1>${facility.facility}</h1>
      <p class="under quiet">${place} · CCN ${facility.ccn}${area ? html`<br />${area}` : ""}</p>
      <p class="under">${summaryText(answer)}</p>
    </div>
    <${Card}
      class="facilities standing"
      title="Where it stands in everything it does"
      about=${html`the strips: the share of facilities that charge less, and how many they are, in the nation and in ${stateInSentence(facility.state)}; the dots, in dollars: <${Key} kind="charge" /> its charge, <${Key} kind="allowed" /> allowed by Medicare, <span class="median-key"></span> the nation's median charge`}
      name=${`facility-${source.data_version}-${facility.ccn}`}
      figures=${facilityFigures(rows)}
      isTable=${true}
      path=${path}
    >
      <p class="orders">
        ${Object.entries(orders).map(
          ([key, { title }]) =>
            html`<a href=${withParameters({ sort: key === "code" ? null : key })} aria-current=${key === order ? "true" : undefined}>${title}</a>`,
        )}
      </p>
      <div class="list">
        <table role="table">
          <thead role="rowgroup">
            <tr role="row">
              <th role="columnheader" scope="col" class="name">Procedure group</th>
              <th role="columnheader" scope="col" class="number charged">Charge</th>
              <th role="columnheader" scope="col" class="number allow">Allowed</th>
              <th role="columnheader" scope="col" class="number ratio" title="charge ÷ allowed">Times</th>
              <th role="columnheader" scope="col" class="share">Charge less: nation</th>
              <th role="columnheader" scope="col" class="share in-state">${stateName(facility.state)}</th>
              <th role="columnheader" scope="col" class="dots"><span class="unseen">On a scale</span><${DotsAxis} x=${x} /></th>
            </tr>
          </thead>
          <tbody role="rowgroup">
            ${rows.map((row) => html`<${Row} key=${row.code} row=${row} x=${x} ccn=${facility.ccn} state=${facility.state} year=${year} />`)}
          </tbody>
        </table>
      </div>
    <//>
    ${/synthetic/i.test(source.caveat) ? null : html`<p class="quiet small">${source.caveat}</p>`}
    <p class="quiet small">What it does for too few Medicare patients (10 services or fewer) is suppressed by CMS and not listed.
      Data version ${source.data_version}.</p>`;
}

function summaryText({ data, facility }: FacilityAnswer): string {
  if (data.length === 1)
    return `It has a price for one procedure group: it charges ${money(data[0].submitted_charge)}, ${placeOf(data[0].national)}.`;
  const compared = data.filter(({ national }) => national.facilities > 1);
  const above = compared.filter((row) => row.submitted_charge > row.national.median_charge).length;
  const inState = data.filter(({ state }) => state.facilities > 1);
  const aboveState = inState.filter((row) => row.submitted_charge > row.state.median_charge).length;
  const middle = d3.median(data, (row) => row.submitted_charge / row.medicare_allowed) ?? 1;
  return (
    `It has prices for ${counted(data.length, "procedure group", "procedure groups")}, and charges more than the nation's median in ${above === 0 ? "none" : above === data.length ? "all" : above} of them` +
    `${inState.length > 0 ? `, more than ${stateName(facility.state)}'s in ${aboveState === 0 ? "none" : aboveState === inState.length ? "all" : aboveState} of the ${inState.length} that others do there` : ""}. ` +
    `In the middle it charges ${times(middle).replace("×", " times")} what Medicare allows.`
  );
}

interface RowProps {
  row: FacilityRow;
  x: d3.ScaleLogarithmic<number, number>;
  ccn: string;
  state: string;
  year: string | null;
}

function Row({ row, x, ccn, state, year }: RowProps) {
  const { submitted_charge: charged, medicare_allowed: allowed, national } = row;
  const query = new URLSearchParams({ procedure: row.code, facility: ccn, ...(year ? { year } : {}) });
  return html`<tr role="row">
    <td role="cell" class="name"><a href=${`/?${query}`}>${row.code} · ${row.name}</a></td>
    <td role="cell" class="number charged">${money(charged)}</td>
    <td role="cell" class="number allow">${money(allowed)}</td>
    <td role="cell" class="number ratio">${times(charged / allowed)}</td>
    <td role="cell" class="share"><${Share} standing=${national} where="in the nation" /></td>
    <td role="cell" class="share in-state"><${Share} standing=${row.state} where=${`in ${state}`} /></td>
    <td role="cell" class="dots">
      <${Dots} x=${x} charged=${charged} allowed=${allowed} median=${national.median_charge} />
    </td>
  </tr>`;
}

/** The percentage of facilities that charge less, with a mark at 50. */
function Share({ standing, where }: { standing: Standing; where: string }) {
  const { rank, facilities, percentile } = standing;
  if (facilities === 1)
    return html`<span class="quiet small">the only one<span class="narrow-only"> ${where}</span></span>`;
  return html`<svg width="100%" height="14" aria-hidden="true">
      <line class="track wide" x1="0" x2="100%" y1="7" y2="7" />
      <line class="median" x1="50%" x2="50%" y1="1" y2="13" />
      <${DotAt} kind="charge" share=${percentile} y="7" />
    </svg>
    <span class="quiet small">less: ${whole(rank - 1)} of ${whole(facilities)}<span class="narrow-only"> ${where}</span></span>`;
}

const standingColumns = (of: "national" | "state"): Parameters<typeof figuresOf<FacilityRow>>[1][] => [
  [`${of} rank`, (row) => row[of].rank, whole],
  [`${of} facilities`, (row) => row[of].facilities, whole],
  [`${of} percentile`, (row) => row[of].percentile, percent],
  [`${of} median`, (row) => row[of].median_charge, money],
];

const facilityFigures = (rows: readonly FacilityRow[]): Figures =>
  figuresOf(
    rows,
    ["code", ({ code }) => code],
    ["procedure", ({ name }) => name],
    ["charge", ({ submitted_charge }) => submitted_charge, money],
    ["allowed", ({ medicare_allowed }) => medicare_allowed, money],
    ["services", ({ services }) => services, whole],
    ...standingColumns("national"),
    ...standingColumns("state"),
  );
