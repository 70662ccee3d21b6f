import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import * as v from "valibot";
import { procedureFigures } from "../../datasets/sample/calibration.ts";
import {
  byField,
  type DocumentKind,
  type Image,
  measureFields,
  type Snapshot,
  search,
  stateNames,
  textAt,
} from "../../engine/index.ts";
import { fillers, kinds, meaningsOf } from "../../engine/search/lexicon.ts";
import { indexWords } from "../../engine/search/text.ts";
import { dataPath } from "./data.ts";
import { absent, arranged, changed, imageOf, snapshotOf, testProvenance } from "./fixtures.ts";

/** Results that may come first are CCNs, or places as `@City ST` or `@ST` for any facility there. */
export type Expectation = readonly [query: string, ...expected: string[]];

export interface Hospital {
  ccn: string;
  name: string;
  city: string;
  state: string;
  zip?: string;
}

const directorySchema = v.array(
  v.object({ CCN: v.string(), Org_Name: v.string(), City: v.string(), State: v.string(), Zip5: v.string() }),
);

/** The hospitals of CMS's directory of 2023. */
export function realHospitals(): Hospital[] {
  const csv = readFileSync(dataPath("hospital_directory_dy23.csv"));
  const records = v.parse(directorySchema, parse(csv, { columns: true, bom: true }));
  return records.map((record) => ({
    ccn: record.CCN,
    name: record.Org_Name,
    city: record.City,
    state: record.State,
    zip: record.Zip5,
  }));
}

/** Each hospital has one priced row. */
export function snapshotOfHospitals(hospitals: readonly Hospital[]): Snapshot {
  const amounts = (cents: number) => new Int32Array(hospitals.length).fill(cents);
  const nothing = hospitals.map(() => "");
  return arranged(testProvenance, {
    facilities: {
      ccn: hospitals.map(({ ccn }) => ccn),
      name: hospitals.map(({ name }) => name),
      city: hospitals.map(({ city }) => city),
      state: hospitals.map(({ state }) => state),
      street: nothing,
      zip: hospitals.map(({ zip }) => zip ?? ""),
      ruralUrbanCode: nothing,
      ruralUrbanDescription: nothing,
    },
    procedures: { code: ["5072"], name: ["Level 2 Excision"] },
    rows: {
      ...byField(measureFields, () => absent(hospitals)),
      facility: Int32Array.from(hospitals, (_, i) => i),
      procedure: amounts(0),
      charge: amounts(1_000_00),
      allowed: amounts(200_00),
    },
  });
}

/** Each procedure group has its official name and a price. */
export function namedProcedures(): Snapshot {
  const names = new Map(procedureFigures.map(({ code, name }) => [code, name]));
  const procedures = snapshotOf(procedureFigures.map(({ code }) => ["000001", "CA", code, 1, 1]));
  return changed(procedures, ({ procedures: { code, name } }) => {
    for (const i of name.keys()) name[i] = names.get(code[i]) ?? "";
  });
}

export const everything = 1_000_000;

export interface Found {
  code: string;
  name: string;
  score: number;
}

export function find(
  image: Image,
  query: string,
  kind: DocumentKind = "facility",
  limit = everything,
): Found[] {
  const { total, documents, scores } = search(image, kind, query, 0, limit);
  assert.equal(documents.length, Math.min(total, limit), `${JSON.stringify(query)}: as many as promised`);
  assert.equal(scores.length, documents.length);
  return Array.from(documents, (document, i) => {
    const [code, name] =
      kind === "facility"
        ? [textAt(image.ccn, document), textAt(image.facilityName, document)]
        : [textAt(image.code, document), textAt(image.procedureName, document)];
    return { code, name, score: scores[i] };
  });
}

/**
 * Asserts that scores are in (0, 1] and never rise, that no result occurs twice, and that equal scores are sorted by
 * name and then by code.
 */
export function assertInOrder(found: Found[], subject: string): void {
  assert.equal(new Set(found.map(({ code }) => code)).size, found.length, `${subject}: something came twice`);
  for (const [i, { code, name, score }] of found.entries()) {
    assert.ok(score > 0 && score <= 1, `${subject}: ${code} has the score ${score}`);
    if (i === 0) continue;
    const before = found[i - 1];
    assert.ok(before.score >= score, `${subject}: ${code} scores above what stands before it`);
    if (before.score > score) continue;
    const inOrder = before.name === name ? before.code < code : before.name < name;
    assert.ok(inOrder, `${subject}: ${before.code} and ${code} tie in the wrong order`);
  }
}

