import { useEffect, useRef, useState } from "preact/hooks";
import { money, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Entry, FacilitiesAnswer, Priced } from "./answers.ts";
import { asFailure, Failure, get, getFile, rowsAt } from "./api.ts";
import { Card, csvFile, priceFigures, save } from "./card.ts";
import { maxPinned, rangeOf } from "./choice.ts";
import type { HospitalList, Scope, View } from "./explore-data.ts";
import { type Column, DotsLegend, List, type Row, ratioColumn } from "./list.ts";
import { choose, inYear, pin } from "./location.ts";
import { Chip, dollarScale, Letter } from "./picture.ts";
import { hospitals, isPriced, leastForQuartiles, milesText, placeText, rangeText } from "./words.ts";

/** Lists hospitals, with their amounts as dots on one scale. The visitor chooses the order and a range of charges. */

/** Number of rows to show at first. With more rows the other pictures would be too far down. */
const firstShown = 10;
const step = 25;
const unusualFactor = 4;

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
  const [message, setMessage] = useState("");
  const end = useRef<HTMLElement>(null);
  // When a hospital is chosen, its row moves. The effect below keeps the focus on that row.
  const chosen = useRef("");
  useEffect(() => {
    const button = document.querySelector<HTMLElement>(`.facilities [data-ccn="${chosen.current}"]`);
    button?.focus({ preventScroll: true });
    chosen.current = "";
  }, [view]);
  const added = more?.of === list ? more : { of: list, data: [], next: list.next, shown: firstShown };
  const range = rangeOf(choice);
  const median = summary.facilities < leastForQuartiles ? null : summary.median_charge;
  /** Hospitals with a lower allowed amount may do other procedures than the group's name says. */
  const leastUsual = median === null ? 0 : summary.median_allowed / unusualFactor;
  const isNear = choice.near !== null;
  const top = pinned.flatMap(({ letter, entry }) => (entry && isPriced(entry) ? [{ letter, entry }] : []));
  const loaded = [...list.data, ...added.data].filter(isPriced);
  const rows = loaded.slice(0, added.shown);
  const own = top.flatMap(({ entry }) => [entry.submitted_charge, entry.medicare_allowed]);
  const x = dollarScale([allowed.min, allowed.max, summary.min_charge, summary.max_charge, ...own], 0, 100);
  const showMore = async () => {
    setMessage("");
    let { data, next } = added;
    const shown = added.shown + step;
    try {
      while (next !== null && list.data.length + data.length < shown) {
        const page: FacilitiesAnswer = await get(next);
        data = [...data, ...page.data];
        next = page.next;
      }
      setMore({ of: list, data, next, shown });
      // If the button for more rows is gone after the last page, the focus moves to the end of the list.
      if (next === null) setTimeout(() => end.current?.focus({ preventScroll: true }));
    } catch (error) {
      setMessage(`${asFailure(error).message}: try again`);
    }
  };
  const count = list.summary.facilities;
  const place = isNear ? `-${choice.near}-${choice.within}mi` : choice.state ? `-${choice.state}` : "";
  const name = `opps-${source.data_version}-${code}${place}`;
  const saveList = async () => {
    if (range === null && !isNear) return save(`${name}.csv`, await getFile(paths.export));
    const all = await rowsAt(paths.list);
    if (all instanceof Failure) throw all;
    save(`${name}${range ? "-part" : ""}.csv`, csvFile(priceFigures(all.data)));
  };
  const rowOf = (entry: Priced, letter?: string): Row => {
    const { ccn, facility, city, state, zip, distance, services } = entry;
    const { submitted_charge: charged, medicare_allowed: allowed } = entry;
    const isPinned = pinned.some((one) => one.ccn === ccn);
    const compare = () => {
      chosen.current = ccn;
      pin(choice, ccn);
    };
    const onClick = (event: MouseEvent) => {
      // A click on a link or a button doesn't choose the row, nor does selecting text.
      if (event.target instanceof Element && event.target.closest("a, button")) return;
      if (getSelection()?.isCollapsed !== false) pin(choice, ccn);
    };
    const isElsewhere = isNear ? distance === undefined : choice.state !== null && choice.state !== state;
    const name = html`${letter && html`<${Letter} letter=${letter} /> `}<a href=${inYear(`/facilities/${encodeURIComponent(ccn)}`, { procedure: code })}>${facility}</a>
      <small class="quiet">${city}, ${state}${letter && isElsewhere && " · elsewhere, not counted"}
        ${allowed < leastUsual && " · Medicare allows far less here than elsewhere"}
        ${(isPinned || pinned.length < maxPinned) && html`<button type="button" class="plain" data-ccn=${ccn} aria-label=${`${isPinned ? "Remove" : "Compare"} ${facility}`} onClick=${compare}>${isPinned ? "remove" : "compare"}</button>`}</small>`;
    const miles = html`${milesText(distance, zip === choice.near)}${distance === undefined || zip === choice.near ? "" : html`<span class="narrow-only"> mi</span>`}`;
    const numbers = [
      money(charged),
      money(allowed),
      html`${times(charged / allowed)}<span class="narrow-only"> allowed</span>`,
    ];
    return {
      ...{ key: letter ?? ccn, kind: letter ? "pinned" : "", onClick },
      cells: [
        name,
        ...(isNear ? [miles] : []),
        ...numbers,
        html`${typeof services === "number" ? whole(services) : "–"}<span class="narrow-only"> services</span>`,
      ],
      amounts: { charged, allowed, median },
    };
  };
  const columns: Column[] = [
    { title: "Hospital", kind: "name", sort: "name" },
    ...(isNear ? [{ title: "Miles", kind: "number miles", sort: "distance" }] : []),
    { title: "Charge", kind: "number charged", sort: "charge" },
    { title: "Allowed", kind: "number allow", sort: "allowed" },
    ratioColumn,
    { title: "Services", kind: "number services", sort: "services" },
  ];
  const listed = rows.filter(({ ccn }) => !top.some(({ entry }) => entry.ccn === ccn));
  const remaining = count - rows.length;
  // Unlike the list, the file of a state or of the nation has suppressed rows.
  const savedRows =
    range || isNear || scope.rows.suppressed === 0
      ? count === 1
        ? "this one"
        : `these ${whole(count)}`
      : "these and suppressed ones";
  const order = (text: string, to: "asc" | "desc") =>
    html`<button type="button" class="plain" aria-pressed=${choice.sort === "charge" && choice.order === to} onClick=${() => choose({ sort: null, order: to === "asc" ? null : to })}>${text}</button>`;
  return html`<${Card}
    class="facilities"
    title=${`${hospitals(count)}${range ? ` that ${count === 1 ? "charges" : "charge"} ${rangeText(range)}` : ""}`}
    about=${html`<${DotsLegend} median=${median === null ? null : ["median charge", placeText(choice)].filter(Boolean).join(" ")} />`}
    name=${name}
    figures=${count === 0 ? undefined : priceFigures(rows)}
    isTable=${true}
    path=${paths.list}
    csv=${{ title: `${savedRows} as CSV`, save: saveList }}
  >
    <div class="tools">
      ${order("cheapest first", "asc")} ${order("most expensive first", "desc")}
      ${range && html`<${Chip} text=${rangeText(range)} remove=${() => choose({ from: null, to: null })} next=".charges input" />`}
      <${Charges} from=${choice.from} to=${choice.to} />
    </div>
    <${List}
      label="Hospitals"
      columns=${columns}
      rows=${[...top.map(({ letter, entry }) => rowOf(entry, letter)), ...listed.map((entry) => rowOf(entry))]}
      sorted=${choice}
      x=${x}
    />
    <p class="more">
      ${
        remaining === 0
          ? html`<span class="quiet" ref=${end} tabindex="-1">${count === 0 ? "No hospital charges that." : count === 1 ? "That is the only one." : `These are all ${whole(count)}.`}</span>`
          : html`<button type="button" onClick=${showMore}>Show ${Math.min(step, remaining)} more</button>
              <span class="quiet"> ${whole(rows.length)} of ${whole(count)}</span>`
      }
      <span class="error" role="status">${message}</span>
    </p>
  <//>`;
}

