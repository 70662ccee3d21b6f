import { useEffect, useRef } from "preact/hooks";
import { money, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { type Entry, Failure, type Priced, type ProcedureAnswer } from "./answers.ts";
import { viewOnce } from "./api.ts";
import { milesText } from "./around.ts";
import { Card, priceFigures, sourceOf } from "./card.ts";
import { canPin, maxPinned, mostCompared } from "./choice.ts";
import { rowsAt } from "./explore-data.ts";
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
import { linksOf, type PictureProps } from "./pictures.ts";
import {
  firstText,
  hospitals,
  inYearText,
  isPriced,
  leastForQuartiles,
  mainClause,
  nameOf,
  orderText,
  placeText,
  sameShare,
  shareOf,
  textOf,
  whatYouPay,
} from "./words.ts";

/** Lists hospitals, with what a patient pays, and the amounts as dots on one scale. */

const unusualFactor = 4;
const mostCited = 5;
const pictureRows = [5, 10, 25];

function citedAmount(entry: Priced, sort: string, year: number): string {
  const { submitted_charge: charged, medicare_allowed: allowed, services, distance } = entry;
  if (sort === "pays") return `you pay ${money(shareOf(allowed, year))}`;
  if (sort === "allowed") return `allowed ${money(allowed)}`;
  if (sort === "markup") return `${times(charged / allowed)} what Medicare allows`;
  if (sort === "services" && typeof services === "number") return `${whole(services)} services`;
  const charge = `charge ${money(charged)}`;
  return sort === "distance" ? `${milesText(distance, false)} miles, ${charge}` : charge;
}

const milesColumn: ListColumn = {
  ...{ title: "Miles", kind: "number quiet", sort: "distance", beside: "usually" },
};

interface Listed {
  letter: string;
  entry: Priced;
}

export function Facilities({ view, words, scope }: PictureProps & { scope: ProcedureAnswer }) {
  const { choice, code, paths, pinned, list, datasets } = view;
  const { summary, allowed, source, procedure } = scope;
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
  const notCompared = list.data.filter(({ ccn }) => !top.some(({ entry }) => entry.ccn === ccn));
  const others = notCompared.slice(0, choice.shown - counted);
  const listed = counted + others.length;
  const own = top.flatMap(({ entry }) => [entry.submitted_charge, entry.medicare_allowed]);
  const scale = () => dollarScale([allowed.min, allowed.max, summary.min_charge, summary.max_charge, ...own]);
  const count = list.facilities;
  const place = isNear ? `-${choice.near}-${choice.within}mi` : choice.state ? `-${choice.state}` : "";
  const name = `opps-${source.data_version}-${code}${place}`;
  const all = async () => {
    const found = await viewOnce((ask) => rowsAt(paths.all, ask));
    if (found instanceof Failure) throw found;
    return priceFigures(found.data, { procedure, source: found.source });
  };
  const columns: ListColumn[] = [
    { title: "Hospital", kind: "name", sort: "name" },
    ...(isNear ? [milesColumn] : []),
    ...[paysColumn, allowedColumn, chargeColumn],
    ...(isNear ? [] : [ratioColumn]),
    servicesColumn,
  ];
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
      // Clicking a link or selecting text doesn't choose the row.
      if (event.target instanceof Element && event.target.closest("a")) return;
      if (getSelection()?.isCollapsed !== false) pin(choice, ccn);
    };
    const name = html`${letter && html`<${Letter} letter=${letter} /> `}<a href=${pageOf(ccn)}>${facility}</a>
      <small class="quiet">${place}
        ${isChoice && html`<a class="button plain" href=${letter ? pinnedAt(choice, ccn) : addedAt(ccn)} data-ccn=${ccn} aria-label=${`${letter ? "Remove" : "Compare"} ${facility}`} onClick=${compare}>${letter ? "remove" : "compare"}</a>`}</small>`;
    const kind = [letter && "pinned", isChoice && "choice"].filter(Boolean).join(" ");
    return { key: letter || ccn, kind, onClick, cells: [name, ...texts], amounts };
  };
  const rowsFor = (count: number): Listed[] => [
    ...top,
    ...notCompared.slice(0, Math.max(0, count - counted)).map((entry) => ({ letter: "", entry })),
  ];
  const shown = rowsFor(choice.shown);
  /** From three rows on, a sentence replaces a column that has the same text in each row. */
  const pictureOf = (count = choice.shown) => {
    const rows = rowsFor(count).map(drawnOf);
    const isSame = (i: number) => rows.length > 2 && rows.every(({ texts }) => texts[i] === rows[0].texts[i]);
    const kept = [...columns.keys()].slice(0, -1).filter((i) => !isSame(i));
    const equal = [...columns.keys()].slice(0, -1).filter(isSame);
    return {
      heads: headsOf(kept.map((i) => columns[i + 1])),
      rows: rows.map((row) => ({ ...row, texts: kept.map((i) => row.texts[i]) })),
      said: equal.map((i) => `${columns[i + 1].title}: ${rows[0].texts[i]} in each row.`).join(" "),
    };
  };
  const partOf = (rows: number) => {
    if (rows >= count) return "";
    const text = top.length > 0 ? `the first ${rows} of ${hospitals(count)}` : firstText(choice, rows, count);
    return `${text[0].toUpperCase()}${text.slice(1)}.`;
  };
  const cited = () => {
    const first = list.data.slice(0, mostCited);
    if (count < 2) return inYearText(source.data_year, textOf(mainClause(choice, scope)));
    const place = placeText(choice);
    const amounts = first.map((entry) => {
      const { facility, city, state } = entry;
      return `${facility}, ${city}, ${state} (${citedAmount(entry, choice.sort, source.data_year)})`;
    });
    const which = [firstText(choice, first.length, count), place].filter(Boolean).join(" ");
    return `In ${source.data_year}, ${which} for ${nameOf(procedure)}: ${amounts.join("; ")}.`;
  };
  const line = median === null ? "" : " The upright line is the median charge.";
  const same = choice.sort === "pays" ? sameShare(summary, allowed, source.data_year) : "";
  const title = hospitals(count) + (count > 1 ? orderText(choice, top.length > 0 ? "compared" : "") : "");
  return html`<${Card}
    class="facilities"
    anchor="hospitals"
    title=${title}
    subject=${words.title}
    saved=${(rows?: number) => ({
      part: partOf(rows === undefined ? listed : Math.min(rows, count)),
      sentence: [
        same,
        pictureOf(rows).said,
        `${whatYouPay(source.data_year)}${line}`,
        "On the scale, each doubling is an equal step.",
      ]
        .filter(Boolean)
        .join(" "),
      cited: cited(),
    })}
    drawing=${(rows?: number) => html`<${TableDrawing} ...${pictureOf(rows)} x=${scale()} />`}
    rowCounts=${pictureRows.filter((rows) => rows < count && rows <= list.data.length)}
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
