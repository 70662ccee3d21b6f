import { money, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { unlessFailed } from "./answers.ts";
import { milesText } from "./around.ts";
import { Card, figuresOf, groupColumns, paysName, paysOf, sourceOf, trendFigures } from "./card.ts";
import { defaultMiles } from "./choice.ts";
import { context } from "./context.ts";
import { lastingOf, type Pinned, type View } from "./explore-data.ts";
import type { ExploreWords } from "./explore-words.ts";
import { Histogram, histogramFigures } from "./histogram.ts";
import { TableDrawing } from "./list.ts";
import { inPlace, withParameters } from "./location.ts";
import { mapFigures, StatesMap } from "./map.ts";
import { Letter } from "./picture.ts";
import { leastYears, Trend } from "./trend.ts";
import {
  inYearText,
  isFew,
  isPriced,
  mainClause,
  nameOf as nameOfGroup,
  paysTitle,
  placeText,
  pricesTitle,
  shareOf,
  textOf,
  titleOf,
} from "./words.ts";

/** Shows the pictures of a procedure, each in a card. */

export interface PictureProps {
  view: View;
  words: ExploreWords;
}

const wholeNation = { state: null, near: null, within: defaultMiles };

/** Makes permanent URLs for a picture. They name the data versions shown, so their content doesn't change. */
export function linksOf(view: View, picture: "charges" | "states" | "years" | "hospitals") {
  const lasting = { ...lastingOf(view), q: null };
  const linkTo = (path: string, more: Record<string, null> = {}) =>
    location.origin + path + new URL(withParameters({ ...lasting, ...more }), location.origin).search;
  // Around a place, the pictures of states and years show the nation.
  const place = picture === "states" || picture === "years" ? { near: null, within: null } : {};
  const embed = context.settings.embeds ? linkTo(`/embed/${picture}`, place) : undefined;
  return { page: linkTo("/") + (picture === "hospitals" ? "#hospitals" : ""), embed };
}

const nameOf = (view: View, what: string, version: string) => {
  const { state, near } = view.choice;
  const place = near ?? state;
  return ["opps", version, what, view.code, place].filter(Boolean).join("-");
};

export function Charges({ view, words }: PictureProps) {
  const scope = unlessFailed(view.scope);
  const { few, pinned, datasets } = view;
  // The sentence already names a single charge.
  const isAlone = scope?.summary.facilities === 1 && !pinned.some(({ entry }) => entry && isPriced(entry));
  if (!scope || isAlone) return null;
  const { data_version } = scope.source;
  return html`<${Card}
    class="spread"
    title="How charges are spread"
    subject=${words.title}
    saved=${() => {
      const sentence = textOf(mainClause(view.choice, scope));
      return { sentence, cited: inYearText(scope.source.data_year, sentence) };
    }}
    about=${`${few ? "A dot for each hospital" : "Hospitals"} by charge.${isFew(scope.summary) ? "" : " Shaded: the middle half."}`}
    name=${nameOf(view, "charges", data_version)}
    figures=${() => histogramFigures(scope, few, pinned)}
    source=${() => sourceOf([data_version], datasets, pinned)}
    links=${() => linksOf(view, "charges")}
  >
    <${Histogram} view=${view} scope=${scope} />
  <//>`;
}

type Amount = number | null | undefined;

interface ComparedLine {
  title: string;
  kind: string;
  of: (one: Pinned) => Amount;
  /** The median in the chosen place; undefined for a line without a median. */
  median?: Amount;
  write: (amount: number) => string;
}

function citedOf({ title, found }: ExploreWords, year: number): string {
  const own = found?.own.flatMap(({ name, clause }) => (name === null ? [] : [name + textOf(clause)])) ?? [];
  return own.length === 0 ? "" : `${title || year}: ${own.join(" ")}`;
}

const milesAway = (miles: number) => milesText(miles, false);

export function Compared({ view, words }: PictureProps) {
  const { pinned, datasets, choice } = view;
  const scope = unlessFailed(view.scope);
  if (!scope || pinned.length === 0) return null;
  const { summary, source } = scope;
  const { data_year, data_version } = source;
  const ownRows = pinned.flatMap(({ trend }) => trend?.data ?? []);
  const years = [...new Set([...ownRows.map((row) => row.data_year), data_year])].sort();
  const share = (amount: Amount) => (typeof amount === "number" ? shareOf(amount, data_year) : null);
  // A trend's median is of the nation or of a state, so around a place there is none.
  const placeRows = choice.near === null ? (unlessFailed(view.trends)?.data ?? []) : [];
  const mediansIn = (year: number) =>
    year === data_year ? summary : placeRows.find((row) => row.data_year === year);
  const pricesIn = (year: number, { entry, trend }: Pinned) =>
    year === data_year ? entry : trend?.data.find((row) => row.data_year === year);
  const lines: ComparedLine[] = [
    {
      ...{ title: paysTitle, kind: "pays", write: money },
      of: ({ entry }) => share(entry?.medicare_allowed),
      median: share(summary.median_allowed),
    },
    {
      ...{ title: "Allowed", kind: "allowed", write: money },
      of: ({ entry }) => entry?.medicare_allowed,
      median: summary.median_allowed,
    },
    {
      ...{ title: "Charge", kind: "charge", write: money },
      of: ({ entry }) => entry?.submitted_charge,
      median: summary.median_charge,
    },
    { ...{ title: "Services", kind: "", write: whole }, of: ({ entry }) => entry?.services },
    ...(choice.near === null
      ? []
      : [{ ...{ title: "Miles", kind: "", write: milesAway }, of: ({ miles }: Pinned) => miles }]),
  ];
  const isShown = (row: { data_year: number }) =>
    row.data_year !== data_year && years.includes(row.data_year);
  const others = [...ownRows.filter(isShown), ...placeRows.filter(isShown)];
  const versions = new Set([data_version, ...others.map((row) => row.data_version)]);
  // The hospitals may be elsewhere, so only the median's head names the place.
  const about = `${titleOf(scope.procedure)}, ${data_year}`;
  const rows = lines.map(({ title, kind, of, median, write }) => {
    const text = (amount: Amount) => (typeof amount === "number" ? write(amount) : "–");
    return {
      name: title,
      kind,
      texts: pinned.map((one) => text(of(one))),
      median: median === undefined ? null : text(median),
    };
  });
  const heads = pinned.map(({ letter, ccn, entry }) => ({
    ...{ letter, ccn, name: entry?.facility ?? ccn },
    place: entry ? `${entry.city}, ${entry.state}` : "",
  }));
  const prices = pinned.flatMap((one) =>
    years.flatMap((year) => {
      const price = pricesIn(year, one);
      return one.entry && price ? [{ entry: one.entry, year, price }] : [];
    }),
  );
  const place = placeText(choice);
  const median = place === "" ? "Nation's median" : `Median ${place}`;
  const drawnRows = rows.map(({ name, kind, texts, median }) => ({
    ...{ name, texts: [...texts, median ?? ""], isStrong: kind === "pays" },
  }));
  return html`<${Card}
    class="compared"
    anchor="compared"
    title=${pinned.length === 1 ? "The chosen hospital" : "Side by side"}
    about=${about}
    subject=${about}
    name=${nameOf(view, "compared", data_version)}
    figures=${() =>
      figuresOf(
        prices,
        ["data_year", null, ({ year }) => year],
        ["data_version", null, ({ price }) => ("data_version" in price ? price.data_version : data_version)],
        ["ccn", null, ({ entry }) => entry.ccn],
        ["facility", null, ({ entry }) => entry.facility],
        ["city", null, ({ entry }) => entry.city],
        ["state", null, ({ entry }) => entry.state],
        ...groupColumns(scope.procedure),
        ["submitted_charge", null, ({ price }) => price.submitted_charge ?? null],
        ["medicare_allowed", null, ({ price }) => price.medicare_allowed ?? null],
        [paysName, null, ({ price, year }) => paysOf({ medicare_allowed: price.medicare_allowed }, year)],
        ["services", null, ({ price }) => price.services ?? null],
        ["median_charge", null, ({ year }) => mediansIn(year)?.median_charge ?? null],
        ["median_allowed", null, ({ year }) => mediansIn(year)?.median_allowed ?? null],
        ["median_of", null, () => place || "the nation"],
      )}
    isTable=${true}
    saved=${() => ({ cited: citedOf(words, data_year) })}
    drawing=${() => html`<${TableDrawing} heads=${[...heads, { name: median }]} rows=${drawnRows} />`}
    source=${() => sourceOf([...versions].sort(), datasets)}
    links=${() => ({ page: `${linksOf(view, "charges").page}#compared` })}
  >
    <table role="table">
      <thead role="rowgroup"><tr role="row"><td role="cell"></td>
        ${heads.map(
          ({
            letter,
            ccn,
            name,
            place,
          }) => html`<th role="columnheader" scope="col" class="number"><${Letter} letter=${letter} /> <a href=${inPlace(`/facilities/${encodeURIComponent(ccn)}`, { procedure: view.code })}>${name}</a>${" "}
          <small class="quiet">${place}</small></th>`,
        )}
        <th role="columnheader" scope="col" class="number">${median}</th></tr></thead>
      <tbody role="rowgroup">${rows.map(
        ({ name, kind, texts, median }) => html`<tr role="row"><th role="rowheader" scope="row">${name}</th>
          ${texts.map((text, i) => html`<td role="cell" class=${`number ${kind}`} data-name=${heads[i].letter}>${text}</td>`)}
          ${median !== null && html`<td role="cell" class="number quiet median" data-name="median">${median}</td>`}</tr>`,
      )}</tbody>
    </table>
  <//>`;
}

export function States({ view }: { view: View }) {
  const { datasets } = view;
  const nation = unlessFailed(view.nation);
  if (!nation) return null;
  const { data_version } = nation.source;
  const dataset = datasets.find((one) => one.data_version === data_version);
  return html`<${Card}
    title="Where hospitals charge more"
    subject=${pricesTitle(nation.procedure, wholeNation, nation.source.data_year)}
    saved=${() => {
      const sentence = textOf(mainClause(wholeNation, nation));
      return { sentence, cited: inYearText(nation.source.data_year, sentence) };
    }}
    about="Median charge by state"
    name=${`opps-${data_version}-states-${view.code}`}
    figures=${() => mapFigures(nation, dataset)}
    source=${() => sourceOf([data_version], datasets)}
    links=${() => linksOf(view, "states")}
  >
    <${StatesMap} answer=${nation} dataset=${dataset} state=${view.choice.state} />
  <//>`;
}

/** Shows the trend. With `near`, the API has no trend, so the compared hospitals are shown beside the nation's trend. */
export function Years({ view }: { view: View }) {
  const trends = unlessFailed(view.trends);
  const { choice, pinned, datasets } = view;
  const isBeside = choice.near !== null;
  const own = pinned.filter(({ trend }) => trend !== null);
  if (!trends || trends.data.length < leastYears || (isBeside && own.length === 0)) return null;
  const year = unlessFailed(view.scope)?.source.data_year ?? null;
  const last = trends.data[trends.data.length - 1];
  const isState = choice.state !== null && !isBeside;
  const whose = isState ? placeText(choice) : `${isBeside ? "" : "in "}the whole country`;
  const where = isState ? placeText(choice) : "in the nation";
  const half = trends.data.every(isFew) ? "" : " with the middle half";
  return html`<${Card}
    title=${`Over the years, ${isBeside ? "beside " : ""}${whose}`}
    subject=${titleOf(trends.procedure)}
    saved=${() => ({
      sentence: `In ${last.data_year} the median charge ${where} for ${nameOfGroup(trends.procedure)} is ${money(last.median_charge)}. Medicare allows ${money(last.median_allowed)}.`,
    })}
    about=${isBeside ? besideText(own, half) : `Median charge${half}, and Medicare's median`}
    name=${nameOf(view, "years", trends.source.data_years.join("-"))}
    figures=${() => trendFigures(trends, pinned)}
    source=${() => sourceOf(trends.source.data_versions, datasets, pinned)}
    links=${() => linksOf(view, "years")}
  >
    <${Trend} years=${trends.data} pinned=${isBeside ? own : pinned} year=${year} isBeside=${isBeside} />
  <//>`;
}

const besideText = (own: readonly Pinned[], half: string) =>
  `${own.length === 1 ? `What ${own[0].entry?.facility} charges and is allowed` : "What the compared hospitals charge"}; in grey, the nation's median charge${half}`;
