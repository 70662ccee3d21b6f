import { useEffect, useRef, useState } from "preact/hooks";
import { money, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Entry, FacilitiesAnswer, Priced } from "./answers.ts";
import { asFailure, get, getFile } from "./api.ts";
import type { Scope } from "./around.ts";
import { Card, priceFigures, save, sourceText } from "./card.ts";
import { maxPinned } from "./choice.ts";
import type { HospitalList, View } from "./explore-data.ts";
import { wordsOf } from "./explore-words.ts";
import {
  allowedColumn,
  type Column,
  chargeColumn,
  DotsLegend,
  List,
  ListDrawing,
  paysColumn,
  type Row,
  ratioColumn,
  servicesColumn,
} from "./list.ts";
import { inYear, pin } from "./location.ts";
import { dollarScale, Letter } from "./picture.ts";
import { linksOf } from "./pictures.ts";
import { hospitals, isPriced, leastForQuartiles, milesText, orderText, shareOf } from "./words.ts";

/** Lists hospitals, with what a patient pays, and the amounts as dots on one scale. The heads choose the order. */

/** Number of rows to show at first. With more rows the other pictures would be too far down. */
const firstShown = 10;
const step = 25;
const unusualFactor = 4;

const milesColumn: Column = {
  ...{ title: "Miles", kind: "number quiet", sort: "distance", beside: "usually" },
};

interface More {
  of: HospitalList;
  data: Priced[];
  next: string | null;
  shown: number;
}

export function Facilities({ view, scope }: { view: View; scope: Scope }) {
  const { choice, code, paths, pinned, list, datasets } = view;
  const { summary, allowed, source } = scope;
  const words = wordsOf(view);
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
  const median = summary.facilities < leastForQuartiles ? null : summary.median_charge;
  /** Hospitals with a lower allowed amount may do other procedures than the group's name says. */
  const leastUsual = median === null ? 0 : summary.median_allowed / unusualFactor;
  const isNear = choice.near !== null;
  const top = pinned.flatMap(({ letter, entry }) => (entry && isPriced(entry) ? [{ letter, entry }] : []));
  const loaded = [...list.data, ...added.data];
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
        data = [...data, ...page.data.filter(isPriced)];
        next = page.next;
      }
      setMore({ of: list, data, next, shown });
      // If the button for more rows is gone after the last page, the focus moves to the end of the list.
      if (next === null) setTimeout(() => end.current?.focus({ preventScroll: true }));
    } catch (error) {
      setMessage(`${asFailure(error).message}: try again`);
    }
  };
  const count = list.facilities;
  const place = isNear ? `-${choice.near}-${choice.within}mi` : choice.state ? `-${choice.state}` : "";
  const name = `opps-${source.data_version}-${code}${place}`;
  // Unlike the list, the file of a state or of the nation has suppressed rows.
  const saveAll = async () => save(`${name}-all.csv`, await getFile(paths.export));
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
    return {
      ...{ key: letter ?? ccn, kind: letter ? "pinned" : "", onClick },
      cells: [
        name,
        ...(isNear ? [milesText(distance, zip === choice.near)] : []),
        ...[shareOf(allowed, source.data_year), allowed, charged].map(money),
        ...(isNear ? [] : [times(charged / allowed)]),
        typeof services === "number" ? whole(services) : "–",
      ],
      amounts: { charged, allowed, median },
    };
  };
  const columns: Column[] = [
    { title: "Hospital", kind: "name", sort: "name" },
    ...(isNear ? [milesColumn] : []),
    ...[paysColumn, allowedColumn, chargeColumn],
    ...(isNear ? [] : [ratioColumn]),
    servicesColumn,
  ];
  const pays = (entry: Entry) =>
    isPriced(entry) ? Math.round(100 * shareOf(entry.medicare_allowed, source.data_year)) / 100 : null;
  const listed = rows.filter(({ ccn }) => !top.some(({ entry }) => entry.ccn === ccn));
  const remaining = count - rows.length;
  const title = [hospitals(count), count > 1 && orderText(choice)].filter(Boolean).join(", ");
  const shown = [...top.map(({ entry }) => entry), ...listed];
  const drawn = [...top, ...listed.map((entry) => ({ letter: "", entry }))].map(({ letter, entry }) => ({
    name: `${letter && `${letter}: `}${entry.facility}, ${entry.city}, ${entry.state}`,
    ...{ charged: entry.submitted_charge, allowed: entry.medicare_allowed, median },
  }));
  return html`<${Card}
    class="facilities"
    anchor="hospitals"
    title=${title}
    subject=${words.title}
    sentence=${`${rows.length < count ? `The first ${rows.length} of ${hospitals(count)}. ` : ""}What each charges, and what Medicare allows it.${median === null ? "" : " The upright line is the median charge."}`}
    drawing=${() => html`<${ListDrawing} rows=${drawn} x=${x} />`}
    source=${sourceText([source.data_version], datasets, pinned)}
    about=${html`<${DotsLegend} median=${median === null ? null : "median charge"} />`}
    name=${name}
    figures=${count === 0 ? undefined : priceFigures(shown, ["you pay about", pays, money])}
    isTable=${true}
    all=${isNear ? undefined : { title: "CSV with all rows", save: saveAll }}
    links=${linksOf(view, "hospitals")}
  >
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
          ? html`<span class="quiet" ref=${end} tabindex="-1">${count === 1 ? "That is the only one." : `These are all ${whole(count)}.`}</span>`
          : html`<button type="button" onClick=${showMore}>Show ${Math.min(step, remaining)} more</button>
              <span class="quiet"> ${whole(rows.length)} of ${whole(count)}</span>`
      }
      <span class="error" role="status">${message}</span>
    </p>
    <p class="about narrow-only">${words.found?.paid} <span class="quiet">${words.found?.comparison}</span></p>
  <//>`;
}
