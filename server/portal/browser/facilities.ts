import { useState } from "preact/hooks";
import type { FacilityAnswer, Price, PricesAnswer, ProcedureAnswer } from "./answers.ts";
import { get, getFile } from "./api.ts";
import { Card } from "./card.ts";
import { type Figures, save } from "./figures.ts";
import { money, times, whole } from "./format.ts";
import { Shape } from "./histogram.ts";
import { html } from "./html.ts";
import { dollarScale, dollarTicks } from "./picture.ts";
import { asFailure } from "./trouble.ts";

/** The facilities, cheapest first, each with its charge and what Medicare allows as dots on one scale. */

export interface FacilitiesProps {
  answer: ProcedureAnswer;
  prices: PricesAnswer;
  /** Of the first page. */
  path: string;
  exportPath: string;
  /** The facility that is marked. */
  marked: FacilityAnswer | null;
  mark: (ccn: string | null) => void;
  hrefOf: (ccn: string) => string;
}

type Row = Price & { rank: number };

/** Equal charges share a rank. */
function ranked(prices: readonly Price[]): Row[] {
  const rows: Row[] = [];
  for (const [i, price] of prices.entries()) {
    const before = rows[i - 1];
    const isTie = before?.submitted_charge === price.submitted_charge;
    rows.push({ ...price, rank: isTie ? before.rank : i + 1 });
  }
  return rows;
}

export function Facilities(props: FacilitiesProps) {
  const { answer, prices, path, exportPath, marked, mark, hrefOf } = props;
  const { summary, allowed, procedure, scope, source } = answer;
  const [more, setMore] = useState<{ of: PricesAnswer; data: Price[]; next: string | null } | null>(null);
  const [said, setSaid] = useState("");
  // What was added belongs to one first page.
  const { data, next } =
    more?.of === prices ? { data: [...prices.data, ...more.data], next: more.next } : prices;
  const rows = ranked(data);
  const own = marked?.data.find(({ code }) => code === procedure.code);
  const x = dollarScale([allowed.min, allowed.max, summary.min_charge, summary.max_charge], 0, 100);
  const addPage = async () => {
    if (next === null) return;
    setSaid("");
    try {
      const page = await get<PricesAnswer>(next);
      setMore({ of: prices, data: [...data.slice(prices.data.length), ...page.data], next: page.next });
    } catch (error) {
      setSaid(`${asFailure(error).message}: try again`);
    }
  };
  const all = whole(summary.facilities);
  const name = `opps-${source.data_version}-${procedure.code}${scope.state === "national" ? "" : `-${scope.state}`}`;
  const isInScope = scope.state === "national" || scope.state === marked?.facility.state;
  const isListed = rows.some(({ ccn }) => ccn === marked?.facility.ccn);
  const rowOf = (row: Row, isPinned: boolean) => {
    const isMarked = row.ccn === marked?.facility.ccn;
    return html`<${FacilityRow} key=${isPinned ? "pinned" : row.ccn} row=${row} x=${x} median=${summary.median_charge}
      isMarked=${isMarked} isPinned=${isPinned} href=${hrefOf(row.ccn)} mark=${() => mark(isMarked ? null : row.ccn)} />`;
  };
  const remaining = summary.facilities - rows.length;
  return html`<${Card}
    class="facilities"
    title="Facilities, cheapest first"
    about=${html`each on the same scale: <${Key} kind="charge" /> charged, <${Key} kind="allowed" /> allowed by Medicare, <span class="median-key"></span> median charge. A row marks its hospital in the pictures.`}
    name=${name}
    figures=${figuresOf(rows)}
    isTable=${true}
    path=${path}
    csv=${{ title: summary.facilities === 1 ? "CSV" : `all ${all} as CSV`, save: async () => save(`${name}.csv`, await getFile(exportPath)) }}
  >
    <div class="list">
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col" class="rank">#</th>
            <th role="columnheader" scope="col" class="name">Facility</th>
            <th role="columnheader" scope="col" class="city">City</th>
            <th role="columnheader" scope="col" class="number charged">Charge</th>
            <th role="columnheader" scope="col" class="number allow">Allowed</th>
            <th role="columnheader" scope="col" class="number ratio" title="charge ÷ allowed">Times</th>
            <th role="columnheader" scope="col" class="dots"><span class="unseen">On a scale</span><${DotsAxis} x=${x} /></th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${
            own &&
            marked &&
            isInScope &&
            !isListed &&
            rowOf(
              {
                ...marked.facility,
                ...own,
                rank: scope.state === "national" ? own.national.rank : own.state.rank,
                state: marked.facility.state,
              },
              true,
            )
          }
          ${rows.map((row) => rowOf(row, false))}
        </tbody>
      </table>
    </div>
    <p class="more">
      ${
        next === null
          ? html`<span class="quiet">${summary.facilities === 1 ? "That is the only one." : `These are all ${all}.`}</span>`
          : html`<button type="button" onClick=${addPage}>Show ${Math.min(25, remaining)} more</button>
              <span class="quiet"> ${whole(rows.length)} of ${all}; or find one above, at “Your hospital”</span>`
      }
      <span class="trouble" role="status">${said}</span>
    </p>
  <//>`;
}

