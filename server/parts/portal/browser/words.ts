import { stayDeductibles } from "../../../../datasets/deductibles.ts";
import { counted, money, percent, printable, times, whole } from "../../../shared/browser/format.ts";
import type { Dataset, Entry, FacilityAnswer, Priced, ProcedureAnswer, Standing } from "./answers.ts";
import type { Choice } from "./choice.ts";
import { stateInSentence, stateName, whyMaryland } from "./states.ts";

/** Puts prices into words, for any number of hospitals. The server runs this module too. */

export const leastForQuartiles = 8;
export const isFew = ({ facilities }: { facilities: number }) => facilities < leastForQuartiles;

export const isSynthetic = (caveat: string): boolean => /synthetic/i.test(caveat);

export const sampleCaveat = (caveat = ""): string => (isSynthetic(caveat) ? caveat : "");

const sampleText = (caveat: string): string =>
  caveat
    .replace(/^This is a synthetic sample: (.)/, (_, letter) => letter.toUpperCase())
    .replace(/\b(f)acilities\b/gi, (_, letter) => (letter === "F" ? "Hospitals" : "hospitals"));

/** Makes the warning about numbers that are invented, or only a part of what CMS published; null if none is needed. */
export function warningOf(caveat: string): Record<"title" | "text" | "further", string> | null {
  if (isSynthetic(caveat))
    return { title: "Synthetic sample.", text: "Nothing here is real.", further: sampleText(caveat) };
  const [part] = /This file has only .*/.exec(caveat) ?? [];
  return part === undefined ? null : { title: "Part of the data.", text: part, further: "" };
}

export const isPriced = (entry: Entry): entry is Priced =>
  typeof entry.submitted_charge === "number" && typeof entry.medicare_allowed === "number";

export function entryOf({ facility, data }: FacilityAnswer, procedure: string): Entry {
  const { ccn, facility: name, city, state, zip } = facility;
  const own = { ccn, facility: name, city, state, zip, procedures: data.length };
  const row = data.find(({ code }) => code === procedure);
  return { ...row, ...own };
}

export type Word = string | { kind: "charge" | "allowed"; text: string };

export const textOf = (words: readonly Word[]) =>
  words.map((word) => (typeof word === "string" ? word : word.text)).join("");

const charge = (amount: number): Word => ({ kind: "charge", text: money(amount) });
const allowed = (amount: number): Word => ({ kind: "allowed", text: money(amount) });
const words = (texts: TemplateStringsArray, ...values: (Word | Word[])[]): Word[] =>
  texts.flatMap((text, i) => [text, values[i] ?? []].flat());

/** A procedure group's official name, and its name in plain words if it has one. */
export interface Procedure {
  name: string;
  title: string | null;
}

/** Returns the name for use within a sentence. A title may begin with an article. */
export const nameOf = ({ name, title }: Procedure) => title ?? name;

export function titleOf(group: Procedure): string {
  const title = nameOf(group).replace(/^(an?|the) /, "");
  return title[0].toUpperCase() + title.slice(1);
}

export type Place = Pick<Choice, "state" | "near" | "within">;
type Numbers = Pick<
  ProcedureAnswer["summary"],
  "facilities" | "min_charge" | "max_charge" | "median_charge" | "median_allowed"
>;
export interface Prices {
  procedure: Procedure & Pick<ProcedureAnswer["procedure"], "words">;
  summary: Numbers;
  source: { data_year: number };
  /** Range of the amounts that Medicare allows the hospitals. */
  allowed?: { min: number; max: number } | undefined;
}

/** Writes the place for use in a sentence; empty for the nation. */
export function placeText({ state, near, within }: Place): string {
  if (near !== null) return `within ${counted(within, "mile", "miles")} of ${near}`;
  return state === null ? "" : `in ${stateInSentence(state)}`;
}

export function placeTitle(place: Place): string {
  if (place.near === null) return place.state === null ? "" : stateName(place.state);
  const text = placeText(place);
  return text[0].toUpperCase() + text.slice(1);
}

