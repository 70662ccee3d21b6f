import { useEffect, useState } from "preact/hooks";
import { money, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Entry, FacilitiesAnswer, Priced } from "./answers.ts";
import { asFailure, Failure, get, getFile } from "./api.ts";
import { rowsAt } from "./ask.ts";
import { Card } from "./card.ts";
import { rangeOf, rangeText } from "./chips.ts";
import { Dots, DotsAxis, Key, Letter } from "./dots.ts";
import type { HospitalList, Scope, View } from "./explore-data.ts";
import { csvFile, priceFigures, save } from "./figures.ts";
import { choose, inYear, pin } from "./location.ts";
import { dollarScale } from "./picture.ts";
import { hospitals } from "./sentence.ts";
import { isPriced, milesText, placeText } from "./words.ts";

/** Lists the hospitals, in any order and between any charges, with their amounts as dots on one scale. */

/** Rows to show at first. More would push the other pictures away. */
const firstShown = 10;
const step = 25;

interface More {
  of: HospitalList;
  data: Entry[];
  next: string | null;
  shown: number;
}

export function Facilities({ view, scope }: { view: View; scope: Scope }) {
  const { choice, code, paths, pinned, list } = view;
  const { summary, allowed, source } = scope;
  const [more, setMore] = useState<More | null>(null);
  const [said, setSaid] = useState("");
  const added = more?.of === list ? more : { of: list, data: [], next: list.next, shown: firstShown };
  const range = rangeOf(choice);
  const isNear = choice.near !== null;
  const top = pinned.flatMap(({ letter, entry }) => (entry && isPriced(entry) ? [{ letter, entry }] : []));
  const loaded = [...list.data, ...added.data].filter(isPriced);
  const rows = loaded.slice(0, added.shown);
  const own = top.flatMap(({ entry }) => [entry.submitted_charge, entry.medicare_allowed]);
  const x = dollarScale([allowed.min, allowed.max, summary.min_charge, summary.max_charge, ...own], 0, 100);
  const showMore = async () => {
    setSaid("");
    let { data, next } = added;
    const shown = added.shown + step;
    try {
      while (next !== null && list.data.length + data.length < shown) {
        const page: FacilitiesAnswer = await get(next);
        data = [...data, ...page.data];
        next = page.next;
      }
      setMore({ of: list, data, next, shown });
    } catch (error) {
      setSaid(`${asFailure(error).message}: try again`);
    }
  };
  const count = list.summary.facilities;
  const place = isNear ? `-${choice.near}` : choice.state ? `-${choice.state}` : "";
  const name = `opps-${source.data_version}-${code}${place}`;
  const saveList = async () => {
    if (range === null && !isNear) return save(`${name}.csv`, await getFile(paths.export));
    const all = await rowsAt(paths.list);
    if (all instanceof Failure) throw all;
    save(`${name}${range ? "-part" : ""}.csv`, csvFile(priceFigures(all.data)));
  };
  const rowOf = (entry: Priced, letter?: string) =>
    html`<${Row} key=${letter ?? entry.ccn} entry=${entry} letter=${letter} x=${x} median=${summary.median_charge} view=${view} />`;
  const head = (key: string, title: string, kind = "number", isDescendingFirst = true) => {
    const isSorted = choice.sort === key;
    const order = isSorted ? (choice.order === "asc" ? "desc" : "asc") : isDescendingFirst ? "desc" : "asc";
    const sorted = choice.order === "asc" ? "ascending" : "descending";
    return html`<th role="columnheader" scope="col" class=${kind} aria-sort=${isSorted ? sorted : undefined}>
      <button type="button" class="sort" onClick=${() => choose({ sort: key, order: order === "desc" ? "desc" : null })}>
        ${title}<span aria-hidden="true">${isSorted ? (choice.order === "asc" ? " ▴" : " ▾") : ""}</span>
      </button>
    </th>`;
  };
  const remaining = count - rows.length;
  const isCheapest = choice.sort === "charge" && choice.order === "asc";
  const isDearest = choice.sort === "charge" && choice.order === "desc";
  const order = (text: string, isOn: boolean, to: string | null) =>
    html`<button type="button" class="plain" aria-pressed=${isOn} onClick=${() => choose({ sort: null, order: to })}>${text}</button>`;
  return html`<${Card}
    class="facilities"
    title=${`${hospitals(count)}${range ? ` that ${count === 1 ? "charges" : "charge"} ${rangeText(range)}` : ""}`}
    about=${html`<${Key} kind="charge" /> charged, <${Key} kind="allowed" /> allowed by Medicare, <span class="median-key"></span> median charge${placeText(choice) ? ` ${placeText(choice)}` : ""}`}
    name=${name}
    figures=${count === 0 ? undefined : priceFigures(rows)}
    isTable=${true}
    path=${paths.list}
    csv=${{ title: range ? `these ${whole(count)} as CSV` : count === 1 ? "CSV" : `all ${whole(count)} as CSV`, save: saveList }}
  >
    <div class="tools">
      ${order("cheapest first", isCheapest, null)} ${order("most expensive first", isDearest, "desc")}
      <${Charges} key=${`${choice.from} ${choice.to}`} from=${choice.from} to=${choice.to} />
    </div>
    <div class="list">
      <table role="table" aria-label="Hospitals">
        <thead role="rowgroup">
          <tr role="row">
            ${head("name", "Hospital", "name", false)}
            ${isNear && head("distance", "Miles", "number miles", false)}
            ${head("charge", "Charge", "number charged")}
            ${head("allowed", "Allowed", "number allow")}
            ${head("markup", "Times allowed", "number ratio")}
            ${head("services", "Services", "number services")}
            <th role="columnheader" scope="col" class="dots"><span class="unseen">On a scale</span><${DotsAxis} x=${x} /></th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${top.map(({ letter, entry }) => rowOf(entry, letter))}
          ${rows.filter(({ ccn }) => !top.some(({ entry }) => entry.ccn === ccn)).map((entry) => rowOf(entry))}
        </tbody>
      </table>
    </div>
    <p class="more">
      ${
        remaining === 0
          ? html`<span class="quiet">${count === 0 ? "No hospital charges that." : count === 1 ? "That is the only one." : `These are all ${whole(count)}.`}</span>`
          : html`<button type="button" onClick=${showMore}>Show ${Math.min(step, remaining)} more</button>
              <span class="quiet"> ${whole(rows.length)} of ${whole(count)}</span>`
      }
      <span class="error" role="status">${said}</span>
    </p>
  <//>`;
}

