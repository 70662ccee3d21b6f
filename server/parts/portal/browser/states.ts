import { isCountyNamed } from "../../../../engine/search/counties.ts";
import { counted, printable } from "../../../shared/browser/format.ts";
import { Failure } from "./answers.ts";

/** The states' names and FIPS codes, and unknown or mistyped names of places. */

export const states: Readonly<Record<string, { name: string; fips: string }>> = Object.fromEntries(
  `AL 01 Alabama,AK 02 Alaska,AZ 04 Arizona,AR 05 Arkansas,CA 06 California,CO 08 Colorado,CT 09 Connecticut,
DE 10 Delaware,DC 11 District of Columbia,FL 12 Florida,GA 13 Georgia,HI 15 Hawaii,ID 16 Idaho,IL 17 Illinois,
IN 18 Indiana,IA 19 Iowa,KS 20 Kansas,KY 21 Kentucky,LA 22 Louisiana,ME 23 Maine,MD 24 Maryland,MA 25 Massachusetts,
MI 26 Michigan,MN 27 Minnesota,MS 28 Mississippi,MO 29 Missouri,MT 30 Montana,NE 31 Nebraska,NV 32 Nevada,
NH 33 New Hampshire,NJ 34 New Jersey,NM 35 New Mexico,NY 36 New York,NC 37 North Carolina,ND 38 North Dakota,
OH 39 Ohio,OK 40 Oklahoma,OR 41 Oregon,PA 42 Pennsylvania,RI 44 Rhode Island,SC 45 South Carolina,SD 46 South Dakota,
TN 47 Tennessee,TX 48 Texas,UT 49 Utah,VT 50 Vermont,VA 51 Virginia,WA 53 Washington,WV 54 West Virginia,
WI 55 Wisconsin,WY 56 Wyoming,AS 60 American Samoa,GU 66 Guam,MP 69 Northern Mariana Islands,PR 72 Puerto Rico,
VI 78 U.S. Virgin Islands`
    .split(/,\s*/)
    .map((line) => [line.slice(0, 2), { fips: line.slice(3, 5), name: line.slice(6) }]),
);

/** Writes a city's state in full: `Springfield, Illinois` for `Springfield, IL`. Any other text stays. */
export const withStateName = (place: string) =>
  place.replace(/, ([A-Z]{2})$/, (_, code) => `, ${stateName(code)}`);

export const stateName = (code: string) => states[code]?.name ?? code;
/** Finds a state's code by its code or name, in upper or lower case; undefined for other text. */
export const stateOf = (text: string): string | undefined =>
  Object.keys(states).find((code) =>
    [code, states[code].name].some((one) => one.toLowerCase() === text.toLowerCase()),
  );
const withArticle = new Set(["DC", "MP", "VI"]);
export const stateInSentence = (code: string) => `${withArticle.has(code) ? "the " : ""}${stateName(code)}`;

/** Counts the states, and names the District of Columbia and the territories: "49 states, DC and Puerto Rico". */
export function statesText(codes: readonly string[]): string {
  const isState = (code: string) => code !== "DC" && Number(states[code].fips) < 60;
  const count = codes.filter(isState).length;
  const others = codes
    .filter((code) => !isState(code))
    .map((code) => (code === "DC" ? code : stateInSentence(code)));
  const texts = [...(count > 0 || others.length === 0 ? [counted(count, "state", "states")] : []), ...others];
  return [texts.slice(0, -1).join(", "), ...texts.slice(-1)].filter(Boolean).join(" and ");
}

export const whyMaryland =
  "Maryland sets its own hospital prices, so Medicare's file leaves its hospitals out";
/** @param near a ZIP code, or a city with its state, perhaps after other text */
export const isInMaryland = (near: string) => /(?<!\d)(20[6-9]|21\d)\d{2}(-\d{4})?$|, MD$/.test(near);

/** Whether a text names a county, perhaps with its state. Counties aren't known. */
export const namesCounty = (text: string) =>
  isCountyNamed(
    text
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean),
    (words) => stateOf(words.join(" ")) !== undefined,
  );
export const countyText = (text: string) =>
  `“${text}” is a county, and counties aren't known here: write a city with its state, as in Columbus, OH, or a ZIP code.`;

/** The reason why a state has no prices, in simpler words than the API's. */
export const whyMissing = ({ state, reason }: { state: string; reason: string }): string =>
  state === "MD"
    ? whyMaryland
    : reason.includes("OPPS")
      ? "Medicare pays hospitals there in another way, so its file leaves them out"
      : "The data has no hospital there";

/** Whether `typed` may be a mistyped `name`: the first letter is the same, and only a few letters differ. */
export function isAlike(name: string, typed: string): boolean {
  const [rest, letters] = [name, typed].map((text) => [...text.toLowerCase()]);
  const extra = letters.filter((letter) => {
    const at = rest.indexOf(letter);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
  const isNear = Math.max(extra.length, rest.length) <= 2 && rest.length + extra.length < letters.length / 2;
  return isNear && name[0].toLowerCase() === letters[0];
}

const shortWords: Readonly<Record<string, string>> = { saint: "st", sainte: "ste", mount: "mt", fort: "ft" };
/** Returns a city's name for comparing: only its letters, with words such as Saint and Fort in their short form. */
const bare = (name: string) =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{L}+/gu, (word) => shortWords[word] ?? word)
    .replace(/[^\p{L}]/gu, "");

/** Returns the cities of a name that several states have, such as `Springfield, IL`; none for any other API error. */
export function namesakesIn(name: string, { places }: Failure): string[] {
  const isNamed = ({ near }: { near: string }) => bare(near.slice(0, -", IL".length)) === bare(name);
  return places.length > 1 && places.every(isNamed) ? places.map(({ near }) => near) : [];
}

/** A place that isn't known, or a city's name that several states have. */
export interface UnknownPlace {
  text: string;
  /** The cities that have the name, such as `Springfield, IL`. */
  namesakes: string[];
  /** The cities or the ZIP code that may be meant if the text names no known place. */
  likely: string[];
}

/** @param scope the answer for the place @returns null if the place is known, or no place is chosen */
export function unknownPlace(
  { near, state }: Record<"near" | "state", string | null>,
  scope: object,
): UnknownPlace | null {
  if (near === null)
    return state === null || state in states ? null : { text: printable(state), namesakes: [], likely: [] };
  if (!(scope instanceof Failure) || scope.param !== "near") return null;
  const namesakes = namesakesIn(near, scope);
  const likely = namesakes.length > 0 ? [] : scope.places.map((place) => place.near);
  return { text: printable(near), namesakes, likely };
}
