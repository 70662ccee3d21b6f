import { money } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { unlessFailed } from "./answers.ts";
import { settings } from "./api.ts";
import { Card, sourceText } from "./card.ts";
import { defaultMiles } from "./choice.ts";
import { lastingOf, type View } from "./explore-data.ts";
import { wordsOf } from "./explore-words.ts";
import { Histogram, histogramFigures } from "./histogram.ts";
import { withParameters } from "./location.ts";
import { mapFigures, StatesMap } from "./map.ts";
import { titleOf } from "./procedures.ts";
import { stateName } from "./states.ts";
import { leastYears, Trend, trendFigures } from "./trend.ts";
import { isFew, isPriced, mainClause, placeText, pricesTitle, textOf } from "./words.ts";

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