function Charges({ from, to }: { from: string | null; to: string | null }) {
  // Rounded, because a click on a bar of the histogram chooses amounts with cents.
  const [shownLow, shownHigh] = [from, to].map((amount) => amount && String(Math.round(Number(amount))));
  const [low, setLow] = useState(shownLow ?? "");
  const [high, setHigh] = useState(shownHigh ?? "");
  useEffect(() => {
    setLow(shownLow ?? "");
    setHigh(shownHigh ?? "");
  }, [from, to]);
  /** Reads an amount in dollars, such as 200000 from "$200,000" and from "200k". */
  const amount = (text: string) => {
    const plain = text.replaceAll(/[$,\s]/g, "");
    return (/\dk$/i.test(plain) ? String(1000 * Number(plain.slice(0, -1))) : plain) || null;
  };
  const submit = (event: Event) => {
    event.preventDefault();
    choose({
      from: amount(low) === shownLow ? from : amount(low),
      to: amount(high) === shownHigh ? to : amount(high),
    });
  };
  const input = (label: string, value: string, set: (value: string) => void) =>
    html`<label>${label} $<input inputmode="decimal" pattern="\\$?[\\d,]+(\\.\\d*)?[kK]?" title="dollars, such as 2,000 or 2k" size="8" autocomplete="off" value=${value} onInput=${(event: Event & { currentTarget: HTMLInputElement }) => set(event.currentTarget.value)} /></label>`;
  return html`<form class="charges" onSubmit=${submit} aria-label="Charges to list">
    ${input("charge from", low, setLow)} ${input("to", high, setHigh)}
    ${(amount(low) !== shownLow || amount(high) !== shownHigh) && html`<button type="submit" class="plain">show</button>`}
    <input type="submit" hidden />
  </form>`;
}
