import assert from "node:assert/strict";
import * as v from "valibot";
import {
  blank,
  type Places,
  type Snapshot,
  stateCodes,
  type TableParts,
  versionName,
} from "../../engine/index.ts";
import type { Versions } from "../../server/api/endpoint.ts";
import {
  ask,
  assertRefused,
  dollarsOrNull,
  imageOf,
  imageWith,
  inText,
  orNull,
  sourceOf,
  standingIn,
  versionsOf,
} from "./endpoint-oracle.ts";
import { halfUp, hundredths, isPriced, pricedRows, summaryOf, withTitle } from "./oracle.ts";
import type { Random } from "./random.ts";

type Asked = Partial<Record<string, string>>;

/** Miles by the angle between vectors from the Earth's center. Coordinates are in degrees. */
export function milesBetween([north, east]: number[], [otherNorth, otherEast]: number[]): number {
  const vector = (latitude: number, longitude: number) => {
    const [a, b] = [(latitude * Math.PI) / 180, (longitude * Math.PI) / 180];
    return [Math.cos(a) * Math.cos(b), Math.cos(a) * Math.sin(b), Math.sin(a)];
  };
  const [a, b, c] = vector(north, east);
  const [d, e, f] = vector(otherNorth, otherEast);
  const cross = Math.hypot(b * f - c * e, c * d - a * f, a * e - b * d);
  return (6371.0088 / 1.609344) * Math.atan2(cross, a * d + b * e + c * f);
}

export function coordinatesOf({ zip, latitude, longitude }: Places, code: string): number[] | undefined {
  const at = code === "" ? -1 : zip.indexOf(Number(code));
  return at < 0 ? undefined : [latitude[at] / 1e6, longitude[at] / 1e6];
}

const bare = (text: string) =>
  text
    .normalize("NFKD")
    .replace(/[^\p{L}\p{N}]/gu, "")
    .toLowerCase();

const statusOf = (charge: number, allowed: number) =>
  charge > 0 && allowed > 0 ? "priced" : charge === blank && allowed === blank ? "suppressed" : "incomplete";

const list = (text: string | undefined) => (text === undefined ? null : [...new Set(text.split(","))]);
const number = (text: string | undefined) => (text === undefined ? null : Number(text));

function naiveFacilities(snapshot: Snapshot, places: Places, asked: Asked) {
  const parts = snapshot.table;
  const { facilities, procedures, rows } = parts;
  const { procedure, city, near, sort = "name", order = "asc", limit = "25" } = asked;
  const states = list(asked.state?.toUpperCase());
  const ccns = list(asked.ccn);
  const status = procedure === undefined ? null : (asked.status ?? "priced");
  const within = near === undefined ? null : Number(asked.within ?? 50);
  const [least, most] = [number(asked.min_charge), number(asked.max_charge)];
  const center = near === undefined ? undefined : coordinatesOf(places, near);
  let unplaced = 0;
  const rowsOf = Map.groupBy(rows.facility.keys(), (row) => rows.facility[row]);
  const found = facilities.ccn.flatMap((ccn, i) => {
    const own = rowsOf.get(i) ?? [];
    const row = own.find((each) => procedures.code[rows.procedure[each]] === procedure) ?? -1;
    if (procedure !== undefined && row < 0) return [];
    const actual = statusOf(rows.charge[row], rows.allowed[row]);
    if (status !== null && status !== "all" && status !== actual) return [];
    const charge = actual === "priced" ? rows.charge[row] / 100 : null;
    if ((least !== null || most !== null) && charge === null) return [];
    if (least !== null && (charge ?? 0) < least) return [];
    if (most !== null && (charge ?? 0) > most) return [];
    if (states !== null && !states.includes(facilities.state[i])) return [];
    if (ccns !== null && !ccns.includes(ccn)) return [];
    if (city !== undefined && bare(facilities.city[i]) !== bare(city)) return [];
    let distance: number | undefined;
    if (center !== undefined) {
      const there = coordinatesOf(places, facilities.zip[i]);
      if (there === undefined) {
        unplaced++;
        return [];
      }
      distance = Math.round(10 * milesBetween(center, there)) / 10;
      if (distance > (within ?? 0)) return [];
    }
    const priced = own.filter((each) => isPriced(rows, each));
    return [{ i, ccn, row, distance, actual, procedures: priced.length }];
  });
  if (found.length === 0) return undefined;
  const groups = new Map<string | null, bigint[]>();
  const chargesIn = (state: string | null) => {
    const charges =
      groups.get(state) ?? pricedRows(parts, procedure ?? "", state).map((row) => BigInt(rows.charge[row]));
    groups.set(state, charges);
    return charges;
  };
  const data = found.map(({ i, ccn, row, distance, actual, procedures }) => {
    const said = { ccn, facility: facilities.name[i], city: facilities.city[i], state: facilities.state[i] };
    const known = { ...said, zip: facilities.zip[i] || null, procedures };
    const placed = distance === undefined ? known : { ...known, distance };
    if (procedure === undefined) return placed;
    const [charge, allowed] = actual === "priced" ? [rows.charge[row], rows.allowed[row]] : [blank, blank];
    const isThere = actual === "priced";
    return {
      ...placed,
      submitted_charge: dollarsOrNull(charge),
      medicare_allowed: dollarsOrNull(allowed),
      medicare_payment: dollarsOrNull(rows.payment[row]),
      markup: isThere ? hundredths(halfUp(100n * BigInt(charge), BigInt(allowed))) : null,
      services: orNull(rows.services[row]),
      beneficiaries: orNull(rows.beneficiaries[row]),
      status: actual,
      national: isThere ? standingIn(chargesIn(null), charge) : null,
      within_state: isThere ? standingIn(chargesIn(facilities.state[i]), charge) : null,
    };
  });
  const field = { name: "facility", charge: "submitted_charge", allowed: "medicare_allowed" }[sort] ?? sort;
  const sign = order === "desc" ? -1 : 1;
  const sortedBy = (row: object) => {
    const value = new Map<string, string | number | null>(Object.entries(row)).get(field) ?? null;
    // Names are compared without case and accents.
    return typeof value === "string" ? value.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase() : value;
  };
  data.sort((a, b) => {
    const [one, other] = [sortedBy(a), sortedBy(b)];
    if (one === null || other === null)
      return Number(one === null) - Number(other === null) || inText(a.ccn, b.ccn);
    const difference = one < other ? -1 : one > other ? 1 : 0;
    return sign * difference || inText(a.ccn, b.ccn);
  });
  const group =
    procedure === undefined
      ? undefined
      : withTitle({ code: procedure, name: procedures.name[procedures.code.indexOf(procedure)] });
  return {
    list: "facilities",
    query: {
      procedure: group === undefined ? null : { ...group, asked: procedure },
      state: states,
      city: city ?? null,
      ccn: ccns,
      near: near ?? null,
      within,
      min_charge: least,
      max_charge: most,
      status,
      sort,
      order,
      limit: Number(limit),
    },
    ...(group !== undefined && { procedure: group }),
    summary: {
      ...(procedure === undefined
        ? { facilities: data.length }
        : naiveSummary(
            parts,
            found.flatMap(({ actual, row }) => (actual === "priced" ? [row] : [])),
            data.length,
          )),
      ...(near !== undefined && { unplaced }),
      ...(ccns !== null && { unknown: ccns.filter((ccn) => !facilities.ccn.includes(ccn)) }),
    },
    data,
    source: { ...sourceOf(snapshot), places: places.name },
  };
}

