import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { attachImage, buildImage, decodeSnapshot, type Image, type Snapshot } from "../../engine/index.ts";
import { pathOfPage } from "../../server/cursor.ts";

/** What the rivals share. They check no keys and no ceilings, which is to their advantage. */

export type Headers = readonly (readonly [name: string, value: string])[];

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
}

export function readSettings(): RivalSettings {
  return JSON.parse(process.argv[2]);
}

/** Tells the benchmark where the rival listens. */
export function announce(port: number): void {
  process.stdout.write(`ready ${port}\n`);
}

/** A port that nothing listens on at this moment. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error(`listening on ${address}`);
  return address.port;
}

export const pricesPath = "/api/v1/healthcare/prices";
export const percents = [10, 25, 50, 75, 90] as const;

export interface Query {
  procedure: string;
  state: string | null;
  limit: number;
}

/** A row as the tables of the rivals have it: code, name, state, charge, ccn, facility, city, allowed. */
export type TableRow = [string, string, string, number, string, string, string, number];

/** The priced rows of a snapshot, ordered by procedure, charge and CCN. */
export function tableRows({ facilities, procedures, rows }: Snapshot): TableRow[] {
  const list: TableRow[] = [];
  for (let row = 0; row < rows.charge.length; row++) {
    const facility = rows.facility[row];
    const procedure = rows.procedure[row];
    if (rows.charge[row] <= 0 || rows.allowed[row] <= 0) continue;
    list.push([
      procedures.code[procedure],
      procedures.name[procedure],
      facilities.state[facility],
      rows.charge[row],
      facilities.ccn[facility],
      facilities.name[facility],
      facilities.city[facility],
      rows.allowed[row],
    ]);
  }
  return list.sort((a, b) => compare(a[0], b[0]) || a[3] - b[3] || compare(a[4], b[4]));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function loadSnapshot(file: string): { snapshot: Snapshot; image: Image } {
  const snapshot = decodeSnapshot(readFileSync(file), file);
  return { snapshot, image: attachImage(buildImage(snapshot)) };
}

export function nextPage(image: Image, { procedure, state, limit }: Query, total: number): Buffer | null {
  if (limit >= total) return null;
  const query = `procedure=${procedure}${state === null ? "" : `&state=${state}`}&limit=${limit}`;
  return pathOfPage(image, "prices", limit, query);
}

/** What a database found, amounts in cents. */
export interface Found {
  name: string;
  facilities: number;
  minCharge: number;
  maxCharge: number;
  /** max / min in hundredths. */
  spread: number;
  /** By `percents`. */
  charges: readonly number[];
  medianAllowed: number;
  rows: { facility: string; city: string; state: string; ccn: string; charge: number; allowed: number }[];
}

/** The object to answer with. */
export function pricesAnswer(image: Image, query: Query, found: Found): object {
  const { dataYear, revision, caveat } = image.description.provenance;
  const [p10, p25, p50, p75, p90] = found.charges;
  return {
    procedure: { code: query.procedure, name: found.name },
    scope: { state: query.state ?? "national" },
    summary: {
      facilities: found.facilities,
      median_charge: p50 / 100,
      min_charge: found.minCharge / 100,
      max_charge: found.maxCharge / 100,
      spread: found.spread / 100,
      p10_charge: p10 / 100,
      p25_charge: p25 / 100,
      p75_charge: p75 / 100,
      p90_charge: p90 / 100,
      median_allowed: found.medianAllowed / 100,
    },
    data: found.rows.map(({ charge, allowed, ...facility }) => ({
      ...facility,
      submitted_charge: charge / 100,
      medicare_allowed: allowed / 100,
    })),
    source: { data_year: dataYear, data_version: `${dataYear}.${revision}`, caveat },
    next: nextPage(image, query, found.facilities)?.toString() ?? null,
  };
}
