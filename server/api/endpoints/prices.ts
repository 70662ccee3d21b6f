import * as v from "valibot";
import {
  encodePrices,
  findGroup,
  groupSize,
  type Image,
  stateCodes,
  stateGroup,
  stateIndex,
} from "../../../engine/query.ts";
import { type Context, endpoint } from "../endpoint.ts";
import { noPrices } from "../not-found.ts";
import { nextPage } from "../paging.ts";
import { defaultLimit, procedure, rowLimit, state } from "../parameters.ts";
import { pricesResponse } from "../responses.ts";

const name = "prices";
const maxLimit = 50;
/** A key is a group times this factor, plus a limit. The factor is above any limit. */
const limitBase = 64;

type Page = Pick<Context, "image" | "offset" | "segment" | "scratch">;

function answerPrices(page: Page, key: number): Uint8Array {
  const { image, offset, scratch } = page;
  const [group, limit] = [groupOfKey(key), limitOfKey(key)];
  const next = nextPage(page, name, groupSize(image, group), limit, () => queryOfKey(image, key));
  return encodePrices(image, group, limit, offset, next, scratch);
}

const general = endpoint({
  path: "/healthcare/prices",
  name,
  summary: "Charges and allowed amounts of one procedure group, a row per facility, cheapest first",
  description:
    "Compares what hospitals charge for a procedure group, and what Medicare allows for it. Rows are sorted by charge, and " +
    "then by CCN. The summary covers all matching facilities, not only those on the page. Only rows with both amounts are " +
    "listed: CMS omits the amounts where a hospital had 10 services or fewer.",
  returns:
    "The procedure group, statistics of all matching facilities, and the page's facilities, cheapest first.",
  kind: "versioned",
  parameters: v.object({
    procedure,
    state,
    limit: rowLimit(maxLimit),
  }),
  response: pricesResponse,
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { versions, image } = context;
    const group = findGroup(image, values.procedure, values.state ?? null);
    if (group < 0) throw noPrices(versions, image, values.procedure, values.state);
    return answerPrices(context, priceKey(group, values.limit));
  },
});

export const prices: typeof general = {
  ...general,
  keyed: {
    read: readPriceKey,
    answer: (image, key, scratch) => answerPrices({ image, offset: 0, segment: "", scratch }, key),
  },
};

const [digitZero, letterA] = [48, 65];
const letters = 26;

/** A state's position among a procedure's state groups, by the state's two letters; −1 for other letters. */
const stateOfLetters = new Int8Array(letters * letters).fill(-1);
for (const [code, place] of stateIndex)
  stateOfLetters[(code.charCodeAt(0) - letterA) * letters + code.charCodeAt(1) - letterA] = place;

/**
 * Reads a price query as one number, if the query has the simplest form: `procedure=` and four digits, then perhaps
 * `&state=` and two capitals, then perhaps `&limit=` and a number.
 * @returns the key; −1 if the query has another form or no answer
 */
export function readPriceKey(image: Image, query: string): number {
  if (!query.startsWith("procedure=")) return -1;
  let at = "procedure=".length;
  let code = 0;
  for (const end = at + 4; at < end; at++) {
    const digit = query.charCodeAt(at) - digitZero;
    if (!(digit >= 0 && digit <= 9)) return -1;
    code = 10 * code + digit;
  }
  const procedure = image.procedureOfNumber[code];
  if (procedure < 0) return -1;

  let group = procedure;
  if (query.startsWith("&state=", at)) {
    const first = query.charCodeAt(at + 7) - letterA;
    const second = query.charCodeAt(at + 8) - letterA;
    if (!(first >= 0 && first < letters && second >= 0 && second < letters)) return -1;
    const state = stateOfLetters[first * letters + second];
    if (state < 0) return -1;
    group = stateGroup(image, procedure, state);
    at += 9;
  }
  if (image.groupStart[group] === image.groupStart[group + 1]) return -1;

  let limit = defaultLimit;
  if (query.startsWith("&limit=", at)) {
    limit = 0;
    for (at += 7; at < query.length; at++) {
      const digit = query.charCodeAt(at) - digitZero;
      if (!(digit >= 0 && digit <= 9)) return -1;
      limit = 10 * limit + digit;
      if (limit === 0 || limit > maxLimit) return -1;
    }
    if (limit === 0) return -1;
  }
  return at === query.length ? priceKey(group, limit) : -1;
}

function priceKey(group: number, limit: number): number {
  return group * limitBase + limit;
}

/** Returns the group of a key that `readPriceKey` made, as an index into the image's groups. */
export function groupOfKey(key: number): number {
  return Math.floor(key / limitBase);
}

function limitOfKey(key: number): number {
  return key % limitBase;
}

function queryOfKey(image: Image, key: number): string {
  const group = groupOfKey(key);
  const place = group - image.procedures;
  const procedure = place < 0 ? group : Math.floor(place / stateCodes.length);
  const state = place < 0 ? "" : `&state=${stateCodes[place % stateCodes.length]}`;
  return `procedure=${image.codes[procedure]}${state}&limit=${limitOfKey(key)}`;
}