function naiveSummary(parts: TableParts, priced: number[], facilities: number) {
  const { charge } = parts.rows;
  const some = [...priced].sort((a, b) => charge[a] - charge[b]);
  if (some.length > 0) return { ...summaryOf(parts, some), facilities };
  const { rows } = parts;
  const one = { ...parts, rows: { ...rows, charge: Int32Array.of(1), allowed: Int32Array.of(1) } };
  const names = Object.keys(summaryOf(one, [0]));
  return { ...Object.fromEntries(names.map((name) => [name, null])), facilities };
}

/** Few locations are drawn, so that distances tie. */
export function randomPlaces(snapshot: Snapshot, random: Random): Places {
  const known = snapshot.table.facilities.zip.filter((zip) => zip !== "" && random.int(5) > 0);
  const others = Array.from({ length: 5 }, () => String(random.int(100_000)));
  const zip = Int32Array.from(new Set([...known, ...others].map(Number))).sort();
  const spots = Array.from({ length: 1 + random.int(6) }, () => [
    random.int(60e6) + 10e6,
    -60e6 - random.int(110e6),
  ]);
  const centers = random.int(2) === 0 ? spots : spots.slice(0, 1);
  const near = Array.from(zip, () => {
    const [latitude, longitude] = random.pick(centers);
    const step = random.pick([0, 0, 1e4, 1e6]);
    return [latitude + random.int(1 + step), longitude + random.int(1 + step)];
  });
  return {
    name: "Random places",
    zip,
    latitude: Int32Array.from(near, ([latitude]) => latitude),
    longitude: Int32Array.from(near, ([, longitude]) => longitude),
  };
}

