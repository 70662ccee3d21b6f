import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import * as v from "valibot";
import {
  arrange,
  attachImage,
  buildImage,
  byField,
  type DocumentKind,
  type Image,
  measureFields,
  newestSchema,
  type Snapshot,
  sealSnapshot,
  search,
  textAt,
} from "../../engine/index.ts";
import { absent, sharedData, testProvenance } from "./fixtures.ts";

/** What people type when they look for a hospital, and the hospital that anybody would mean by it. */

export interface Hospital {
  ccn: string;
  name: string;
  city: string;
  state: string;
}

const directoryName = "hospital_directory_dy23.csv";
const directorySchema = v.array(
  v.object({ CCN: v.string(), Org_Name: v.string(), City: v.string(), State: v.string() }),
);

/** The hospitals of CMS's directory of 2023, or undefined where the file isn't beside the repository. */
export function realHospitals(): Hospital[] | undefined {
  const file = sharedData(directoryName);
  if (file === undefined) return undefined;
  const records = v.parse(directorySchema, parse(readFileSync(file), { columns: true, bom: true }));
  return records.map((record) => ({
    ccn: record.CCN,
    name: record.Org_Name,
    city: record.City,
    state: record.State,
  }));
}

export const absentDirectory = `${directoryName} is not beside the repository`;

