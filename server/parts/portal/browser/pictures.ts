import { money, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { unlessFailed } from "./answers.ts";
import { settings } from "./api.ts";
import { Card, type FigureColumn, figuresOf, pinnedName, sourceText, trendFigures } from "./card.ts";
import { defaultMiles } from "./choice.ts";
import { lastingOf, type Pinned, type View } from "./explore-data.ts";
import { wordsOf } from "./explore-words.ts";
import { Histogram, histogramFigures } from "./histogram.ts";
import { ListDrawing } from "./list.ts";
import { inYear, withParameters } from "./location.ts";
import { mapFigures, StatesMap } from "./map.ts";
import { dollarScale, Letter } from "./picture.ts";
import { titleOf } from "./procedures.ts";
import { stateName } from "./states.ts";
import { leastYears, Trend } from "./trend.ts";
import { isFew, isPriced, mainClause, placeText, pricesTitle, shareOf, textOf } from "./words.ts";

/** Shows the pictures of a procedure, each in a card. */

const wholeNation = { state: null, near: null, within: defaultMiles, city: null };

/** Makes permanent URLs for a picture. They name the data versions shown, so their content doesn't change. */
export function linksOf(view: View, picture: "charges" | "states" | "years" | "hospitals") {
  const lasting = { ...lastingOf(view), q: null };
  const linkTo = (path: string, more: Record<string, null> = {}) =>
    location.origin + path + new URL(withParameters({ ...lasting, ...more }), location.origin).search;
  // With a ZIP code, the pictures of states and years show the nation.
  const place = picture === "states" || picture === "years" ? { near: null, within: null, city: null } : {};
  const embed = settings.embeds ? linkTo(`/embed/${picture}`, place) : undefined;
  return { page: linkTo("/") + (picture === "hospitals" ? "#hospitals" : ""), embed };
}

const nameOf = (view: View, what: string, version: string) => {
  const { state, near } = view.choice;
  const place = near ?? state;
  return [what, version, view.code, place].filter(Boolean).join("-");
};

export function Charges({ view }: { view: View }) {
  const scope = unlessFailed(view.scope);
  const { few, pinned, datasets } = view;
  // The sentence already names a single charge.
  const isAlone = scope?.summary.facilities === 1 && !pinned.some(({ entry }) => entry && isPriced(entry));
  if (!scope || isAlone) return null;
  const { data_version } = scope.source;
  return html`<${Card}
    class="spread"
    title="How charges are spread"
    subject=${wordsOf(view).title}
    sentence=${textOf(mainClause(view.choice, scope))}
    about=${`${few ? "A dot for each hospital" : "Hospitals"} by charge.${isFew(scope.summary) ? "" : " Shaded: the middle half."}`}
    name=${nameOf(view, "charges", data_version)}
    figures=${histogramFigures(scope, few, pinned)}
    source=${sourceText([data_version], datasets, pinned)}
    links=${linksOf(view, "charges")}
  >
    <${Histogram} view=${view} scope=${scope} />
  <//>`;
}

/** Compares the chosen hospitals side by side, and over the years. */
export function Compared({ view }: { view: View }) {
  const { pinned, datasets, choice } = view;
  const scope = unlessFailed(view.scope);
  if (!scope || pinned.length === 0) return null;
  const { data_year, data_version } = scope.source;
  const { summary } = scope;
  const years = [
    ...new Set(pinned.flatMap(({ trend }) => trend?.data.map(({ data_year }) => data_year) ?? [])),
  ].sort();
  const dollars = (amount: number | null | undefined) => (typeof amount === "number" ? money(amount) : "–");
  const allowed = ({ trend }: Pinned, year: number) =>
    trend?.data.find((row) => row.data_year === year)?.medicare_allowed ?? null;
  const share = (amount: number | null | undefined) =>
    typeof amount === "number" ? shareOf(amount, data_year) : null;
  const median = placeText(choice) === "" ? "Nation's median" : "Median there";
  const medianIn = (year: number) =>
    unlessFailed(view.trends)?.data.find((row) => row.data_year === year)?.median_allowed;
  const lines: [
    string,
    (one: Pinned) => number | null | undefined,
    number | null | undefined,
    kind?: string,
  ][] = [
    ["You pay about", ({ entry }) => share(entry?.medicare_allowed), share(summary.median_allowed), "pays"],
    ["Medicare allows", ({ entry }) => entry?.medicare_allowed, summary.median_allowed, "allowed"],
    ["Charge", ({ entry }) => entry?.submitted_charge, summary.median_charge, "charge"],
  ];
  // A trend's median is of the nation or of a state, so around a ZIP code there is none.
  const over =
    years.length < 2
      ? []
      : years.map((year): (typeof lines)[number] => [
          `Allowed in ${year}`,
          (one) => allowed(one, year),
          choice.near === null ? medianIn(year) : null,
          "allowed",
        ]);
  const drawn = pinned.flatMap(({ letter, entry }) =>
    entry && isPriced(entry)
      ? [
          {
            name: `${letter}: ${entry.facility}, ${entry.city}, ${entry.state}`,
            charged: entry.submitted_charge,
            allowed: entry.medicare_allowed,
            median: null,
          },
        ]
      : [],
  );
  const x = dollarScale(
    drawn.flatMap(({ charged, allowed }) => [charged, allowed]),
    0,
    100,
  );
  const services = ({ entry }: Pinned) => (typeof entry?.services === "number" ? whole(entry.services) : "–");
  const row = ([
    title,
    of,
    middle,
    kind = "",
  ]: (typeof lines)[number]) => html`<tr><th scope="row">${title}</th>
    ${pinned.map((one) => html`<td class=${`number ${kind}`}>${dollars(of(one))}</td>`)}
    <td class="number quiet">${typeof middle === "number" && money(middle)}</td></tr>`;
  return html`<${Card}
    class="compared"
    anchor="compared"
    title=${pinned.length === 1 ? "The chosen hospital" : "Side by side"}
    about=${titleOf(scope.procedure)}
    name=${nameOf(view, "compared", data_version)}
    figures=${figuresOf<Pinned>(
      pinned,
      ["hospital", pinnedName],
      ...[...lines, ...over].map(
        ([title, of]): FigureColumn<Pinned> => [title, (one) => of(one) ?? null, money],
      ),
      ["Services", ({ entry }) => entry?.services ?? null, whole],
    )}
    isTable=${true}
    subject=${wordsOf(view).title}
    drawing=${() => html`<${ListDrawing} rows=${drawn} x=${x} />`}
    source=${drawn.length === 0 ? undefined : sourceText([data_version], datasets)}
    links=${{ page: `${linksOf(view, "charges").page}#compared` }}
  >
    <table>
      <thead><tr><td></td>
        ${pinned.map(
          ({
            letter,
            ccn,
            entry,
          }) => html`<th scope="col" class="number"><${Letter} letter=${letter} /> <a href=${inYear(`/facilities/${encodeURIComponent(ccn)}`, { procedure: view.code })}>${entry?.facility ?? ccn}</a>
          ${entry && html`<small class="quiet">${entry.city}, ${entry.state}</small>`}</th>`,
        )}
        <th scope="col" class="number">${median}</th></tr></thead>
      <tbody>${lines.map(row)}
        <tr><th scope="row">Services</th>${pinned.map((one) => html`<td class="number">${services(one)}</td>`)}<td></td></tr>
        ${over.map(row)}</tbody>
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
    sentence=${textOf(mainClause(wholeNation, nation))}
    about="Median charge by state"
    name=${`states-${data_version}-${view.code}`}
    figures=${mapFigures(nation, dataset)}
    source=${sourceText([data_version], datasets)}
    links=${linksOf(view, "states")}
  >
    <${StatesMap} answer=${nation} dataset=${dataset} state=${view.choice.state} />
  <//>`;
}

export function Years({ view }: { view: View }) {
  const trends = unlessFailed(view.trends);
  const { choice, pinned, datasets } = view;
  if (!trends || trends.data.length < leastYears) return null;
  const year = unlessFailed(view.scope)?.source.data_year ?? null;
  const last = trends.data[trends.data.length - 1];
  return html`<${Card}
    title=${`Over the years${choice.state ? `, ${stateName(choice.state)}` : placeText(choice) && ", the nation"}`}
    subject=${titleOf(trends.procedure)}
    sentence=${`In ${last.data_year} the median charge is ${money(last.median_charge)}. Medicare allows ${money(last.median_allowed)}.`}
    about=${`Median charge${trends.data.every(isFew) ? "" : " with the middle half"}, and Medicare's median`}
    name=${nameOf(view, "years", trends.source.data_years.join("-"))}
    figures=${trendFigures(trends.data, pinned)}
    source=${sourceText(trends.source.data_versions, datasets, pinned)}
    links=${linksOf(view, "years")}
  >
    <${Trend} years=${trends.data} pinned=${pinned} year=${year} />
  <//>`;
}
