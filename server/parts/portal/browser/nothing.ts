import { isFirstMeant } from "../../../../engine/search/sure.ts";
import { printable, whole } from "../../../shared/browser/format.ts";
import {
  type Absent,
  type Ask,
  type Dataset,
  type Entry,
  type FacilitiesAnswer,
  Failure,
  type Priced,
  pathOf,
  type SearchAnswer,
  unlessFailed,
} from "./answers.ts";
import { likelyPlaces, meantOf, milesText, placesNamed } from "./around.ts";
import { type Choice, farthest, nowhere, procedureChanges } from "./choice.ts";
import {
  isInMaryland,
  namesCounty,
  stateInSentence,
  stateOf,
  type UnknownPlace,
  whyMaryland,
  whyMissing,
} from "./states.ts";
import { nameOf, type Procedure, placeText, titleOf } from "./words.ts";

/** Explains why no prices are shown, and links to pages with prices. The server runs this module too. */

interface Absence {
  choice: Choice;
  code: string;
  /** Undefined if the data doesn't have the procedure. */
  procedure: Procedure | undefined;
  /** Hospitals that do the procedure in the chosen place or the nation, all without a price; null if none are known. */
  unpriced: Pick<FacilitiesAnswer, "summary" | "data"> | null;
  /** The procedure group that a code in another form means, such as 5072.0; null if there is none. */
  meant: (Procedure & { code: string }) | null;
  /** The nearest hospital with a price if none in the chosen circle has one; null otherwise, or if none is found. */
  nearest: Priced | null;
  /** The data version of the nation's prices; undefined if the nation has no price. */
  version: string | undefined;
  datasets: readonly Dataset[];
}

export interface Nothing {
  title: string;
  why: string;
  /** URL of a page about something that this data can't have. */
  see?: string;
  before?: string;
  /** Links to the procedures, places or hospitals that words may mean. */
  matches?: (Way & { detail: string })[];
  ways: Way[];
}

/** A link to a page that may have prices. `changes` are changes of the URL's parameters; null keeps only the year. */
export interface Way {
  text: string;
  changes: Record<string, string | null> | null;
  /** CCN of the hospital to link to. `changes` is then ignored. */
  hospital?: string;
}

/** The places that words name instead of a procedure, or the hospitals if the words name no place. */
interface Named {
  places: NonNullable<SearchAnswer["query"]["place"]>[];
  hospitals: Extract<SearchAnswer["data"][number], { type: "facility" }>[];
}

/** The meaning of words that name no procedure. It may be a place that isn't known. */
export type OtherMeaning = Named | { unknown: UnknownPlace };

const mostHospitals = 5;
/** Maximum number of procedures that words may mean besides the one that is shown. */
const mostOthers = 4;

/** Finds the meaning of words that name no procedure; null if nothing is found. */
export function otherMeaning(words: string, year: string | null, ask: Ask): OtherMeaning | null {
  const state = stateOf(words);
  const named = placesNamed(words, year, ask);
  const city = named.length > 1 ? meantOf(words, named, year, ask) : undefined;
  const cities = (city === undefined ? named : [city]).map((near) => ({ near }));
  const places = [...(state === undefined ? [] : [{ state }]), ...cities];
  if (places.length > 0) return { places, hospitals: [] };
  const unknown = { text: printable(words), namesakes: [] };
  const endsWithState = stateOf(words.split(/[\s,]+/).at(-1) ?? "") !== undefined;
  const likely = endsWithState ? likelyPlaces(words, year, ask) : [];
  if (likely.length > 0) return { unknown: { ...unknown, likely } };
  const path = pathOf("/search", { q: words, type: "facility", limit: mostHospitals }, year);
  const found = unlessFailed(ask<[SearchAnswer]>(path)[0]);
  if (found !== null && doubtOf(found) === "") {
    const all = found.data.flatMap((one) => (one.type === "facility" ? [one] : []));
    const hospitals = isFirstMeant(found.data.map(({ score }) => score)) ? all.slice(0, 1) : all;
    if (hospitals.length > 0) return { places, hospitals };
  }
  return namesCounty(words) ? { unknown: { ...unknown, likely } } : null;
}