/** A snapshot in which each hospital has one priced row. */
export function snapshotOfHospitals(hospitals: readonly Hospital[]): Snapshot {
  const amounts = (cents: number) => new Int32Array(hospitals.length).fill(cents);
  const nothing = hospitals.map(() => "");
  const { content } = arrange({
    schema: newestSchema,
    provenance: testProvenance,
    facilities: {
      ccn: hospitals.map(({ ccn }) => ccn),
      name: hospitals.map(({ name }) => name),
      city: hospitals.map(({ city }) => city),
      state: hospitals.map(({ state }) => state),
      street: nothing,
      zip: nothing,
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
  return sealSnapshot(content);
}

export const everything = 1_000_000;
export const imageOf = (snapshot: Snapshot) => attachImage(buildImage(snapshot));

export interface Found {
  /** A CCN or an APC code. */
  code: string;
  name: string;
  score: number;
}

/** What a query finds, by the engine. */
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

/** Scores are in (0, 1] and never rise, nothing comes twice, and ties are ordered by name, then code. */
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

/** Hospitals 000001, 000002, … of these names, all in one place that no query of these tests names. */
export function named(...names: string[]): Image {
  return placed(...names.map((name): [string, string, string] => [name, "Xqzxqz", "WY"]));
}

export function placed(...hospitals: [name: string, city: string, state: string][]): Image {
  const numbered = hospitals.map(
    ([name, city, state], i): Hospital => ({ ccn: String(i + 1).padStart(6, "0"), name, city, state }),
  );
  return imageOf(snapshotOfHospitals(numbered));
}

/** A query and the CCN that has to come first; several where the query fits them equally well. */
export type Expectation = readonly [query: string, ...ccns: string[]];

/** One typo in a word of 5 to 8 letters, swapped neighbours among them, or two in a longer one. */
const misspelled: Expectation[] = [
  ["hopkins bayveiw", "210029"],
  ["massachusets general", "220071"],
  ["cedars siani", "050625"],
  ["vanderbuilt university", "440039"],
  ["maimonidies brooklyn", "330194"],
  ["montefoire bronx", "330059"],
  ["gundersen luthern", "520087"],
  ["hennepen county", "240004"],
  ["cincinatti childrens", "363300"],
  ["tallahasee memorial", "100135"],
  ["albuquerqe presbyterian", "320021"],
  ["alleghany general pittsburg", "390050"],
  ["geisenger danville", "390006"],
  ["kootenia health", "130049"],
  ["northwestern memorail", "140281"],
  ["loyolla university", "140276"],
  ["strogar hospital", "140124"],
  ["harbourview seattle", "500064"],
  ["univercity of utah", "460009"],
  ["mary hitchcok", "300003"],
  ["christanacare", "080001"],
  ["lancester general", "390100"],
  ["rogue reigonal", "380018"],
  ["bozman deaconess", "270057"],
  ["fairbanks memoral", "020012"],
  ["dana faber", "220162"],
  ["rosewell park", "330354"],
];

const abbreviated: Expectation[] = [
  ["mt sinai new york", "330024"],
  ["mount sinai chicago", "140018"],
  ["mt auburn hosp", "220002"],
  ["strong memorial hosp", "330285"],
  ["duke univ hospital", "340030"],
  ["albany med ctr", "330013"],
  ["tufts med ctr", "220116"],
  ["beth israel deaconess med ctr", "220086"],
  ["university hosp newark", "310119"],
  ["brigham & womens", "220110"],
  ["women and infants providence", "410010"],
  ["baylor scott and white temple", "450054"],
  ["lahey hosp & med ctr", "220171"],
  ["mercy med center springfield", "220066"],
  ["univ of iowa hosp & clinics", "160058"],
  ["overland park reg med center", "170176"],
  ["university of washington medical center", "500008"],
  ["childrens medical center dallas", "453302"],
];

const nameAndCity: Expectation[] = [
  ["mayo clinic rochester", "240010"],
  ["mayo jacksonville", "100151"],
  ["cleveland clinic", "360180"],
  ["bellevue new york", "330204"],
  ["grady atlanta", "110079"],
  ["methodist omaha", "280040"],
  ["baptist pensacola", "100093"],
  ["presbyterian shadyside", "390164"],
  ["barnes jewish", "260032"],
  ["jackson memorial miami", "100022"],
  ["memorial hermann sugar land", "450848"],
  ["sentara norfolk", "490007"],
  ["tampa general", "100128"],
  ["maine medical center", "200009"],
  ["hartford hospital", "070025"],
  ["carilion roanoke", "490024"],
  ["stanford health care", "050441"],
  ["parkland dallas", "450015"],
  ["henry ford detroit", "230053"],
  ["hospital for special surgery", "330270"],
  ["houston methodist", "450358"],
  ["lehigh valley hospital", "390133"],
  ["robert wood johnson", "310038"],
  ["riverside methodist columbus", "360006"],
  ["city of hope", "050146"],
  ["emory university hospital", "110010"],
];

const saints: Expectation[] = [
  ["st lukes boise", "130006"],
  ["st vincent portland", "380004"],
  ["saint francis tulsa", "370091"],
  ["st agnes fresno", "050093"],
  ["saint elizabeth lincoln", "280020"],
  ["saint jude fullerton", "050168"],
  ["st john's santa monica", "050290"],
  ["saint vincents bridgeport", "070028"],
  ["st marys hosp waterbury", "070016"],
  ["st joseph tucson", "030011"],
  ["saint anthony oklahoma city", "370037"],
  ["st louis childrens", "263301"],
];

const states: Expectation[] = [
  ["springfield il", "140053", "140148"],
  ["springfield illinois", "140053", "140148"],
  ["saint johns springfield il", "140053"],
  ["portland maine", "200008", "200009"],
  ["st francis charleston wv", "510031"],
  ["st francis charleston south carolina", "420065"],
  ["rochester general ny", "330125"],
  ["burlington vermont", "470003"],
  ["lebanon new hampshire", "300003"],
  ["georgetown washington dc", "090004"],
  ["las vegas nm", "320003"],
  ["lafayette co", "060116"],
  ["ny presbyterian", "330101"],
  ["good samaritan corvallis or", "380014"],
  ["wayne memorial pa", "390125"],
];

const codes: Expectation[] = [
  ["050625", "050625"],
  ["330101", "330101"],
  ["020012", "020012"],
  [" 670112 ", "670112"],
];

/** Case, accents and punctuation. */
const variants: Expectation[] = [
  ["CÉDARS SINAÏ", "050625"],
  ["Coeur d’Alene", "130049"],
  ["YALE NEW-HAVEN", "070022"],
  ["uci health los alamitos", "050551"],
  ["Dana–Farber", "220162"],
  ["johns hopkins, the", "210009"],
  ["womans hospital of texas", "450674"],
  ["N.Y. Eye and Ear", "330100"],
  ["mckay dee", "460004"],
  ["“Wills Eye”", "390331"],
  ["presbyterian/st. lukes", "060014"],
];

export const relevanceSet: readonly Expectation[] = [
  misspelled,
  abbreviated,
  nameAndCity,
  saints,
  states,
  codes,
  variants,
].flat();