/** The hospitals 000001, 000002, … are in a city that no query names. */
export function named(...names: string[]): Image {
  return placed(...names.map((name): [string, string, string] => [name, "Xqzxqz", "WY"]));
}

export function placed(...hospitals: [name: string, city: string, state: string][]): Image {
  const numbered = hospitals.map(
    ([name, city, state], i): Hospital => ({ ccn: String(i + 1).padStart(6, "0"), name, city, state }),
  );
  return imageOf(snapshotOfHospitals(numbered));
}

function isMeant({ ccn, city, state }: Hospital, expected: readonly string[]): boolean {
  return [ccn, `@${state}`, `@${city} ${state}`].some((way) => expected.includes(way));
}

/** @returns the queries whose first result isn't expected, each with its first result */
export function missesOf(
  image: Image,
  hospitals: readonly Hospital[],
  queries: readonly Expectation[],
): string[] {
  const byCcn = new Map(hospitals.map((hospital) => [hospital.ccn, hospital]));
  return queries.flatMap(([query, ...expected]) => {
    const [first] = find(image, query, "facility", 1);
    const hospital = byCcn.get(first?.code);
    if (hospital === undefined && expected.length === 0) return [];
    if (hospital !== undefined && isMeant(hospital, expected)) return [];
    const instead = hospital === undefined ? "nothing" : Object.values(hospital).join(", ");
    return [`${JSON.stringify(query)} found ${instead} for ${expected}`];
  });
}

const rewritings: Readonly<Record<string, (name: string) => string>> = {
  "names with every abbreviation written out": (name) =>
    eachWord(name, (word) => longForms.get(word) ?? word),
  "names with every word abbreviated": (name) => eachWord(name, (word) => shortForms.get(word) ?? word),
  "names with hyphens dropped": (name) => name.replace(/[-–]/g, ""),
  "names with hyphens turned into spaces": (name) => name.replace(/[-–]/g, " "),
};

const stateForms = Object.entries(stateNames).map(([code, name]) => [code.toLowerCase(), name.toLowerCase()]);
/** State codes that are also common words. */
const otherWords = new Set("al co de hi in la me ne or pa".split(" "));
const abbreviations = meaningsOf("form");
const longForms = new Map([
  ...stateForms.filter(([code]) => !otherWords.has(code)).map(([code, name]) => [code, name] as const),
  ...abbreviations,
]);
const shortForms = new Map([...abbreviations].map(([short, long]) => [long, short] as const).reverse());

function eachWord(name: string, rewrite: (word: string) => string): string {
  return name
    .toLowerCase()
    .split(/(?<=[^a-z'])|(?=[^a-z'])/)
    .map(rewrite)
    .join("");
}

/** Any hospital with the same name and city is expected. */
export function rewritten(hospitals: readonly Hospital[]): Map<string, Expectation[]> {
  const asked = (query: (hospital: Hospital) => string, keyOf: (hospital: Hospital) => string) => {
    const namesakes = Map.groupBy(hospitals, keyOf);
    return hospitals.map((hospital): Expectation => {
      const same = namesakes.get(keyOf(hospital)) ?? [];
      return [query(hospital), ...same.map(({ ccn }) => ccn)];
    });
  };
  const wholeName = ({ name, city }: Hospital) => `${name}, ${city}`;
  return new Map([
    ...Object.entries(rewritings).map(([way, rewrite]): [string, Expectation[]] => [
      way,
      asked(({ name, city }) => `${rewrite(name)} ${city}`, wholeName),
    ]),
    ["the name in its city", asked(({ name, city }) => `the ${name} in ${city}`, wholeName)],
    [
      "hospital for medical center and the other way, with the city",
      // Any hospital of the city whose name is the same but for "hospital" or "Medical Center" is expected.
      asked(
        ({ name, city }) => `${otherKind(name)} ${city}`,
        ({ name, city }) => `${withoutKind(name)}, ${city}`,
      ).filter((_, i) => otherKind(hospitals[i].name) !== hospitals[i].name.toLowerCase()),
    ],
  ]);
}

function otherKind(name: string): string {
  const isCenter = /\bmedical center\b/i.test(name);
  return isCenter
    ? name.toLowerCase().replace("medical center", "hospital")
    : name.toLowerCase().replace(/\bhospital\b/, "medical center");
}

function withoutKind(name: string): string {
  return indexWords(name)
    .filter((word) => !fillers.has(word) && !kinds.has(word))
    .join(" ");
}
