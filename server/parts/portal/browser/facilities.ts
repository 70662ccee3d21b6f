import { useEffect, useRef } from "preact/hooks";
import { money, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { type Entry, Failure, type Priced, type ProcedureAnswer } from "./answers.ts";
import { viewOnce } from "./api.ts";
import { milesText } from "./around.ts";
import { Card, priceFigures, sourceOf } from "./card.ts";
import { canPin, maxPinned, mostCompared } from "./choice.ts";
import { rowsAt, type View } from "./explore-data.ts";
import { wordsOf } from "./explore-words.ts";
import { More } from "./form.ts";
import {
  allowedColumn,
  chargeColumn,
  DotsLegend,
  type DrawnRow,
  headsOf,
  List,
  type ListColumn,
  paysColumn,
  type Row,
  ratioColumn,
  servicesColumn,
  TableDrawing,
} from "./list.ts";
import { addresses, inPlace, pin, pinnedAt } from "./location.ts";
import { dollarScale, Letter } from "./picture.ts";
import { linksOf } from "./pictures.ts";
import {
  hospitals,
  isPriced,
  leastForQuartiles,
  orderText,
  sameShare,
  shareOf,
  whatYouPay,
} from "./words.ts";

/** Lists hospitals, with what a patient pays, and the amounts as dots on one scale. The heads choose the order. */

const unusualFactor = 4;

const milesColumn: ListColumn = {
  ...{ title: "Miles", kind: "number quiet", sort: "distance", beside: "usually" },
};

interface Listed {
  letter: string;
  entry: Priced;
}

export function Facilities({ view, scope }: { view: View; scope: ProcedureAnswer }) {
  const { choice, code, paths, pinned, list, datasets } = view;
  const { summary, allowed, source, procedure } = scope;
  const words = wordsOf(view);
  // When a hospital is chosen, its row moves. The effect below keeps the focus on that row.
  const chosen = useRef("");
  useEffect(() => {
    const link = document.querySelector<HTMLElement>(`.facilities [data-ccn="${chosen.current}"]`);
    link?.focus({ preventScroll: true });
    chosen.current = "";
  }, [view]);
  const median = summary.facilities < leastForQuartiles ? null : summary.median_charge;
  /** Hospitals with a lower allowed amount may do other procedures than the group's name says. */
  const leastUsual = median === null ? 0 : summary.median_allowed / unusualFactor;
  const isNear = choice.near !== null;
  const top: Listed[] = pinned.flatMap(({ letter, entry }) =>
    entry && isPriced(entry) ? [{ letter, entry }] : [],
  );
  const isElsewhere = ({ state, distance }: Entry) =>
    isNear ? distance === undefined : choice.state !== null && choice.state !== state;
  const counted = top.filter(({ entry }) => !isElsewhere(entry)).length;
  const others = list.data
    .filter(({ ccn }) => !top.some(({ entry }) => entry.ccn === ccn))
    .slice(0, choice.shown - counted);
  const listed = counted + others.length;
  const own = top.flatMap(({ entry }) => [entry.submitted_charge, entry.medicare_allowed]);
  const scale = () =>
    dollarScale([allowed.min, allowed.max, summary.min_charge, summary.max_charge, ...own], 0, 100);
  const count = list.facilities;
  const place = isNear ? `-${choice.near}-${choice.within}mi` : choice.state ? `-${choice.state}` : "";
  const name = `opps-${source.data_version}-${code}${place}`;
  /** The whole list, in its order. */
  const all = async () => {
    const found = isNear ? null : await viewOnce((ask) => rowsAt(paths.all, ask));
    if (found instanceof Failure) throw found;
    return priceFigures(found?.data ?? list.data, { procedure, source: found?.source ?? source });
  };
  const columns: ListColumn[] = [
    { title: "Hospital", kind: "name", sort: "name" },
    ...(isNear ? [milesColumn] : []),
    ...[paysColumn, allowedColumn, chargeColumn],
    ...(isNear ? [] : [ratioColumn]),
    servicesColumn,
  ];
  /** A row's texts and amounts, for the screen and for a saved file. The letter is empty unless the hospital is compared. */
  const drawnOf = ({ letter, entry }: Listed): Required<Omit<DrawnRow, "mark" | "isStrong">> => {
    const { facility, city, state, zip, distance, services } = entry;
    const { submitted_charge: charged, medicare_allowed: allowed } = entry;
    const notes = [
      letter !== "" && isElsewhere(entry) && "elsewhere, not counted",
      allowed < leastUsual && "Medicare allows far less here than elsewhere",
    ];
    return {
      ...{ letter, name: facility, place: [`${city}, ${state}`, ...notes].filter(Boolean).join(" · ") },
      texts: [
        ...(isNear ? [milesText(distance, zip === choice.near)] : []),
        ...[shareOf(allowed, source.data_year), allowed, charged].map(money),
        ...(isNear ? [] : [times(charged / allowed)]),
        typeof services === "number" ? whole(services) : "–",
      ],
      amounts: { charged, allowed, median },
    };
  };
  const pageOf = addresses((ccn) => inPlace(`/facilities/${ccn}`, { procedure: code }));
  const addedAt = addresses((ccn) => pinnedAt(choice, ccn));
  const rowOf = (one: Listed): Row => {
    const { ccn, facility } = one.entry;
    const isChoice = canPin(choice, ccn);
    const { letter, place, texts, amounts } = drawnOf(one);
    const compare = () => {
      chosen.current = ccn;
    };
    const onClick = (event: MouseEvent) => {
      // A click on a link doesn't choose the row, nor does selecting text.
      if (event.target instanceof Element && event.target.closest("a")) return;
      if (getSelection()?.isCollapsed !== false) pin(choice, ccn);
    };
    const name = html`${letter && html`<${Letter} letter=${letter} /> `}<a href=${pageOf(ccn)}>${facility}</a>
      <small class="quiet">${place}
        ${isChoice && html`<a class="button plain" href=${letter ? pinnedAt(choice, ccn) : addedAt(ccn)} data-ccn=${ccn} aria-label=${`${letter ? "Remove" : "Compare"} ${facility}`} onClick=${compare}>${letter ? "remove" : "compare"}</a>`}</small>`;
    const kind = [letter && "pinned", isChoice && "choice"].filter(Boolean).join(" ");
    return { key: letter || ccn, kind, onClick, cells: [name, ...texts], amounts };
  };
  const shown: Listed[] = [...top, ...others.map((entry) => ({ letter: "", entry }))];
  const line = median === null ? "" : " The upright line is the median charge.";
  const same = choice.sort === "pays" ? sameShare(summary, allowed, source.data_year) : "";
  const title = hospitals(count) + (count > 1 ? orderText(choice, top.length > 0 ? "compared" : "") : "");
  return html`<${Card}
    class="facilities"
    anchor="hospitals"
    title=${title}
    saved=${() => ({
      subject: words.title,
      part: listed < count ? `The first ${listed} of ${hospitals(count)}.` : "",
      sentence: `${[same, whatYouPay(source.data_year)].filter(Boolean).join(" ")}${line}`,
    })}
    drawing=${() => html`<${TableDrawing} heads=${headsOf(columns.slice(1))} rows=${shown.map(drawnOf)} x=${scale()} />`}
    source=${() => sourceOf([source.data_version], datasets)}
    about=${html`${pinned.length === maxPinned && html`<span>${mostCompared}.</span> `}${same && html`<span class="same">${same}</span> `}<${DotsLegend} median=${median === null ? null : "median charge"} />`}
    name=${name}
    figures=${count === 0 ? undefined : () => priceFigures(list.data, scope)}
    isTable=${true}
    all=${all}
    links=${() => linksOf(view, "hospitals")}
  >
    <${List}
      label="Hospitals"
      columns=${columns}
      rows=${shown.map(rowOf)}
      sorted=${choice}
      scale=${scale}
    />
    <${More} shown=${choice.shown} listed=${listed} count=${count} />
    <p class="about narrow-only">${line} ${words.found?.paid} <span class="quiet">${words.found?.comparison}</span></p>
  <//>`;
}