const orders: Readonly<Record<string, readonly [ascending: string, descending: string]>> = {
  charge: ["lowest charge first", "highest charge first"],
  pays: ["the least to pay first", "the most to pay first"],
  allowed: ["lowest allowed amount first", "highest allowed amount first"],
  distance: ["nearest first", "farthest first"],
  markup: ["lowest multiple of the allowed amount first", "highest multiple of the allowed amount first"],
  services: ["fewest services first", "most services first"],
  name: ["by name", "by name, backwards"],
  nation: ["cheapest against the nation first", "dearest against the nation first"],
  state: ["cheapest against the state first", "dearest against the state first"],
};

/** Writes the order after a list's name. @param above names rows above the others, such as `chosen`; empty for none */
export const orderText = ({ sort, order }: Pick<Choice, "sort" | "order">, above = ""): string =>
  `, ${above && `${above} first, then `}${orders[sort][order === "asc" ? 0 : 1]}`;

/** Texts for the first hospitals of a sorted list. `#` stands for their number, and `@` for all hospitals of the list. */
const firsts: Readonly<Record<string, readonly [ascending: string, descending: string]>> = {
  charge: ["# cheapest of @", "# dearest of @"],
  pays: ["# of @ with the least to pay", "# of @ with the most to pay"],
  allowed: ["# of @ with the lowest allowed amounts", "# of @ with the highest allowed amounts"],
  distance: ["# nearest of @", "# farthest of @"],
  markup: [
    "# of @ with the lowest multiples of the allowed amount",
    "# of @ with the highest multiples of the allowed amount",
  ],
  services: ["# of @ with the fewest services", "# of @ with the most services"],
  name: ["first # of @ by name", "last # of @ by name"],
};
const numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/** Names the first hospitals of a sorted list, such as "the five dearest of 239 hospitals". */
export function firstText(
  { sort, order }: Pick<Choice, "sort" | "order">,
  first: number,
  count: number,
): string {
  if (first === count) return `all ${hospitals(count)}${orderText({ sort, order })},`;
  const text = firsts[sort][order === "asc" ? 0 : 1];
  return `the ${text.replace("#", numbers[first] ?? whole(first)).replace("@", hospitals(count))}`;
}

export const inYearText = (year: number, sentence: string) =>
  `In ${year}, ${sentence[0].toLowerCase()}${sentence.slice(1)}`;

export function inYear(year: number, sentence: readonly Word[]): Word[] {
  const [first = "", ...others] = sentence.filter((word) => word !== "");
  return typeof first === "string"
    ? [inYearText(year, first), ...others]
    : [`In ${year}, `, first, ...others];
}

export const hospitals = (number: number) => counted(number, "hospital", "hospitals");

export const pricesTitle = (procedure: Procedure, place: Place, year: string | number | undefined): string =>
  [titleOf(procedure), placeText(place)].filter(Boolean).join(" ") + (year ? `, ${year}` : "");

export const checkTitle = "Check this number";

export const totalsText = ({ checked, agree, worst }: NonNullable<Dataset["totals"]>): string =>
  agree === checked
    ? `It agrees with all ${whole(checked)} totals that CMS publishes by nation and state.`
    : `It agrees with ${whole(agree)} of ${whole(checked)} totals that CMS publishes by nation and state. The largest difference: ${worst}.`;

export const introText =
  "What each US hospital charges for an outpatient procedure, what Medicare allows, and what you pay with Medicare.";
export const exampleText = "For example:";
export const fieldExamples = { procedure: "such as knee replacement", place: "such as 60614 or Austin, TX" };

export const nothingTitle = "Nothing was found";

export const tabTitle = (title = "") => `${title ? `${title} – ` : ""}What hospitals charge`;

