import { readFileSync } from "node:fs";
import { attachImage, buildImage, decodeSnapshot, type Image, type Snapshot } from "../../engine/index.ts";
import { pathOfPage } from "../../server/api/cursor.ts";
import { basePath } from "../../server/api/endpoint.ts";

/** Shared code of the other servers. They don't check keys or ceilings, which is an advantage for them. */

export type Headers = readonly (readonly [name: string, value: string])[];

/** A constant answer. */
export interface Constant {
  status: string;
  headers: Headers;
  body: Buffer;
}

/** Settings of a server, passed as JSON in its only argument. */
export interface RivalSettings {
  /** Path of the snapshot. */
  snapshotFile: string;
  /** Headers of every answer, besides Content-Type, Content-Length and those the server adds itself. */
  headers: Headers;
  /** For servers that send a constant answer. */
  status: string;
  bodyFile: string;
  threads: number;
  /** Whether a database server caches answers. */
  caches: boolean;
  /** Whether the ceiling sends its body from random places in as much memory as an image takes. */
  isSpread: boolean;
}

export function readSettings(): RivalSettings {
  return JSON.parse(process.argv[2]);
}

export const pricesPath = `${basePath}/healthcare/prices`;
/** The percentiles in an answer's summary, by field name. */
export const percentiles = {
  p10_charge: 10,
  p25_charge: 25,
  median_charge: 50,
  p75_charge: 75,
  p90_charge: 90,
};

export interface Query {
  procedure: string;
  state: string | null;
  limit: number;
}

export function loadSnapshot(file: string): { snapshot: Snapshot; image: Image } {
  const snapshot = decodeSnapshot(readFileSync(file), file);
  return { snapshot, image: attachImage(buildImage(snapshot)) };
}

/** A query as a query string. */
export function queryText({ procedure, state, limit }: Query): string {
  return `procedure=${procedure}${state === null ? "" : `&state=${state}`}&limit=${limit}`;
}

export function nextPage(image: Image, query: Query, total: number): Buffer | null {
  return query.limit < total ? pathOfPage(image, "prices", query.limit, queryText(query)) : null;
}

/** Builds the answer from a database's results. */
export function pricesAnswer(
  image: Image,
  query: Query,
  name: unknown,
  summary: { facilities: number },
  data: readonly object[],
): object {
  const { dataYear, revision, caveat } = image.description.provenance;
  return {
    list: "prices",
    procedure: { code: query.procedure, name },
    scope: { state: query.state ?? "national" },
    summary,
    data,
    source: { data_year: dataYear, data_version: `${dataYear}.${revision}`, caveat },
    next: nextPage(image, query, summary.facilities)?.toString() ?? null,
  };
}