/** A form for the lowest and the highest charge to list. */
function Charges({ from, to }: { from: string | null; to: string | null }) {
  const [low, setLow] = useState(from ?? "");
  const [high, setHigh] = useState(to ?? "");
  useEffect(() => {
    setLow(from ?? "");
    setHigh(to ?? "");
  }, [from, to]);
  const amount = (text: string) => text.replaceAll(/[$,\s]/g, "") || null;
  const submit = (event: Event) => {
    event.preventDefault();
    choose({ from: amount(low), to: amount(high) });
  };
  const input = (label: string, value: string, set: (value: string) => void) =>
    html`<label>${label} $<input inputmode="decimal" size="8" autocomplete="off" value=${value} onInput=${(event: Event & { currentTarget: HTMLInputElement }) => set(event.currentTarget.value)} /></label>`;
  return html`<form class="charges" onSubmit=${submit} aria-label="Charges to list">
    ${input("charge from", low, setLow)} ${input("to", high, setHigh)}
    ${(amount(low) !== from || amount(high) !== to) && html`<button type="submit" class="plain">show</button>`}
    <input type="submit" hidden />
  </form>`;
}

interface RowProps {
  entry: Priced;
  letter?: string;
  x: d3.ScaleLogarithmic<number, number>;
  median: number;
  view: View;
}

function Row({ entry, letter, x, median, view }: RowProps) {
  const { code, choice } = view;
  const { near } = choice;
  const isPinned = view.pinned.some(({ ccn }) => ccn === entry.ccn);
  const { submitted_charge: charged, medicare_allowed: allowed, services, distance } = entry;
  const onClick = (event: MouseEvent) => {
    // A click on a link, a button or selected text doesn't choose the row.
    if (event.target instanceof Element && event.target.closest("a, button")) return;
    if (getSelection()?.isCollapsed === false) return;
    pin(choice, entry.ccn);
  };
  return html`<tr role="row" class=${letter ? "pinned" : ""} onClick=${onClick}>
    <td role="cell" class="name">
      ${letter && html`<${Letter} letter=${letter} /> `}<a href=${inYear(`/facilities/${encodeURIComponent(entry.ccn)}`, { procedure: code })}>${entry.facility}</a>
      <small class="quiet">${entry.city}, ${entry.state}
        <button type="button" class="plain" aria-label=${isPinned ? `Remove ${entry.facility}` : `Compare ${entry.facility}`} onClick=${() => pin(choice, entry.ccn)}>${isPinned ? "× remove" : "+ compare"}</button></small>
    </td>
    ${near !== null && html`<td role="cell" class="number miles">${milesText(distance, entry.zip === near)}${entry.zip === near ? "" : html`<span class="narrow-only"> mi</span>`}</td>`}
    <td role="cell" class="number charged">${money(charged)}</td>
    <td role="cell" class="number allow">${money(allowed)}</td>
    <td role="cell" class="number ratio">${times(charged / allowed)}</td>
    <td role="cell" class="number services">${typeof services === "number" ? whole(services) : "–"}</td>
    <td role="cell" class="dots">
      <${Dots} x=${x} charged=${charged} allowed=${allowed} median=${median} />
    </td>
  </tr>`;
}
