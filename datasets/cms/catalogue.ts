import {
  DataError,
  isWebAddress,
  jsonIn,
  maxDataYear,
  minDataYear,
  releasedPattern,
} from "../../engine/index.ts";
import { openAddress, ProxyRefusal, readText, retried } from "../http.ts";
import { plain } from "./columns.ts";
import { type Caller, cmsPatience } from "./release-download.ts";

export const catalogueUrl = "https://data.cms.gov/data.json";
/** CMS's titles of the data sets, in lower-case letters and digits only. */
const releasesTitle = "medicareoutpatienthospitalsbyproviderandservice";
const totalsTitle = "medicareoutpatienthospitalsbygeographyandservice";
/** CMS's catalogue has about ten megabytes. */
const maxCatalogueBytes = 2 ** 28;
const catalogueTries = 2;
/** CMS's catalogue has three levels. */
const maxDepth = 12;

const knownFiles = [
  "2026-06/794975f5-e335-4cbf-8e87-982c834a9639/MUP_OUT_RY26_P04_V10_DY24_Prov_Svc.csv",
  "2025-08/bceaa5e1-e58c-4109-9f05-832fc5e6bbc8/MUP_OUT_RY25_P04_V10_DY23_Prov_Svc.csv",
  "2024-06/860428c0-6102-4fff-812d-57c7860613e5/MUP_OUT_RY24_P04_V10_DY22_Prov_Svc.csv",
  "2024-06/657f3480-6e15-4978-8e4d-78bfa03b7a79/MUP_OUT_RY24_P04_V10_DY21_Prov_Svc.csv",
  "2021-08/MUP_OUT_RY21_P04_V10_DY19_Prov_Svc.csv",
];

export interface Offer {
  year: number;
  url: string;
  /** Month of publication as `YYYY-MM`, from the URL; null if the URL has no month. */
  released: string | null;
  /** URL of CMS's totals by nation and state for the same year; null if unknown. */
  totalsUrl: string | null;
}

export function offerOf(year: number, url: string, totalsUrl: string | null = null): Offer {
  const months = url.split("/").filter((part) => releasedPattern.test(part));
  return { year, url, released: months.at(-1) ?? null, totalsUrl };
}

/** Releases whose URLs are known without CMS's catalogue, newest first. */
export const knownOffers: readonly Offer[] = knownFiles.map((file) =>
  offerOf(dataYearOf([file]) ?? 0, `https://data.cms.gov/sites/default/files/${file}`),
);

/**
 * Finds the releases in the catalogue at a URL, newest first. Returns `knownOffers` if the catalogue can't be used.
 *
 * @throws ProxyRefusal if the proxy can't be used, because it probably can't be used for the releases either
 */
export async function offers(url: string, caller: Caller): Promise<readonly Offer[]> {
  try {
    const text = await retried(url, cmsPatience(caller, catalogueTries), async (currentTry) =>
      readText(url, await openAddress(url, currentTry), maxCatalogueBytes, currentTry),
    );
    return offersIn(text, url).sort((a, b) => b.year - a.year);
  } catch (error) {
    if (!(error instanceof DataError) || error instanceof ProxyRefusal) throw error;
    caller.say(`${error.message}; the known addresses serve instead of the catalogue`);
    return knownOffers;
  }
}

/**
 * Finds the newest release of each data year in a DCAT catalogue, and the newest totals of that year. A release is an
 * entry with a data year and the URL of a CSV file. The data set's title is on that entry or on an outer entry.
 *
 * @throws DataError when the text isn't JSON or has no release
 */
export function offersIn(text: string, subject: string): Offer[] {
  const entries = [...filesIn(jsonIn(text, subject, "a catalogue in JSON"), [], 0)];
  const releases = newestIn(entries, releasesTitle);
  if (releases.size === 0)
    throw new DataError(
      subject,
      "no file of the data set",
      `CSV files of ${minDataYear} or later under "Medicare Outpatient Hospitals - by Provider and Service"`,
    );
  const totals = newestIn(entries, totalsTitle);
  return Array.from(releases, ([year, { url }]) => offerOf(year, url, totals.get(year)?.url));
}

function newestIn(entries: readonly CatalogueEntry[], titleLetters: string) {
  const newest = new Map<number, { url: string; modified: string }>();
  for (const { titles, fields } of entries) {
    const url = addressOf(fields);
    if (url === undefined || !titles.some((title) => plain(title).includes(titleLetters))) continue;
    const year = dataYearOf([url, fields.get("temporal"), ...titles.toReversed()]);
    if (year === undefined) continue;
    const modified = textOf(fields.get("modified")) ?? textOf(fields.get("issued")) ?? "";
    const other = newest.get(year);
    // CMS lists the newest of several files first.
    if (other === undefined || modified > other.modified) newest.set(year, { url, modified });
  }
  return newest;
}

interface CatalogueEntry {
  /** Titles of this entry and of the entries around it, outermost first. */
  titles: string[];
  /** Names of fields have only lower-case letters and digits, and no prefix such as `dcat:`. */
  fields: Map<string, unknown>;
}

function* filesIn(node: unknown, above: string[], depth: number): Generator<CatalogueEntry> {
  if (typeof node !== "object" || node === null || depth > maxDepth) return;
  if (Array.isArray(node)) {
    for (const item of node) yield* filesIn(item, above, depth + 1);
    return;
  }
  const fields = new Map(
    Object.entries(node).map(([name, value]) => [plain(name.replace(/^.*:/, "")), value]),
  );
  const title = textOf(fields.get("title")) ?? textOf(fields.get("name"));
  const titles = title === undefined ? above : [...above, title];
  yield { titles, fields };
  for (const value of fields.values()) yield* filesIn(value, titles, depth + 1);
}

function addressOf(fields: Map<string, unknown>): string | undefined {
  const url = textOf(fields.get("downloadurl")) ?? textOf(fields.get("accessurl"));
  if (url === undefined || !isWebAddress(url)) return undefined;
  return /\.csv$/i.test(new URL(url).pathname) ? url : undefined;
}

/**
 * Returns the year in the first text that has one, written as DYnn or DY20nn, or as 20nn in a text that isn't a URL.
 * Returns undefined if no text has a year, or if the year is before `minDataYear` or after `maxDataYear`.
 */
function dataYearOf(texts: unknown[]): number | undefined {
  for (const given of texts) {
    const text = textOf(given) ?? "";
    const [, short] = /(?<![0-9a-z])DY(?:20)?([0-9]{2})(?![0-9a-z])/i.exec(text) ?? [];
    const [long] =
      short === undefined && !/^https?:/.test(text) ? (/(?<![0-9])20[0-9]{2}(?![0-9])/.exec(text) ?? []) : [];
    const year = Number(short === undefined ? long : `20${short}`);
    if (year >= minDataYear && year <= maxDataYear) return year;
    // Older releases have a different layout.
    if (!Number.isNaN(year)) return undefined;
  }
  return undefined;
}

/** A text may be wrapped in an object such as {"@id": …} or {"@value": …}. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  return Object.values(value).find((inner) => typeof inner === "string");
}
