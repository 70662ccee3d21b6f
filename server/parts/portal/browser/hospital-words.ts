import { money, printable, times } from "../../../shared/browser/format.ts";
import {
  type Ask,
  type Dataset,
  type DatasetsAnswer,
  type Entry,
  type FacilitiesAnswer,
  type FacilityAnswer,
  type FacilityRow,
  type FacilityTrendsAnswer,
  Failure,
  isServed,
  type ProcedureAnswer,
  pathOf,
  servedOf,
  type TrendsAnswer,
  unlessFailed,
} from "./answers.ts";
import { farthest } from "./choice.ts";
import { versionNote } from "./explore-words.ts";
import type { Nothing } from "./nothing.ts";
import { stateInSentence } from "./states.ts";
import {
  nameOf,
  noHospital,
  nothingTitle,
  type Procedure,
  sampleCaveat,
  shareOf,
  standingText,
  whatIsPaid,
  whatYouPay,
} from "./words.ts";

/** Makes the view of a hospital's page from the API's answers, and puts it into words, in the browser and on the server. */

export const nearMiles = 25;
export const nearShown = 8;

export interface HospitalView {
  /** The data year or version in the URL if it isn't served; null otherwise. The newest is shown instead. */
  gone: string | null;
  /** The trend's data versions in the URL that aren't served. They are left out. Empty if `gone` isn't null. */
  goneVersions: string[];
  answer: FacilityAnswer;
  /** Code of the chosen procedure, as in the URL; null for none. */
  code: string | null;
  /** The chosen procedure if the hospital has a price for it, or else its most frequent one; undefined without prices. */
  procedure: FacilityRow | undefined;
  /**
   * The procedure whose prices nearby are shown: the chosen one if any hospital has a price for it, or else `procedure`.
   */
  nearby: (Procedure & { code: string }) | undefined;
  own: FacilityTrendsAnswer | null;
  trends: TrendsAnswer | null;
  /**
   * This hospital and the nearest others within `nearMiles`. If there are no others, this hospital and the nearest within
   * `farthest` miles. Null if the hospital's place isn't known.
   */
  near: FacilitiesAnswer | null;
  /** Like `near`, but only hospitals that do the procedure `nearby`, with a price or without. Null if there are none. */
  nearDoing: FacilitiesAnswer | null;
  datasets: Dataset[];
}

/**
 * @param ccn the hospital's CCN as in the URL, undecoded
 * @param compared data versions of the trend, separated by commas; null for the newest version of each year
 */
export function hospitalViewOf(
  ccn: string,
  { year, procedure: code, versions: compared }: Record<"year" | "procedure" | "versions", string | null>,
  ask: Ask,
): HospitalView | Nothing {
  const segment = `/healthcare/facilities/${ccn}`;
  const [answer, versions] = ask<[FacilityAnswer, DatasetsAnswer]>(
    pathOf(segment, {}, year),
    pathOf("/datasets"),
  );
  const datasets = unlessFailed(versions)?.data ?? [];
  if (answer instanceof Failure) {
    const isGone = year !== null && !isServed(year, datasets);
    const newest = isGone ? hospitalViewOf(ccn, { year: null, procedure: code, versions: null }, ask) : null;
    return newest === null || "ways" in newest ? noHospitalText(ccn, year, ask) : { ...newest, gone: year };
  }
  const most = answer.data.toSorted((a, b) => (b.services ?? 0) - (a.services ?? 0)).at(0);
  const chosen = answer.data.find((row) => row.code === code);
  const procedure = chosen ?? most;
  const nearby = chosen ?? (code === null ? undefined : priced(code, year, ask)) ?? most;
  const zip = answer.facility.zip ?? null;
  const nearPaths = (within: number, limit: number) => {
    const around = { near: zip, within, sort: "distance", limit };
    const doing = nearby ? [{ ...around, procedure: nearby.code, status: "all" }] : [];
    return zip === null ? [] : [around, ...doing].map((of) => pathOf("/healthcare/facilities", of, year));
  };
  const { kept, gone: goneVersions } = servedOf(compared, datasets);
  const trendPaths = procedure
    ? [`${segment}/trends`, "/healthcare/trends"].map((path) =>
        pathOf(path, { procedure: procedure.code, versions: kept.join(",") }),
      )
    : [];
  const within = nearPaths(nearMiles, nearShown + 1);
  ask<object[]>(...within, ...trendPaths);
  const isAlone = unlessFailed(ask<FacilitiesAnswer[]>(...within)[0] ?? null)?.data.length === 1;
  const [near = null, nearDoing = null] = ask<FacilitiesAnswer[]>(
    ...(isAlone ? nearPaths(farthest, 2) : within),
  );
  const [own = null] = ask<FacilityTrendsAnswer[]>(...trendPaths.slice(0, 1));
  const [trends = null] = ask<TrendsAnswer[]>(...trendPaths.slice(1));
  return {
    ...{ gone: null, goneVersions, answer, code, procedure, nearby, datasets },
    ...{ own: unlessFailed(own), trends: unlessFailed(trends), near: unlessFailed(near) },
    nearDoing: unlessFailed(nearDoing),
  };
}

export const lastingOfHospital = ({ answer, trends }: HospitalView) => ({
  year: answer.source.data_version,
  versions: trends?.source.data_versions.join(",") ?? null,
});

