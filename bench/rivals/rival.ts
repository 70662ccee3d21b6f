import { readFileSync } from "node:fs";
import { attachImage, buildImage, decodeSnapshot, type Image, type Snapshot } from "../../engine/index.ts";
import { pathOfPage } from "../../server/api/cursor.ts";
import { basePath } from "../../server/api/endpoint.ts";

/** The code that rivals share. Rivals have an advantage over the service, because they don't check keys or limits. */

export type Headers = readonly (readonly [name: string, value: string])[];

export interface Constant {
  status: string;
  headers: Headers;
  body: Buffer;
}

export interface RivalSettings {
  snapshotFile: string;
  /** Headers of answers, without Content-Length and other headers that the HTTP library adds itself. */
  headers: Headers;
  status: string;
  bodyFile: string;
  threads: number;
}

export function readSettings(): RivalSettings {
  return JSON.parse(process.argv[2]);
}

export const pricesPath = `${basePath}/healthcare/prices`;
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

export async function loadSnapshot(file: string): Promise<{ snapshot: Snapshot; image: Image }> {
  const { snapshot } = await decodeSnapshot(readFileSync(file), file);
  return { snapshot, image: attachImage(buildImage(snapshot)) };
}

export function queryText({ procedure, state, limit }: Query): string {
  return `procedure=${procedure}${state === null ? "" : `&state=${state}`}&limit=${limit}`;
}

export function nextPage(image: Image, query: Query, total: number): Buffer | null {
  return query.limit < total ? pathOfPage(image, "prices", query.limit, queryText(query)) : null;
}

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