/** Draws parameters of a request for a list of facilities. A test checks that each parameter is drawn. */
export function randomQuery(snapshot: Snapshot, places: Places, random: Random): Asked {
  const { facilities, procedures, rows } = snapshot.table;
  const asked: Asked = {};
  const sorts = ["name"];
  const maybe = (of: number, name: string, value: () => string) => {
    if (random.int(of) === 0) asked[name] = value();
  };
  const some = (from: readonly string[], most: number) =>
    Array.from({ length: 1 + random.int(most) }, () => random.pick(from)).join(",");
  maybe(3, "state", () => some(random.int(4) === 0 ? stateCodes : facilities.state, 4));
  if (asked.state !== undefined && random.int(2) === 0) asked.state = asked.state.toLowerCase();
  maybe(6, "city", () => random.pick(facilities.city));
  maybe(6, "ccn", () => `${some(facilities.ccn, 20)},${"Q".repeat(6)}`);
  if (random.int(2) === 0 && places.zip.length > 0) {
    asked.near = String(random.pick([...places.zip])).padStart(5, "0");
    sorts.push("distance", "distance");
    maybe(2, "within", () => String(1 + random.int(random.pick([3, 80, 500]))));
  }
  if (random.int(4) > 0) {
    asked.procedure = random.pick(procedures.code);
    sorts.push("charge", "allowed", "markup", "services");
    maybe(2, "status", () => random.pick(["priced", "suppressed", "incomplete", "all", "all"]));
    const charge = () => (Math.max(0, random.pick([...rows.charge])) / 100).toFixed(2);
    maybe(4, "min_charge", charge);
    maybe(4, "max_charge", charge);
  }
  maybe(2, "order", () => random.pick(["asc", "desc"]));
  asked.sort = random.pick(sorts);
  maybe(2, "limit", () => String(1 + random.int(100)));
  return asked;
}

/** @param years a snapshot of each year, oldest first */
function naiveFacilityTrend(years: Snapshot[], ccn: string, code: string) {
  const change = (before: number | null, now: number | null) =>
    before === null || now === null
      ? null
      : Number(halfUp(1000n * BigInt(Math.round(100 * (now - before))), BigInt(Math.round(100 * before)))) /
        10;
  const data = years.flatMap((snapshot) => {
    const found = naiveFacilities(
      snapshot,
      { name: null, zip: new Int32Array(), latitude: new Int32Array(), longitude: new Int32Array() },
      { procedure: code, ccn, status: "all" },
    );
    return found === undefined
      ? []
      : [
          {
            data_year: snapshot.provenance.dataYear,
            data_version: versionName(snapshot.provenance),
            ...Object.fromEntries(
              ["submitted_charge", "medicare_allowed", "services", "status", "national", "within_state"].map(
                (name) => [name, new Map<string, unknown>(Object.entries(found.data[0])).get(name)],
              ),
            ),
          },
        ];
  });
  const amount = (row: object, name: string) =>
    new Map<string, number | null>(Object.entries(row)).get(name) ?? null;
  return data.map((row, i) => ({
    ...row,
    change:
      i === 0
        ? null
        : Object.fromEntries(
            ["submitted_charge", "medicare_allowed"].map((name) => [
              name,
              change(amount(data[i - 1], name), amount(row, name)),
            ]),
          ),
  }));
}

const page = v.looseObject({ data: v.array(v.unknown()), next: v.nullable(v.string()) });

/** Only the first page says what was asked for. */
const withoutAsked = (rest: object): unknown =>
  JSON.parse(JSON.stringify(rest, (key, value) => (key === "asked" ? null : value)));

function wholeList(versions: Versions, target: string, limit: number) {
  let { next, data, ...rest } = v.parse(page, ask(versions, target));
  const rows = [...data];
  while (next !== null) {
    assert.equal(data.length, limit, target);
    const further = v.parse(page, ask(versions, next.replace("/api/v1", "")));
    ({ next, data } = further);
    const { next: _, data: __, ...same } = further;
    assert.deepEqual(same, withoutAsked(rest), target);
    rows.push(...data);
  }
  return { ...rest, data: rows };
}

/** @returns the number of rows compared */
export function compareLists(snapshot: Snapshot, places: Places, queries: number, random: Random): number {
  const versions = versionsOf(imageWith(snapshot, places));
  let compared = 0;
  for (let i = 0; i < queries; i++) {
    const asked = randomQuery(snapshot, places, random);
    const given = Object.entries(asked).map(([name, value = ""]): [string, string] => [name, value]);
    const target = `/healthcare/facilities?${new URLSearchParams(given)}`;
    const expected = naiveFacilities(snapshot, places, asked);
    if (expected === undefined) {
      const isRange = Number(asked.min_charge ?? 0) <= Number(asked.max_charge ?? Number.POSITIVE_INFINITY);
      assertRefused(versions, target, isRange ? "not_found" : "invalid_parameter");
      continue;
    }
    assert.deepEqual(wholeList(versions, target, Number(asked.limit ?? 25)), expected, target);
    compared += expected.data.length;
  }
  return compared;
}

/** @param years oldest first @returns the number of rows */
export function compareFacilityTrends(years: Snapshot[]): number {
  const versions = versionsOf(...years.map(imageOf).toReversed());
  const all = years.map(({ table }) => table);
  let compared = 0;
  for (const ccn of new Set(all.flatMap(({ facilities }) => facilities.ccn)))
    for (const code of new Set(all.flatMap(({ procedures }) => procedures.code))) {
      const target = `/healthcare/facilities/${ccn}/trends?procedure=${code}`;
      const data = naiveFacilityTrend(years, ccn, code);
      if (data.length === 0) assertRefused(versions, target, "not_found");
      else assert.deepEqual(v.parse(page.entries.data, Object(ask(versions, target)).data), data, target);
      compared += data.length;
    }
  return compared;
}
