import { useEffect, useRef, useState } from "preact/hooks";
import { counted, money, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { FacilityAnswer, Price, PricesAnswer, ProcedureAnswer } from "./answers.ts";
import { asFailure, get, getFile } from "./api.ts";
import { Card } from "./card.ts";
import { Dots, DotsAxis, Key } from "./dots.ts";
import { csvFile, type Figures, figuresOf, save } from "./figures.ts";
import { dollarScale } from "./picture.ts";

/** Lists the facilities, cheapest first, with their amounts as dots on one scale. */

/** All facilities between two charges. */
export interface Range {
  from: number;
  to: number;
  /** Number of facilities that charge less. */
  before: number;
  data: Price[];
}

interface FacilitiesProps {
  answer: ProcedureAnswer;
  prices: PricesAnswer;
  /** The range to show instead of the first page. */
  range: Range | null;
  all: string;
  path: string;
  exportPath: string;
  marked: FacilityAnswer | null;
  mark: (ccn: string | null) => void;
  hrefOf: (ccn: string) => string;
}

/** Rows to show at first. More would push the other pictures away. */
const firstShown = 10;
const step = 25;

type Row = Price & { rank: number };

/** Equal charges share a rank. */
function ranked(prices: readonly Price[], before: number): Row[] {
  const rows: Row[] = [];
  for (const [i, price] of prices.entries()) {
    const last = rows[i - 1];
    const isTie = last?.submitted_charge === price.submitted_charge;
    rows.push({ ...price, rank: isTie ? last.rank : before + i + 1 });
  }
  return rows;
}

interface More {
  of: PricesAnswer | Range;
  data: Price[];
  next: string | null;
  shown: number;
}

export function Facilities(props: FacilitiesProps) {
  const { answer, prices: first, range, all: wholeList, path, exportPath, marked, mark, hrefOf } = props;
  const prices = range ? { ...first, data: range.data, next: null } : first;
  const { summary, allowed, procedure, scope, source } = answer;
  const [more, setMore] = useState<More | null>(null);
  const [said, setSaid] = useState("");
  const added =
    more?.of === (range ?? first)
      ? more
      : { of: range ?? first, data: [], next: prices.next, shown: firstShown };
  const list = useRef<HTMLDivElement>(null);
  const shownRange = range ? `${range.from} ${range.to}` : null;
  const rangeBefore = useRef(shownRange);
  useEffect(() => {
    const isNew = shownRange !== null && shownRange !== rangeBefore.current;
    rangeBefore.current = shownRange;
    // The clicked bar is far above.
    if (isNew) list.current?.closest("section")?.scrollIntoView({ behavior: calmly() ? "auto" : "smooth" });
  }, [shownRange]);
  const rows = ranked([...prices.data, ...added.data], range?.before ?? 0).slice(0, added.shown);
  const count = range ? range.data.length : summary.facilities;
  const own = marked?.data.find(({ code }) => code === procedure.code);
  const x = dollarScale([allowed.min, allowed.max, summary.min_charge, summary.max_charge], 0, 100);
  const showMore = async () => {
    setSaid("");
    let { data, next } = added;
    const shown = added.shown + step;
    try {
      while (next !== null && prices.data.length + data.length < shown) {
        const page: PricesAnswer = await get(next);
        data = [...data, ...page.data];
        next = page.next;
      }
      setMore({ of: range ?? first, data, next, shown });
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
  const remaining = count - rows.length;
  return html`<${Card}
    class="facilities"
    title=${range ? `Facilities that charge ${money(range.from)} to ${money(range.to)}` : "Facilities, cheapest first"}
    about=${html`${range && `${whole(count)} of ${counted(summary.facilities, "facility charges", "facilities charge")} that much; `}each on the same scale: <${Key} kind="charge" /> charged, <${Key} kind="allowed" /> allowed by Medicare, <span class="median-key"></span> median charge. A row marks its hospital in the pictures.`}
    name=${name}
    figures=${rankedFigures(rows)}
    isTable=${true}
    path=${path}
    csv=${
      range
        ? {
            title: `these ${whole(count)} as CSV`,
            save: async () =>
              save(`${name}-part.csv`, csvFile(rankedFigures(ranked(range.data, range.before)))),
          }
        : {
            title: summary.facilities === 1 ? "CSV" : `all ${all} as CSV`,
            save: async () => save(`${name}.csv`, await getFile(exportPath)),
          }
    }
  >
    <div class="list" ref=${list}>
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
            range === null &&
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
        remaining === 0
          ? html`<span class="quiet">${count === 1 ? "That is the only one." : `These are all ${whole(count)}.`}</span>`
          : html`<button type="button" onClick=${showMore}>Show ${Math.min(step, remaining)} more</button>
              <span class="quiet"> ${whole(rows.length)} of ${whole(count)}; or find one above, at “Your hospital”</span>`
      }
      ${range && html` <a href=${wholeList}>The whole list</a>`}
      <span class="error" role="status">${said}</span>
    </p>
  <//>`;
}

const calmly = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

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
    // A click on a link or on selected text doesn't choose the row.
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
      <${Dots} x=${x} charged=${charged} allowed=${allowed} median=${median} />
    </td>
  </tr>`;
}

const priceColumns = [
  ["ccn", ({ ccn }: Price) => ccn],
  ["facility", ({ facility }: Price) => facility],
  ["city", ({ city }: Price) => city],
  ["state", ({ state }: Price) => state],
  ["charge", ({ submitted_charge }: Price) => submitted_charge, money],
  ["allowed", ({ medicare_allowed }: Price) => medicare_allowed, money],
] satisfies Parameters<typeof figuresOf<Price>>[1][];

export const priceFigures = (prices: readonly Price[]): Figures => figuresOf(prices, ...priceColumns);
const rankedFigures = (rows: readonly Row[]): Figures =>
  figuresOf(rows, ["rank", ({ rank }) => rank], ...priceColumns);
