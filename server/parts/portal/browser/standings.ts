import { change, money, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { FacilityAnswer, FacilityRow, Standing } from "./answers.ts";
import { Card } from "./card.ts";
import { Dots, DotsAxis, Key } from "./dots.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { inYear, withParameters } from "./location.ts";
import { dollarScale } from "./picture.ts";
import { plainOf, titleOf } from "./procedures.ts";
import { stateName } from "./states.ts";
import { standingText } from "./words.ts";

/** Lists a hospital's procedures, with its charges beside those of nation and state. */

const toNation = ({ submitted_charge, national }: FacilityRow) => submitted_charge / national.median_charge;

/** The orders, each with its title and what it sorts by, ascending. */
const orders = {
  dearest: ["most above the nation", (row: FacilityRow) => -toNation(row)],
  cheapest: ["most below", toNation],
  services: ["most services", ({ services }: FacilityRow) => -(services ?? 0)],
  name: ["by name", titleOf],
} as const;

export type Order = keyof typeof orders;
export const isOrder = (text: string | null): text is Order => text !== null && Object.hasOwn(orders, text);

interface StandingsProps {
  answer: FacilityAnswer;
  path: string;
  order: Order;
  /** Code of the chosen procedure, whose row is the first. */
  chosen: string | null;
}

export function Standings({ answer, path, order, chosen }: StandingsProps) {
  const { facility, data, source } = answer;
  const [, key] = orders[order];
  const rows = d3.sort<FacilityRow>(data, ({ code }) => code !== chosen, key);
  const x = dollarScale(
    data.flatMap((row) => [row.submitted_charge, row.medicare_allowed, row.national.median_charge]),
    0,
    100,
  );
  return html`<${Card}
    class="facilities standing"
    title="Everything it does, beside nation and state"
    about=${html`<${Key} kind="charge" /> its charge, <${Key} kind="allowed" /> allowed by Medicare, <span class="median-key"></span> the nation's median charge`}
    name=${`hospital-${source.data_version}-${facility.ccn}`}
    figures=${facilityFigures(rows)}
    isTable=${true}
    path=${path}
  >
    <p class="tools">
      ${Object.entries(orders).map(
        ([key, [title]]) =>
          html`<a href=${withParameters({ sort: key === "dearest" ? null : key })} aria-current=${key === order ? "true" : undefined}>${title}</a>`,
      )}
    </p>
    <div class="list">
      <table role="table" aria-label="Procedures">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col" class="name">Procedure</th>
            <th role="columnheader" scope="col" class="number charged">Charge</th>
            <th role="columnheader" scope="col" class="number share">Nation</th>
            <th role="columnheader" scope="col" class="number share in-state">${stateName(facility.state)}</th>
            <th role="columnheader" scope="col" class="number allow">Allowed</th>
            <th role="columnheader" scope="col" class="number ratio">Times allowed</th>
            <th role="columnheader" scope="col" class="dots"><span class="unseen">On a scale</span><${DotsAxis} x=${x} /></th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.map((row) => html`<${Row} key=${row.code} row=${row} x=${x} ccn=${facility.ccn} state=${facility.state} isChosen=${row.code === chosen} />`)}
        </tbody>
      </table>
    </div>
  <//>`;
}

interface RowProps {
  row: FacilityRow;
  x: d3.ScaleLogarithmic<number, number>;
  ccn: string;
  state: string;
  isChosen: boolean;
}

function Row({ row, x, ccn, state, isChosen }: RowProps) {
  const { submitted_charge: charged, medicare_allowed: allowed, national } = row;
  return html`<tr role="row" class=${isChosen ? "pinned" : ""}>
    <td role="cell" class="name"><a href=${inYear("/", { procedure: row.code, with: ccn })}>${titleOf(row)}</a><small class="quiet">${plainOf(row.code) ? `${row.code} ${row.name}` : row.code}</small></td>
    <td role="cell" class="number charged">${money(charged)}</td>
    <td role="cell" class="number share"><${Beside} charged=${charged} standing=${national} where="the nation" /></td>
    <td role="cell" class="number share in-state"><${Beside} charged=${charged} standing=${row.state} where=${state} /></td>
    <td role="cell" class="number allow">${money(allowed)}</td>
    <td role="cell" class="number ratio">${times(charged / allowed)}</td>
    <td role="cell" class="dots">
      <${Dots} x=${x} charged=${charged} allowed=${allowed} median=${national.median_charge} />
    </td>
  </tr>`;
}

/** How far a charge is above or below the median of a place. */
function Beside({ charged, standing, where }: { charged: number; standing: Standing; where: string }) {
  const { facilities, median_charge } = standing;
  if (facilities === 1)
    return html`<small class="quiet">the only one<span class="narrow-only"> in ${where}</span></small>`;
  return html`<span title=${`${standingText(standing)}: ${whole(facilities)} hospitals`}>${change(Math.round((charged / median_charge - 1) * 100))}</span>
    <small class="quiet"><span class="narrow-only">${where}: </span>median ${money(median_charge)}</small>`;
}

const standingColumns = (of: "national" | "state"): Parameters<typeof figuresOf<FacilityRow>>[1][] => [
  [`${of} rank`, (row) => row[of].rank, whole],
  [`${of} hospitals`, (row) => row[of].facilities, whole],
  [`${of} percentile`, (row) => row[of].percentile, String],
  [`${of} median`, (row) => row[of].median_charge, money],
];

const facilityFigures = (rows: readonly FacilityRow[]): Figures =>
  figuresOf(
    rows,
    ["code", ({ code }) => code],
    ["procedure", titleOf],
    ["official name", ({ name }) => name],
    ["charge", ({ submitted_charge }) => submitted_charge, money],
    ["allowed", ({ medicare_allowed }) => medicare_allowed, money],
    ["services", ({ services }) => services, whole],
    ...standingColumns("national"),
    ...standingColumns("state"),
  );