export function otherText(words: string, { places, hospitals }: Named): Nothing {
  const said = `“${printable(words)}”`;
  const here = { q: null, procedure: null, ...nowhere };
  const ways = places.map((place) => ({
    text: `Look for prices ${"near" in place ? `near ${place.near}` : `in ${stateInSentence(place.state)}`}, and choose a procedure there`,
    changes: { ...here, ...place },
  }));
  const matches = hospitals.map(({ ccn, facility, city, state }) => ({
    ...{ text: facility, detail: `${city}, ${state}`, changes: null, hospital: ccn },
  }));
  const asCode = /^\d{5}$/.test(words) ? "No procedure here is known to have this number. " : "";
  if (places.length > 0)
    return { title: `${said} is a place`, why: `${asCode}A procedure is needed, too.`, ways };
  const isOne = hospitals.length === 1;
  return {
    title: isOne ? `${said} is a hospital` : `${said} names hospitals, and no procedure`,
    why: isOne
      ? "Its page has what it charges for each procedure."
      : "A hospital's page has what it charges for each procedure.",
    matches,
    ways: [],
  };
}

/** Text of the link to where else to look. @param see the link's URL */
export function seeTitle(see: string): string {
  const host = new URL(see).hostname.replace("www.", "");
  if (!/(^|\.)(medicare|cms)\.gov$/.test(host)) return `See ${host}`;
  return see.includes("procedure-price-lookup")
    ? "Look it up in Medicare's own price lookup"
    : "See Medicare's page about it";
}

const absentIn = (search: SearchAnswer | Failure): readonly Absent[] => search.absent ?? [];

/** Says what the data can't have, and which words are ignored; empty if neither. */
export function doubtOf(search: SearchAnswer | Failure): string {
  const absent = absentIn(search).map(({ name }) => `${name}: not in this data.`);
  const ignored = search instanceof Failure ? [] : search.query.ignored;
  return [...absent, ignored.length > 0 && asideText(ignored)].filter(Boolean).join(" ");
}

const asideText = (ignored: readonly string[]) =>
  `Nothing matches all words. Set aside: ${ignored.map(printable).join(", ")}.${namesCounty(ignored.join(" ")) ? " Counties aren't known here." : ""}`;

/** The code of the procedure that words surely mean; null if there is none. */
export function surelyMeant(search: SearchAnswer | Failure): string | null {
  if (search instanceof Failure) return null;
  const [first] = search.data;
  const isSure = isFirstMeant(search.data.map(({ score }) => score)) && doubtOf(search) === "";
  return isSure && first.type === "procedure" ? first.code : null;
}

/** The code of the only procedure that words may mean; null for none or several, or if words name something absent. */
export function onlyMeant(search: SearchAnswer | Failure): string | null {
  if (search instanceof Failure || absentIn(search).length > 0 || search.data.length !== 1) return null;
  const [only] = search.data;
  return only.type === "procedure" ? only.code : null;
}

function matchesOf(search: SearchAnswer | Failure) {
  if (search instanceof Failure) return [];
  return search.data.flatMap((one) => {
    if (one.type !== "procedure") return [];
    const changes = procedureChanges(one.code, search.query.place);
    return { text: titleOf(one), detail: detailOf(one), changes };
  });
}

export const alsoMeant = (search: SearchAnswer | Failure): Way[] => [
  ...otherReading(search),
  ...matchesOf(search).slice(1, 1 + mostOthers),
];

/** Whether words that are taken for one procedure may mean something else. */
export const isAsking = (search: SearchAnswer | Failure): boolean =>
  surelyMeant(search) === null || alsoMeant(search).length > 0;

/** Links to an ambiguous word's other meaning, such as `knee replacement` in Oklahoma for `knee replacement ok`. */
function otherReading(search: SearchAnswer | Failure): Way[] {
  const other = search instanceof Failure ? null : search.query.alternative;
  if (!other) return [];
  const { q, state } = other;
  const text = `${printable(q)}${state === undefined ? "" : ` in ${stateInSentence(state)}`}`;
  return [{ text, changes: { procedure: null, q, ...(state !== undefined && { ...nowhere, state }) } }];
}

export const questionText = (words: string, title: string) =>
  `Did you mean “${title}”? You typed “${printable(words)}”.`;

export const severalText = (words: string, several: string) => `“${printable(words)}” may mean ${several}`;

