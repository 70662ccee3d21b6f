import type { InferOutput } from "valibot";
import type * as responses from "../../../api/responses.ts";

/** The API's answers, and how a view asks for them. The browser and the server make the same views. */

export type ProcedureAnswer = InferOutput<typeof responses.procedureResponse>;
export type StateRow = ProcedureAnswer["data"][number];
export type TrendsAnswer = InferOutput<typeof responses.trendsResponse>;
export type TrendYear = TrendsAnswer["data"][number];
export type FacilitiesAnswer = InferOutput<typeof responses.facilitiesResponse>;
export type Entry = FacilitiesAnswer["data"][number];
export type Priced = Entry & { submitted_charge: number; medicare_allowed: number };
export type FacilityAnswer = InferOutput<typeof responses.facilityResponse>;
export type FacilityRow = FacilityAnswer["data"][number];
export type FacilityTrendsAnswer = InferOutput<typeof responses.facilityTrendsResponse>;
export type Standing = FacilityRow["national"];
export type ProceduresAnswer = InferOutput<typeof responses.proceduresResponse>;
export type SearchAnswer = InferOutput<typeof responses.searchResponse>;
export type DatasetsAnswer = InferOutput<typeof responses.datasetsResponse>;
export type Dataset = DatasetsAnswer["data"][number];
export type Absent = NonNullable<SearchAnswer["absent"]>[number];
/** A ZIP code, or a city with its state, as a parameter of the API. */
export interface PlaceMeant {
  near: string;
}
export type UsageAnswer = InferOutput<typeof responses.usageResponse>;

export const base = "/api/v1";

interface FailureDetails {
  param?: string | undefined;
  /** The ZIP code or the cities that `near` may mean. */
  places?: readonly PlaceMeant[] | undefined;
  /** Things that a search names and that this data can't have. */
  absent?: readonly Absent[] | undefined;
  retrySeconds?: number | undefined;
}

/**
 * A failed request. Its type is the type of the server's error, or `offline` if the server can't be reached. Errors of
 * the script have the type `internal_error`.
 */
export class Failure extends Error {
  /** The HTTP status; 0 if the server can't be reached. */
  readonly status: number;
  readonly type: string;
  readonly param: string | undefined;
  readonly places: readonly PlaceMeant[];
  readonly absent: readonly Absent[];
  readonly retrySeconds: number | undefined;

  constructor(status: number, type: string, message: string, details: FailureDetails = {}) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = details.param;
    this.places = details.places ?? [];
    this.absent = details.absent ?? [];
    this.retrySeconds = details.retrySeconds;
  }
}

/**
 * Returns the answers at paths, or failures that `isAbsence` accepts. In a browser, a call throws while an answer is
 * missing, and the view is made again when the answer has arrived. So a view must be made by a function without side
 * effects. A view should ask for many answers in one call, because a browser waits for each call.
 */
export type Ask = <Answers extends object[]>(
  ...paths: { [I in keyof Answers]: string }
) => { [I in keyof Answers]: Answers[I] | Failure };

/** The answers by path that the server writes into a page. A failure is written as its constructor's arguments. */
export type Known = Record<string, { answer: object } | { failed: [number, string, string, FailureDetails] }>;

export const unlessFailed = <T extends object>(answer: T | Failure | null): T | null =>
  answer instanceof Failure ? null : answer;

/** Whether an error means that there is no data for the arguments, or that they are invalid. */
export const isAbsence = (error: unknown): error is Failure =>
  error instanceof Failure && (error.status === 404 || error.status === 400);

/** Whether a data year or version is served. True if the served versions aren't known. */
export const isServed = (name: string, datasets: readonly Dataset[] = []) =>
  datasets.length === 0 || datasets.some((one) => [String(one.data_year), one.data_version].includes(name));

export function servedOf(versions: string | null, datasets: readonly Dataset[] | undefined) {
  const all = versions?.split(",") ?? [];
  const kept = all.filter((one) => isServed(one, datasets));
  return { kept, gone: all.filter((one) => !kept.includes(one)) };
}

/**
 * Makes a path of the API. Leaves out parameters that are null or empty.
 * @param version a data version or a year; null for the newest
 */
export function pathOf(
  path: string,
  parameters: Record<string, string | number | null> = {},
  version: string | null = null,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== "") query.set(name, String(value));
  const of = version === null ? "" : `/versions/${encodeURIComponent(version)}`;
  return `${base}${of}${path}${query.size === 0 ? "" : `?${query}`}`;
}
