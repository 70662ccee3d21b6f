import { base, Failure, get } from "./api.ts";

/** What the API answers, as far as the pictures use it, and how a view's answers are asked for. */

export interface Source {
  data_year: number;
  data_version: string;
  caveat: string;
}

export interface Summary {
  facilities: number;
  min_charge: number;
  p10_charge: number;
  p25_charge: number;
  median_charge: number;
  p75_charge: number;
  p90_charge: number;
  max_charge: number;
  spread: number;
  median_allowed: number;
}

export interface StateRow {
  state: string;
  facilities: number;
  median_charge: number;
  p25_charge: number;
  p75_charge: number;
  min_charge: number;
  max_charge: number;
  spread: number;
  median_allowed: number;
}

export interface ProcedureAnswer {
  procedure: { code: string; name: string };
  scope: { state: string };
  summary: Summary;
  rows: { priced: number; suppressed: number; incomplete: number };
  allowed: Record<"min" | "p10" | "p25" | "median" | "p75" | "p90" | "max", number>;
  histogram: { edges: number[]; counts: number[] };
  data: StateRow[];
  source: Source;
}

export interface Price {
  ccn: string;
  facility: string;
  city: string;
  state: string;
  submitted_charge: number;
  medicare_allowed: number;
}

export interface PricesAnswer {
  summary: Summary;
  data: Price[];
  source: Source;
  next: string | null;
}

export interface TrendYear {
  data_year: number;
  data_version: string;
  name: string;
  facilities: number;
  p25_charge: number;
  median_charge: number;
  p75_charge: number;
  median_allowed: number;
  change: { median_charge: number; median_allowed: number } | null;
  matched: { facilities: number; median_charge: number; median_allowed: number } | null;
}

export interface TrendsAnswer {
  data: TrendYear[];
}

export interface Standing {
  rank: number;
  facilities: number;
  percentile: number;
  median_charge: number;
}

export interface FacilityRow {
  code: string;
  name: string;
  submitted_charge: number;
  medicare_allowed: number;
  services: number | null;
  national: Standing;
  state: Standing;
}

export interface FacilityAnswer {
  facility: {
    ccn: string;
    facility: string;
    city: string;
    state: string;
    street: string | null;
    zip: string | null;
    rural_urban: { code: string | null; description: string | null } | null;
  };
  data: FacilityRow[];
  source: Source;
}

export interface ProceduresAnswer {
  data: { code: string; name: string; facilities: number; median_charge: number; spread: number }[];
}

export interface SearchAnswer {
  summary: { matches: number };
  data: (
    | { type: "facility"; ccn: string; facility: string; city: string; state: string }
    | { type: "procedure"; code: string; name: string }
  )[];
}

export interface Dataset {
  title: string;
  publisher: string;
  data_year: number;
  data_version: string;
  status: "current" | "available" | "superseded";
  rows: number;
  suppressed_rows: number;
  released: string | null;
  source_url: string | null;
  coverage: { missing_states: { state: string; reason: string }[] };
}

export interface DatasetsAnswer {
  data: Dataset[];
}

/** A path of the API; parameters that are null or empty are left out. */
export function pathOf(
  path: string,
  parameters: Record<string, string | number | null> = {},
  year: string | null = null,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== "") query.set(name, String(value));
  const version = year === null ? "" : `/versions/${encodeURIComponent(year)}`;
  return `${base}${version}${path}${query.size === 0 ? "" : `?${query}`}`;
}

/** The latest answers, so that going back shows what was there at once. */
const kept = new Map<string, unknown>();
const maxKeptAnswers = 60;
const maxKeptMs = 300_000;
const keptAt = new Map<string, number>();

/** An answer that may be some minutes old. @throws Failure */
export async function ask<T>(path: string, signal?: AbortSignal): Promise<T> {
  const age = Date.now() - (keptAt.get(path) ?? Number.NEGATIVE_INFINITY);
  if (age < maxKeptMs) return kept.get(path) as T;
  const answer = await get<T>(path, signal);
  kept.delete(path);
  kept.set(path, answer);
  keptAt.set(path, Date.now());
  const oldest = kept.keys().next().value;
  if (kept.size > maxKeptAnswers && oldest !== undefined) {
    kept.delete(oldest);
    keptAt.delete(oldest);
  }
  return answer;
}

/** The answer, or why there is none at these arguments. @throws Failure of any other kind */
export async function askIfThere<T>(path: string, signal?: AbortSignal): Promise<T | Failure> {
  try {
    return await ask<T>(path, signal);
  } catch (error) {
    if (error instanceof Failure && (error.status === 404 || error.status === 400)) return error;
    throw error;
  }
}
