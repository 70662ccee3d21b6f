import { money, printable } from "../../../shared/browser/format.ts";
import { unlessFailed } from "./answers.ts";
import { type Choice, mostCompared, nowhere } from "./choice.ts";
import { knownOf, type View } from "./explore-data.ts";
import {
  alsoMeant,
  doubtOf,
  type Nothing,
  nothingText,
  otherText,
  questionText,
  searchText,
  surelyMeant,
  type Way,
  wayOn,
} from "./nothing.ts";
import { countyText, namesCounty, type UnknownPlace, withStateName } from "./states.ts";
import {
  commonRanks,
  comparison,
  inYear,
  isPriced,
  mainClause,
  noHospital,
  nothingTitle,
  ownClause,
  placeTitle,
  pricesTitle,
  sampleCaveat,
  textOf,
  titleOf,
  type Word,
  whatIsPaid,
  whatYouPay,
  withoutPrice,
} from "./words.ts";

/** Puts a view of the Explore page into words. The server writes them, and the browser shows the same. */

export interface ExploreWords {
  /** The title; empty if no procedure is shown, or if the place isn't known. */
  title: string;
  /** The sentences about the prices; null if no price was found. */
  found: {
    main: Word[];
    /** Compared hospitals. `name` is null if the data doesn't have the hospital. */
    own: { letter: string; ccn: string; name: string | null; clause: Word[] }[];
    share: string;
    /** What the hospital is paid, and perhaps the medians of another year. */
    paid: string;
    comparison: string;
  } | null;
  nothing: Nothing | null;
  /** What else the visitor's words may mean, or the question whether the shown procedure is meant. */
  also: { text: string; ways: Way[] } | null;
  /** Says that hospitals to compare are left out, or that a data version is old or isn't served. */
  note: Note | null;
}

export function descriptionOf(view: View, { found, nothing, note }: ExploreWords): string {
  if (found === null)
    return [`${nothing?.title ?? nothingTitle}.`, nothing?.why, nothing?.before].filter(Boolean).join(" ");
  const own = found.own.flatMap(({ name, clause }) => (name === null ? [] : [name + textOf(clause)]));
  return [textOf(found.main), ...own, note?.text, sampleCaveat(caveatOf(view))].filter(Boolean).join(" ");
}

/** Returns the caveat of the data version shown, or of the newest one if none is shown. */
export const caveatOf = (view: View): string | undefined =>
  knownOf(view)?.source.caveat ?? view.datasets[0]?.caveat;

export interface Note {
  text: string;
  /** Link to the newest data version; null if the note isn't about data versions. */
  link: Way | null;
  /** Whether the URL names a data version that isn't served. Then the note stands above the heading. */
  isGone: boolean;
}

export function wordsOf(view: View): ExploreWords {
  const { leftOut } = view.choice;
  const before = leftOut.length > 0 && `${mostCompared}. Left out: ${leftOut.map(printable).join(", ")}.`;
  return {
    ...pricesOf(view),
    also: alsoOf(view),
    note: versionNote(view, knownOf(view)?.source.data_version, before || ""),
  };
}

/**
 * Says that the data version shown isn't the newest, or that the URL names versions that aren't served.
 * @param shown the data version; undefined if nothing is shown
 * @param before another text, with which the note ends; empty for none
 */
export function versionNote(
  {
    gone,
    goneVersions = [],
    datasets,
  }: Pick<View, "gone" | "datasets"> & Partial<Pick<View, "goneVersions">>,
  shown: string | undefined,
  before = "",
): Note | null {
  if (shown === undefined) return null;
  const newest = datasets.find(({ status }) => status === "current")?.data_version;
  const isOlder = newest !== undefined && newest !== shown;
  const [isGone, isPart] = [gone !== null, goneVersions.length > 0];
  const names = goneVersions.map((one) => `“${printable(one)}”`).join(", ");
  const texts = [
    gone !== null && `“${printable(gone)}” isn't in the data (any more).`,
    isOlder ? `This is data version ${shown}.` : isGone && `This is the newest data version, ${shown}.`,
    isPart &&
      `Of the years to compare, ${names} ${goneVersions.length === 1 ? "isn't" : "aren't"} in the data (any more).`,
    before,
  ].filter(Boolean);
  if (texts.length === 0) return null;
  const link = { text: `See the newest, ${newest ?? shown}`, changes: { year: null, versions: null } };
  return { text: texts.join(" "), link: isOlder || isGone || isPart ? link : null, isGone: isGone || isPart };
}