interface RowProps {
  row: Row;
  x: d3.ScaleLogarithmic<number, number>;
  median: number;
  isMarked: boolean;
  isPinned: boolean;
  href: string;
  mark: () => void;
}

function FacilityRow({ row, x, median, isMarked, isPinned, href, mark }: RowProps) {
  const onClick = (event: MouseEvent) => {
    // Its link leads elsewhere, and whoever selects text means no click.
    if (event.target instanceof Element && event.target.closest("a")) return;
    if (getSelection()?.isCollapsed === false) return;
    mark();
  };
  const { submitted_charge: charged, medicare_allowed: allowed } = row;
  return html`<tr role="row" class=${`${isMarked ? "marked" : ""} ${isPinned ? "pinned" : ""}`} onClick=${onClick}>
    <td role="cell" class="rank">${whole(row.rank)}</td>
    <td role="cell" class="name"><a href=${href}>${row.facility}</a></td>
    <td role="cell" class="city">${row.city}, ${row.state}</td>
    <td role="cell" class="number charged">${money(charged)}</td>
    <td role="cell" class="number allow">${money(allowed)}</td>
    <td role="cell" class="number ratio">${times(charged / allowed)}</td>
    <td role="cell" class="dots">
      <svg width="100%" height="18" aria-hidden="true">
        <line class="track" x1="0" x2="100%" y1="9" y2="9" />
        <line class="median" x1=${`${x(median)}%`} x2=${`${x(median)}%`} y1="3" y2="15" />
        <line class="between" x1=${`${x(allowed)}%`} x2=${`${x(charged)}%`} y1="9" y2="9" />
        ${[["charge", charged] as const, ["allowed", allowed] as const].map(
          ([kind, amount]) =>
            html`<svg x=${`${x(amount)}%`} y="9" overflow="visible"><${Shape} kind=${kind} x=${0} y=${0} size=${4.5} /></svg>`,
        )}
      </svg>
    </td>
  </tr>`;
}

function DotsAxis({ x }: { x: d3.ScaleLogarithmic<number, number> }) {
  return html`<svg width="100%" height="16" aria-hidden="true">
    ${dollarTicks(x, 4)
      .filter((tick) => x(tick) > 8 && x(tick) < 92)
      .map((tick) => html`<text x=${`${x(tick)}%`} y="12" text-anchor="middle">${money(tick)}</text>`)}
  </svg>`;
}

/** What a dot means, within a text. */
export function Key({ kind }: { kind: "charge" | "allowed" }) {
  return html`<svg class="key" width="12" height="12" aria-hidden="true"><${Shape} kind=${kind} x=${6} y=${6} size=${4} /></svg>`;
}

function figuresOf(rows: readonly Row[]): Figures {
  return {
    columns: [
      { title: "rank" },
      { title: "ccn" },
      { title: "facility" },
      { title: "city" },
      { title: "state" },
      { title: "charge", write: money },
      { title: "allowed", write: money },
    ],
    rows: rows.map(({ rank, ccn, facility, city, state, submitted_charge, medicare_allowed }) => [
      rank,
      ccn,
      facility,
      city,
      state,
      submitted_charge,
      medicare_allowed,
    ]),
  };
}
