import { printable } from "../../../shared/browser/format.ts";
import type { SearchAnswer } from "./answers.ts";
import { stateOf } from "./states.ts";

/** Reads and changes the Explore page's choices, which the URL holds. */

/** Code of the procedure that is shown at first. If the data lacks it, the procedure that most hospitals do is shown. */
export const defaultProcedure = "5072";
export const maxPinned = 3;
export const mostCompared = `No more than ${maxPinned} hospitals can be compared`;
/** Maximum characters of a search by words, as in the API. */
export const maxWordsLength = 200;
export const defaultMiles = 25;
export const radiusesInMiles = [10, defaultMiles, 50, 100];
/** Radius of the search for the nearest hospital, in miles. It is the API's maximum. */
export const farthest = 500;

/** The parameters of the pages with numbers. Their order in a URL doesn't change the page. */
export const parameterNames = [
  ...["q", "procedure", "state", "near", "within", "year", "versions"],
  ...["with", "sort", "order", "shown"],
];

/** The orders of the list, by the API's names. `pays` isn't in the API: it means the order by allowed amount. */
const sorts = ["pays", "name", "charge", "allowed", "markup", "services", "distance"];

/** Number of rows that a list shows at first. With more, the other pictures would be too far down. */
export const firstShown = 10;
export const maxShown = 210;
const step = 25;

export function shownOf(parameters: URLSearchParams): number {
  const shown = Number(parameters.get("shown"));
  return Number.isInteger(shown) ? Math.min(Math.max(shown, firstShown), maxShown) : firstShown;
}

export const nextShown = (shown: number) => Math.min(shown + step, maxShown);

/** Changes of parameters that remove the chosen place and a descending order. The page then shows the nation. */
export const nowhere = { state: null, near: null, within: null, order: null };

export interface Choice {
  procedure: string | null;
  /** What to look for instead of a chosen procedure, in a visitor's words. */
  words: string | null;
  /** The words by which the chosen procedure was found, if they may also mean something else. */
  typed: string | null;
  state: string | null;
  /** A place in words, such as a ZIP code. With it the state is ignored. */
  near: string | null;
  /** Radius around `near`, in miles. */
  within: number;
  /** A data year, or a data version such as 2024.1. */
  year: string | null;
  /** Data versions of the trend, separated by commas; null for the newest version of each year. */
  versions: string | null;
  /** CCNs of the hospitals to compare, at most `maxPinned`. */
  pinned: string[];
  /** Further CCNs in the URL. They are compared when hospitals before them are taken off. */
  leftOut: string[];
  sort: string;
  /** Whether `sort` comes from the URL. */
  isSorted: boolean;
  order: "asc" | "desc";
  shown: number;
}

/** Whether nothing is chosen. Then the page shows an example. */
export const isHome = ({ procedure, words, state, near, year, versions, pinned }: Choice): boolean =>
  [procedure, words, state, near, year, versions].every((one) => one === null) && pinned.length === 0;

/** Matches a procedure in words, or a HCPCS code. Such a text is searched for, because it isn't a group's code. */
const words = /^(?=.*\p{L}{2}|[0-9A-Z]\d{3}[0-9A-Z]$)[^\p{Cc}\ufffd]+$/iu;

export function choiceOf({ searchParams }: { searchParams: URLSearchParams }): Choice {
  const chosen = (name: string) => searchParams.get(name)?.trim() || null;
  const [near, state] = [chosen("near"), chosen("state")];
  const within = Number(chosen("within"));
  const compared = [...new Set(searchParams.getAll("with").join(",").split(",").filter(Boolean))];
  const sort = sorts.find((one) => one === chosen("sort"));
  const asked = chosen("procedure");
  const isWords = asked !== null && words.test(asked);
  const procedure = isWords ? null : asked;
  const typed = ((isWords ? asked : chosen("q")) ?? "").slice(0, maxWordsLength) || null;
  return {
    procedure,
    ...(procedure === null ? { words: typed, typed: null } : { words: null, typed }),
    // A text that names no state is kept, so that the page can show it when nothing is found.
    state: state !== null && near === null ? (stateOf(state) ?? state.toUpperCase()) : null,
    near,
    within: within > 0 ? within : defaultMiles,
    year: chosen("year"),
    versions: chosen("versions"),
    pinned: compared.slice(0, maxPinned),
    leftOut: compared.slice(maxPinned),
    ...sortedAt(near, sort),
    order: chosen("order") === "desc" ? "desc" : "asc",
    shown: shownOf(searchParams),
  };
}

/** Around a place, the nearest hospitals come first unless another order is chosen. */
function sortedAt(near: string | null, sort: string | undefined): Pick<Choice, "sort" | "isSorted"> {
  const isSorted = sort !== undefined && (near !== null || sort !== "distance");
  return { isSorted, sort: isSorted ? sort : near === null ? "charge" : "distance" };
}

export const comparedText = ({ pinned: { length } }: Choice) =>
  length > 0 && length < maxPinned ? `${length} of ${maxPinned}` : "";

export const canPin = ({ pinned }: Choice, ccn: string) => pinned.length < maxPinned || pinned.includes(ccn);

export function setParameters(parameters: URLSearchParams, changes: Record<string, string | null>): void {
  for (const [name, value] of Object.entries(changes))
    if (value === null) parameters.delete(name);
    else parameters.set(name, value);
}

type PlaceMeant = SearchAnswer["query"]["place"];

/** Chooses a place that words mean, as if the URL named the place. */
export function placedAt(choice: Choice, place: PlaceMeant): Choice {
  if (place === null) return choice;
  const { state, near } = { state: null, near: null, ...place };
  const sorted = sortedAt(near, choice.isSorted ? choice.sort : undefined);
  return { ...choice, state, near, ...sorted };
}

/** Changes of parameters that choose a procedure, and the place that the words named with it, if any. */
export function procedureChanges(procedure: string, place: PlaceMeant = null) {
  return { procedure, q: null, ...(place && { ...nowhere, ...place }) };
}

export const placeOf = ({ state, near, within }: Choice) => (near === null ? { state } : { near, within });

export interface Option {
  id: string;
  title: string;
  detail?: string | undefined;
  group?: string | undefined;
  figure?: string | undefined;
  /** Further changes of the URL, such as a place that the text named with a procedure. */
  more?: Record<string, string | null>;
  /** Words of this text are marked in the title and in the detail. */
  mark?: string | undefined;
}

export interface Doubtful {
  /** Why the suggestions may not be what is meant; empty if there is no doubt. */
  doubt: string;
  options: Option[];
  /** Whether the doubt is a question that the options answer. Then no option is selected at first. */
  isQuestion?: boolean | undefined;
}

/** Whether a text is too short for a search: the beginning of a word needs three letters to be found. */
export const isShort = (text: string) => text.length < 3;
export const shortText = (text: string) => `“${printable(text)}” is short: write on.`;