export function mainClause(place: Place, { summary, procedure, source, allowed: range }: Prices): Word[] {
  const { facilities, min_charge: min, max_charge: max, median_charge: median, median_allowed } = summary;
  const where = placeText(place);
  const start = where === "" ? "" : `${where[0].toUpperCase()}${where.slice(1)}, `;
  const begin = (word: string) => (start === "" ? word : start + word.toLowerCase());
  const what = ` for ${nameOf(procedure)}`;
  const medicare = medicareClause(facilities, median_allowed, range);
  // Visitors who name a city or a ZIP code are probably patients, so what a patient pays comes first.
  if (place.near !== null) {
    const { min: least, max: most } = range ?? { min: median_allowed, max: median_allowed };
    const shares = [...new Set([least, most].map((amount) => money(shareOf(amount, source.data_year))))];
    const paid = words`${start}you pay about ${shares.join(" to ")} with Medicare${what}.`;
    if (facilities === 1) return words`${paid} The only hospital charges ${charge(max)}; ${medicare}`;
    const asked = min === max ? words`${charge(max)}` : words`${charge(min)} to ${charge(max)}`;
    return words`${paid} ${`${facilities === 2 ? "Two" : whole(facilities)} hospitals charge `}${asked}; ${medicare}`;
  }
  if (facilities === 1) return words`${begin("One")} hospital charges ${charge(max)}${what}. ${medicare}`;
  if (min === max)
    return words`${begin("All")} ${whole(facilities)} hospitals charge ${charge(max)}${what}. ${medicare}`;
  if (facilities === 2)
    return words`${begin("Two")} hospitals charge ${charge(min)} and ${charge(max)}${what}. ${medicare}`;
  const charges = words`${start}${whole(facilities)} hospitals charge from ${charge(min)} to ${charge(max)}${what}.`;
  if (facilities < leastForQuartiles) return words`${charges} ${medicare}`;
  // A small odd number of hospitals has no two halves, so the sentence names the hospital in the middle.
  if (facilities % 2 === 1 && facilities < 20)
    return words`${charges} The one in the middle charges ${charge(median)}; ${medicare}`;
  return words`${charges} Half charge ${charge(median)} or more; ${medicare}`;
}

function medicareClause(facilities: number, median: number, range: Prices["allowed"]): Word[] {
  if (facilities === 1) return words`Medicare allows ${allowed(median)}.`;
  if (range === undefined || facilities >= leastForQuartiles)
    return words`Medicare typically allows ${allowed(median)}.`;
  const { min, max } = range;
  if (money(min) === money(max)) return words`Medicare allows ${allowed(min)}.`;
  return words`Medicare allows ${allowed(min)} to ${allowed(max)}.`;
}

/** The patient's usual share of an allowed amount: a fifth, at most the year's deductible of a hospital stay, if known. */
export const shareOf = (allowed: number, year: number): number =>
  Math.min(allowed / 5, stayDeductibles[year] ?? Number.POSITIVE_INFINITY);

export const paysTitle = "You pay with Medicare";

export function whatYouPay(year: number): string {
  const most = stayDeductibles[year];
  const limit = most === undefined ? "" : `, at most ${money(most)} for one procedure`;
  return `With Medicare you pay about a fifth of what it allows${limit}, besides the yearly deductible and doctors' bills. Without insurance, ask for the cash price.`;
}

const theMost = "the most that Medicare lets a hospital ask for one procedure";

/**
 * @param allowed what Medicare allows for one procedure; undefined to leave out the share
 * @param isMedian whether `allowed` is the median of several hospitals
 */
export function whatIsPaid(year: number, allowed?: number, isMedian = false): string {
  const share = allowed === undefined ? 0 : shareOf(allowed, year);
  const amount = share === stayDeductibles[year] ? `${money(share)}, ${theMost}` : `about ${money(share)}`;
  const own = share === 0 ? "" : ` Your share of that is ${isMedian ? "typically " : ""}${amount}.`;
  return `With Medicare nobody pays the charge: the hospital gets what Medicare allows.${own} If a visit has several procedures, you pay a share of each.`;
}

/** Says that a patient pays the same at all of several hospitals; otherwise empty. */
export function sameShare({ facilities }: { facilities: number }, allowed: Prices["allowed"], year: number) {
  const [least, most] = allowed ? [allowed.min, allowed.max].map((amount) => shareOf(amount, year)) : [0, 1];
  if (facilities < 2 || money(least) !== money(most)) return "";
  return `The same at all ${whole(facilities)}${least === stayDeductibles[year] ? `: ${theMost}` : ""}.`;
}