/** Answers words that don't surely mean one procedure. What this data can't have comes first. */
export function searchText(words: string, search: SearchAnswer | Failure): Nothing {
  const absent = absentIn(search);
  const [first] = absent;
  const place = search instanceof Failure ? null : search.query.place;
  const matches = matchesOf(search);
  const where =
    place === null
      ? ""
      : "state" in place
        ? ` in ${stateInSentence(place.state)}`
        : ` ${/^\d/.test(place.near) ? "near" : "in"} ${place.near}`;
  const ignored =
    search instanceof Failure || search.query.ignored.length === 0 ? "" : asideText(search.query.ignored);
  // Whether the place has prices isn't known here, so the words promise none.
  const offer = matches.length === 0 ? "" : `Look for prices${first ? " of other care" : ""}${where}:`;
  const reasons = [...new Set(absent.map(({ reason }) => reason))].join(" ");
  return {
    title: first
      ? `${absent.map(({ name }) => name).join(", ")}: not in this data`
      : matches.length === 0
        ? `Nothing matches “${printable(words)}”`
        : severalText(words, `one of ${matches.length} procedures`),
    why: first ? reasons : matches.length === 0 ? noMatchText(words) : "",
    ...(first && { see: first.see }),
    before: [ignored, offer].filter(Boolean).join(" "),
    matches,
    ways: matches.length > 0 ? otherReading(search) : [{ text: "See what there is", changes: null }],
  };
}

export const detailOf = (group: { code: string; name: string; matched?: string[] | undefined }) =>
  [...(group.matched ?? []), `${group.code} ${group.name}`].join(" · ");

export const nothingMatches = (words: string) =>
  `Nothing matches “${printable(words)}”. ${noMatchText(words)}`;

const noMatchText = (words: string) =>
  /^[A-Z]?\d{4,5}$/i.test(words)
    ? `No procedure here is known to have the number ${words}: type what is done, such as knee replacement.`
    : "This data has operations and larger procedures without a hospital stay. Scans, tests, visits, drugs and hospital stays aren't in it.";

/** The link away from a choice without prices. @param hasNation whether the nation has prices */
export const wayOn = ({ state, near }: Choice, hasNation: boolean): Way =>
  (state === null && near === null) || !hasNation
    ? { text: "See what there is", changes: null }
    : { text: "See the whole nation", changes: nowhere };

export function nothingText(absence: Absence): Nothing {
  const { choice, code, procedure, meant, unpriced, nearest, version, datasets } = absence;
  const { state, near } = choice;
  const hasNation = version !== undefined;
  const name = procedure && nameOf(procedure);
  const where = hasNation ? placeText(choice) : "";
  const dataset = datasets.find(({ data_version }) => data_version === version);
  const missing =
    state === "MD"
      ? { state, reason: "" }
      : dataset?.coverage.missing_states.find((each) => each.state === state);
  const why = () => {
    if (unpriced) return unpricedText(unpriced, where);
    if (name === undefined) {
      const digits = meant ? ` A group's code has four digits: ${meant.code} may be meant.` : "";
      return `The data has no procedure group “${printable(code)}”.${digits}`;
    }
    const none = `No hospital ${where || "in the data"} has a price for it.`;
    if (near !== null && isInMaryland(near)) return `${none} ${whyMaryland}.`;
    return missing ? `${whyMissing(missing)}.` : none;
  };
  return {
    title: name ? `No prices for ${name} ${where}`.trim() : "Nothing was found",
    why: [why(), nearest && nearestText(nearest)].filter(Boolean).join(" "),
    ways: [
      ...(meant
        ? [{ text: `See ${meant.code}: ${titleOf(meant)}`, changes: procedureChanges(meant.code) }]
        : []),
      ...(nearest
        ? [{ text: `See the hospitals within ${widerTo(nearest).within} miles`, changes: widerTo(nearest) }]
        : []),
      wayOn(choice, hasNation),
    ],
  };
}

const nearestText = ({ facility, city, state, distance }: Entry) =>
  `The nearest with a price is ${milesText(distance, false)} miles away: ${facility}, ${city}, ${state}.`;
const widerTo = ({ distance = farthest }: Entry) => ({ within: String(Math.ceil(distance)) });

function unpricedText({ summary, data }: Pick<FacilitiesAnswer, "summary" | "data">, where: string): string {
  const { facilities } = summary;
  const who = facilities === 1 ? "One hospital" : `${whole(facilities)} hospitals`;
  const why = data.every(({ status }) => status === "suppressed")
    ? "for too few Medicare patients (10 services or fewer)"
    : "for too few Medicare patients, or not all amounts are known";
  return `${[who, where].filter(Boolean).join(" ")} did it ${why}, so no charge is published.`;
}