function pricesOf(view: View): Omit<ExploreWords, "also" | "note"> {
  const { choice } = view;
  const known = knownOf(view);
  const procedure = known?.procedure;
  const title =
    procedure === undefined || view.unknown ? "" : pricesTitle(procedure, choice, known?.source.data_year);
  const scope = unlessFailed(view.scope);
  if (scope === null) return { title, found: null, nothing: nothingOf(view) };
  const { facilities, median_allowed } = scope.summary;
  const prices = view.pinned.flatMap(({ entry, standings }) =>
    entry && isPriced(entry) ? [{ ...standings, state: entry.state }] : [],
  );
  const among = commonRanks(choice, prices);
  const paid = whatIsPaid(scope.source.data_year, median_allowed, facilities > 1);
  const { data_year } = scope.source;
  const newest = Math.max(data_year, ...view.datasets.map((one) => one.data_year));
  const main = mainClause(choice, scope);
  const found = {
    main: data_year === newest ? main : inYear(data_year, main),
    share: whatYouPay(scope.source.data_year),
    own: view.pinned.map(({ letter, ccn, entry, standings }) => {
      const clause = !entry
        ? [noHospital(ccn)]
        : isPriced(entry)
          ? ownClause(choice, scope, entry, standings, among)
          : [withoutPrice];
      return { letter, ccn, name: entry?.facility ?? null, clause };
    }),
    paid: [paid, yearBefore(view)].filter(Boolean).join(" "),
    comparison: comparison(scope),
  };
  return { title, found, nothing: null };
}

function alsoOf({ search, nation, code }: View) {
  const found = unlessFailed(search);
  if (found === null || code === "") return null;
  const { q } = found.query;
  const ways = alsoMeant(found);
  const procedure = unlessFailed(nation)?.procedure;
  if (procedure && surelyMeant(found) === null) {
    const text = [questionText(q, titleOf(procedure)), doubtOf(found)].filter(Boolean).join(" ");
    return { text, ways: [...ways, { text: "See what else there is", changes: null }] };
  }
  return ways.length === 0 ? null : { text: `“${printable(q)}” also may be:`, ways };
}

/**
 * Writes the other year's medians if there are only two years, because there is no picture of two years. Empty around a
 * place, because the trend is then the nation's.
 */
function yearBefore({ choice, trends, scope }: View): string {
  if (choice.near !== null) return "";
  const years = unlessFailed(trends)?.data ?? [];
  const other = years.find(({ data_year }) => data_year !== unlessFailed(scope)?.source.data_year);
  if (years.length !== 2 || other === undefined) return "";
  return `In ${other.data_year} the median charge was ${money(other.median_charge)}, and Medicare allowed ${money(other.median_allowed)}.`;
}

function nothingOf(view: View): Nothing {
  const { choice, search, other, code, meant, unpriced, unknown, nation, nearest, datasets } = view;
  if (other !== null && "unknown" in other) {
    const last = wayOn(choice, true);
    return unknownText(other.unknown, false, last, { q: null, procedure: null });
  }
  if (other !== null) return otherText(choice.words ?? "", other);
  if (search !== null && choice.words !== null) return searchText(choice.words, search);
  const known = unlessFailed(nation);
  if (unknown !== null) return unknownText(unknown, choice.near === null, wayOn(choice, known !== null));
  return nothingText({
    ...{ choice, code, meant, unpriced, nearest, datasets },
    procedure: (unpriced ?? known)?.procedure,
    version: known?.source.data_version,
  });
}

/** @param isState whether the URL names a state @param dropped further parameters that the links to places remove */
function unknownText(
  { text, namesakes, likely }: UnknownPlace,
  isState: boolean,
  last: Way,
  dropped: Record<string, null> = {},
): Nothing {
  const ways = [last];
  const matches = [...namesakes, ...likely].map((near) => ({
    ...{ text: withStateName(near), detail: "", changes: { ...dropped, ...nowhere, near } },
  }));
  if (namesakes.length > 0) {
    return { title: `“${text}” is in several states`, why: "", before: "Choose one:", matches, ways };
  }
  if (likely.length > 0) {
    const before = likely.length === 1 ? "It may be:" : "It may be one of these:";
    return { title: `The place “${text}” isn't known here`, why: "", before, matches, ways };
  }
  const why = namesCounty(text)
    ? countyText(text)
    : isState
      ? `There is no state “${text}”.`
      : /^\d/.test(text)
        ? `The ZIP code “${text}” isn't known here.`
        : `The place “${text}” isn't known here: write a city with its state, as in Columbus, OH, or a ZIP code.`;
  return { title: "Nothing was found", why, ways };
}

export const placeShown = (choice: Choice, unknown: UnknownPlace | null) =>
  unknown === null
    ? placeTitle(choice) || "Whole nation"
    : `${unknown.text}: ${unknown.namesakes.length > 0 ? "in several states" : "not known"}`;