export function comparison({ summary, procedure }: Pick<Prices, "summary" | "procedure">): string {
  const { min_charge: min, max_charge: max, median_charge, median_allowed, facilities } = summary;
  const ratio = median_charge / median_allowed;
  const isOne = facilities === 1 || min === max;
  const subject = isOne ? "the charge" : "the median charge";
  const object = facilities === 1 ? "what Medicare allows" : "the median that Medicare allows";
  const markup =
    times(ratio) === times(1)
      ? `${subject} is about ${object}`
      : ratio < 1
        ? `${subject} is ${percent(100 * (1 - ratio))} below ${object}`
        : `${subject} is ${timesInWords(ratio)} ${object}`;
  const isSmall = facilities < leastForQuartiles && !isOne;
  const spread =
    max / min >= 1.05 && !isOne ? `the highest charge is ${timesInWords(max / min)} the lowest` : "";
  const text = isSmall ? spread : [spread, markup].filter(Boolean).join("; ");
  const includes = procedure.words && `Includes ${procedure.words}.`;
  return [text && `${text[0].toUpperCase()}${text.slice(1)}.`, includes].filter(Boolean).join(" ");
}

const timesInWords = (ratio: number) => `${ratio.toFixed(ratio < 100 ? 1 : 0)} times`;

type Rank = Pick<Standing, "rank" | "facilities">;

/** The ranks of a hospital's charge in the nation and the state, and around the chosen place if the hospital is there. */
export interface Standings {
  around?: Rank;
  national?: Standing | null | undefined;
  within_state?: Standing | null | undefined;
}

/** Returns the kind of rank to show for compared hospitals, so that all are ranked among the same hospitals. */
export function commonRanks(
  { state }: Pick<Place, "state">,
  hospitals: readonly (Standings & Pick<Priced, "state">)[],
): keyof Standings {
  if (hospitals.every(({ around }) => around !== undefined)) return "around";
  return hospitals.every((one) => one.state === state) ? "within_state" : "national";
}

/** Writes the text after a hospital's name. @param among see `commonRanks` */
export function ownClause(
  { state, near }: Place,
  { summary }: Prices,
  own: Pick<Priced, "state" | "submitted_charge" | "medicare_allowed">,
  standings: Standings,
  among: keyof Standings,
): Word[] {
  const standing = standings[among];
  const where =
    among === "around"
      ? " there"
      : among === "within_state"
        ? ` in ${stateInSentence(own.state)}`
        : state === null && near === null
          ? ""
          : " in the nation";
  const isAlone = near === null && summary.facilities === 1;
  const place = isAlone || !standing ? "" : `: ${standingText(standing, where)}`;
  return words` charges ${charge(own.submitted_charge)}${place}. Medicare allows this hospital ${allowed(own.medicare_allowed)}.`;
}

export const withoutPrice =
  " has no price for this procedure: it doesn't do it, or for too few Medicare patients.";

/** Explains why the data lacks a CCN. Maryland's CCNs begin with 21. */
export const noHospital = (ccn: string, year: string | null = null) =>
  (/^[0-9A-Z]{6}$/i.test(ccn)
    ? `No hospital in the data has the number (CCN) ${ccn}: ${ccn.startsWith("21") ? `it would be in Maryland. ${whyMaryland}.` : "it may have closed or merged, or Medicare may pay it in another way."}`
    : `“${printable(ccn)}” isn't a hospital's number (CCN): that has six characters.`) +
  (year === null ? "" : ` Only the data of ${printable(year)} was searched, if there is any.`);

/** A hospital with an equal charge doesn't count as cheaper. */
export function standingText({ rank, facilities }: Rank, where = ""): string {
  if (facilities === 1) return `the only price${where}`;
  const all = `${whole(facilities)}${where}`;
  if (rank === 1) return `the lowest of ${all}`;
  if (rank === facilities) return `the highest of ${all}`;
  return `${whole(rank - 1)} of ${all} ${rank === 2 ? "charges" : "charge"} less`;
}