/** Links to the hospital that may be meant, such as 050697 for 50697 or 05-0697. */
function noHospitalText(ccn: string, year: string | null, ask: Ask): Nothing {
  const whole = ccn
    .replaceAll(/[-.\s]|%20/g, "")
    .toUpperCase()
    .padStart(6, "0");
  const isOther = whole !== ccn && /^[0-9][0-9A-Z]\d{4}$/.test(whole);
  const meant = isOther
    ? unlessFailed(ask<[FacilityAnswer]>(pathOf(`/healthcare/facilities/${whole}`, {}, year))[0])
    : null;
  return {
    title: nothingTitle,
    why: meant
      ? `No hospital in the data has the number (CCN) ${printable(ccn)}. A CCN has six characters: ${whole} may be meant.`
      : noHospital(ccn, year),
    ways: [
      ...(meant ? [{ text: `See ${meant.facility.facility}`, changes: null, hospital: whole }] : []),
      ...(year === null ? [] : [{ text: "See the newest year", changes: { year: null } }]),
      { text: "Explore what there is", changes: null },
    ],
  };
}

function priced(code: string, year: string | null, ask: Ask) {
  // Words and other texts aren't asked for: a browser shows each refused request on its console.
  if (!/^\d{4}$/.test(code)) return undefined;
  const [found] = ask<[ProcedureAnswer]>(pathOf(`/healthcare/procedures/${code}`, { bins: 1 }, year));
  return unlessFailed(found)?.procedure;
}

/** Why a hospital that does a procedure has no price for it; empty for any other hospital. */
export const whyUnpriced = (one: Pick<Entry, "status"> | undefined): string =>
  one?.status === "suppressed"
    ? "too few Medicare patients for a price"
    : one?.status === "incomplete"
      ? "not all amounts are known"
      : "";

/**
 * Writes texts, which may be empty: `own` is about the chosen procedure or a lack of prices, `share` says what "you pay"
 * means, and `further` is about all procedures.
 */
export function hospitalText({
  answer: { data, facility, source },
  code,
  nearby,
  nearDoing,
}: Pick<HospitalView, "answer" | "code" | "nearby" | "nearDoing">): Record<
  "own" | "share" | "further",
  string
> {
  if (data.length === 0) return { own: withoutAnyPrice, share: "", further: "" };
  const chosen = data.find((row) => row.code === code);
  const why = whyUnpriced(nearDoing?.data.find(({ ccn }) => ccn === facility.ccn));
  const compared = data.filter(({ national }) => national.facilities > 1);
  const above = compared.filter((row) => row.submitted_charge > row.national.median_charge).length;
  const inState = data.filter((row) => row.within_state.facilities > 1);
  const aboveState = inState.filter((row) => row.submitted_charge > row.within_state.median_charge).length;
  const charges = (median: string, above: number, all: number) => {
    const whole = all === 1 ? "one procedure" : all === 2 ? "both procedures" : `all ${all} procedures`;
    if (above === 0) return `${median} or less for ${whole}`;
    return `more than ${median} for ${above === all ? whole : `${above} of ${all} procedures`}`;
  };
  const others = (some: unknown[], there = "") =>
    some.length < data.length ? ` that other hospitals${there} have a price for` : "";
  const nation =
    data.length === 1
      ? `It has a price for one procedure: ${nameOf(data[0])}.`
      : `It charges ${charges("the nation's median", above, compared.length)}${others(compared)}` +
        `${inState.length > 0 ? `, and ${charges(`the median in ${stateInSentence(facility.state)}`, aboveState, inState.length)}${others(inState, " there")}` : ""}.`;
  const own = chosen
    ? `For ${nameOf(chosen)} you pay about ${money(shareOf(chosen.medicare_allowed, source.data_year))} with Medicare. It charges ${money(chosen.submitted_charge)}: ${standingText(chosen.national)}.`
    : nearby && nearby.code === code
      ? `It has no price for ${nameOf(nearby)}${why && `: ${why}`}.`
      : "";
  const ratio = medianOf(data.map((row) => row.submitted_charge / row.medicare_allowed));
  const subject = data.length === 1 ? "It" : "Typically it";
  const allowed = chosen ? `Medicare allows this hospital ${money(chosen.medicare_allowed)} for that. ` : "";
  const further = `${allowed}${nation} ${subject} charges ${times(ratio).replace("×", " times")} what Medicare allows. ${whatIsPaid(source.data_year, chosen?.medicare_allowed)}`;
  return { own, share: whatYouPay(source.data_year), further };
}

const withoutAnyPrice =
  "It has no prices: CMS suppresses what a hospital did for too few Medicare patients (10 services or fewer).";

function medianOf(numbers: number[]): number {
  const sorted = numbers.sort((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  return (sorted[Math.floor(half)] + sorted[Math.ceil(half)]) / 2;
}

export function hospitalDescription(view: HospitalView): string {
  const { source } = view.answer;
  const { own, further } = hospitalText(view);
  const note = versionNote(view, source.data_version);
  return [`${addressText(view.answer)}.`, note?.text, own, further, sampleCaveat(source.caveat)]
    .filter(Boolean)
    .join(" ");
}

export const addressText = ({ facility }: FacilityAnswer): string =>
  `${[facility.street, facility.city, `${facility.state} ${facility.zip ?? ""}`.trim()].filter(Boolean).join(", ")} · CCN ${facility.ccn}`;
