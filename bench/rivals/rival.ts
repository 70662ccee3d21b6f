import { readFileSync } from "node:fs";
import { attachImage, buildImage, decodeSnapshot, type Image, type Snapshot } from "../../engine/index.ts";
import { pathOfPage } from "../../server/api/cursor.ts";
import { basePath } from "../../server/api/endpoint.ts";

/** What the rivals share. They check no keys and no ceilings, which is to their advantage. */

export type Headers = readonly (readonly [name: string, value: string])[];

/** An answer as a constant. */
export interface Constant {
  status: string;
  headers: Headers;
  body: Buffer;
}

/** A rival's only argument, as JSON. */
export interface RivalSettings {
  /** The snapshot to answer from. */
  snapshotFile: string;
  /** Of every answer, beside Content-Type, Content-Length and what the rival adds by itself. */
  headers: Headers;
  /** For rivals that send a constant. */
  status: string;
  bodyFile: string;
  threads: number;
  /** Whether a database keeps its answers. */
  caches: boolean;
}

export function readSettings(): RivalSettings {
  return JSON.parse(process.argv[2]);
}

export const pricesPath = `${basePath}/healthcare/prices`;
/** The percentiles of charges in an answer's summary, by their names. */
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

/** A query as a target has it, after the question mark. */
export function queryText({ procedure, state, limit }: Query): string {
  return `procedure=${procedure}${state === null ? "" : `&state=${state}`}&limit=${limit}`;
}

export function nextPage(image: Image, query: Query, total: number): Buffer | null {
  return query.limit < total ? pathOfPage(image, "prices", query.limit, queryText(query)) : null;
}

/** The object to answer with, from what a database found. */
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
