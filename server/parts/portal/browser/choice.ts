import { go, withParameters } from "./location.ts";

/** Reads what is chosen on the page explore from the address, and changes it. */

export const maxPinned = 3;
const defaultMiles = 25;

export interface Choice {
  procedure: string | null;
  state: string | null;
  /** A ZIP code; with it the state doesn't count. */
  near: string | null;
  /** Miles around the ZIP code. */
  within: number;
  /** A data year, or a data version such as 2024.1. */
  year: string | null;
  /** Data versions of the trend, separated by commas; null for the newest of each year. */
  versions: string | null;
  /** CCNs of the hospitals to compare. */
  pinned: string[];
  /** The lowest and the highest charge in the list, in dollars. */
  from: string | null;
  to: string | null;
  sort: string;
  order: "asc" | "desc";
}

export function choiceOf({ searchParams }: URL): Choice {
  const chosen = (name: string) => searchParams.get(name)?.trim() || null;
  const near = chosen("near");
  const pinned = `${chosen("with") ?? ""},${chosen("facility") ?? ""}`.split(",").filter(Boolean);
  const sort = chosen("sort") ?? "charge";
  return {
    procedure: chosen("procedure"),
    state: near === null ? (chosen("state")?.toUpperCase() ?? null) : null,
    near,
    within: Number(chosen("within")) || defaultMiles,
    year: chosen("year"),
    versions: chosen("versions"),
    pinned: [...new Set(pinned)].slice(0, maxPinned),
    from: chosen("from"),
    to: chosen("to"),
    sort: near === null && sort === "distance" ? "charge" : sort,
    order: chosen("order") === "desc" ? "desc" : "asc",
  };
}

const rangeParameters = ["from", "to"];
const listParameters = [...rangeParameters, "sort", "order"];

/** Changes the choice. A range of charges is dropped with another procedure, place or year: its bars differ. */
export function choose(changes: Record<string, string | null>): void {
  const isOfList = Object.keys(changes).every((name) => name === "with" || listParameters.includes(name));
  const versions = "year" in changes ? { versions: null } : {};
  go(withParameters(isOfList ? changes : { from: null, to: null, ...versions, ...changes }));
}

/** Pins a hospital, or takes it off. */
export function pin({ pinned }: Choice, ccn: string): void {
  const others = pinned.filter((each) => each !== ccn);
  const all = others.length < pinned.length ? others : [...pinned, ccn].slice(-maxPinned);
  choose({ with: all.length === 0 ? null : all.join(","), facility: null });
}

/** An address within the portal, in the year of the current one. */
export function inYear(path: string, parameters: Record<string, string | null> = {}): string {
  const url = new URL(path, location.origin);
  const year = new URLSearchParams(location.search).get("year");
  for (const [name, value] of Object.entries({ year, ...parameters }))
    if (value !== null) url.searchParams.set(name, value);
  return url.pathname + url.search;
}
