import { hash } from "node:crypto";
import { test } from "node:test";
import { ApiError } from "../../server/api/errors.ts";
import { allEndpoints } from "../../server/api/openapi.ts";
import { assertApproved } from "../support/approved.ts";
import { ask } from "../support/endpoint-oracle.ts";
import { seededRandom } from "../support/random.ts";
import { sampleVersions } from "../support/sample-versions.ts";

/** Tests that answers and errors are what was approved, for requests with parameters of every kind beside each other. */

/** What a parameter may be, and what nobody should send. */
const values: Record<string, readonly [right: readonly string[], wrong: readonly string[]]> = {
  procedure: [
    ["5072", "5112", "5092", "5496"],
    ["9999", "507", "45378", "knee", ""],
  ],
  q: [
    [
      "knee replacement",
      "45378",
      "hospital",
      "memorial hospital houston",
      "5072",
      "990003",
      "TX",
      "tumor austin tx",
    ],
    ["zzzzqq", " ", "a".repeat(201), ""],
  ],
  state: [
    ["TX", "ca", "NY"],
    ["MD", "PR", "ZZ", "texas", "national", ""],
  ],
  near: [
    ["60614", "21201", "Houston, TX", "77002"],
    ["springfield", "cook county", "00000", "6061", ""],
  ],
  within: [
    ["25", "300", "500"],
    ["501", "0", "-1", "x"],
  ],
  sort: [
    [
      "charge",
      "allowed",
      "markup",
      "services",
      "name",
      "distance",
      "spread",
      "facilities",
      "median_charge",
      "code",
    ],
    ["CODE", ""],
  ],
  order: [["asc", "desc"], ["up"]],
  status: [["priced", "suppressed", "incomplete", "all"], ["x"]],
  city: [
    ["Alder Bend", "alder landing"],
    ["Houston", ""],
  ],
  ccn: [
    ["990003", "990003,990010", "990001,990020"],
    ["990003,999999", "x", "990003,"],
  ],
  versions: [
    ["2023.1", "2023.1,2024.1", "2023", "2024"],
    ["1999.1", "x"],
  ],
  type: [["facility", "procedure"], ["city"]],
  name: [
    ["memorial", "st"],
    ["zzzz", ""],
  ],
  max_charge: [
    ["20000", "9000.5"],
    ["-1", "x"],
  ],
};
const numbers = [
  ["1", "2", "7", "10", "50"],
  ["0", "51", "101", "1e3", "-1", "1.5", "x", ""],
] as const;
/** In the query, mistakes of other kinds. */
const mistakes = ["x=1", "limit=1&limit=2", "procedure=5072&procedure=5073", "%zz=1", "q", "=", "&"];
const requestsOfEach = 45;

test("answers and errors at drawn addresses are what was approved", () => {
  const random = seededRandom(20_261_130);
  const pick = ([right, wrong]: readonly [readonly string[], readonly string[]]) =>
    random.pick(random.int(12) === 0 ? wrong : right);
  const endpoints = allEndpoints.filter(
    ({ path, parameters }) => !/export/.test(path) && Object.keys(parameters.entries).length > 0,
  );
  const lines: string[] = [];
  for (const { path, parameters, kind } of endpoints)
    for (let i = 0; i < requestsOfEach; i++) {
      const version =
        kind === "versioned" && random.int(3) === 0
          ? `/versions/${random.pick(["2023.1", "2023", "2024", "1999.1", "x"])}`
          : "";
      const place = path
        .replace("{ccn}", () =>
          pick([
            ["990003", "990010"],
            ["000001", "999999", "x"],
          ]),
        )
        .replace("{code}", () =>
          pick([
            ["5072", "5092", "5496"],
            ["9999", "45378"],
          ]),
        );
      const query: string[] = [];
      for (const name of Object.keys(parameters.entries))
        if (random.int(12) < (/^(procedure|q)$/.test(name) ? 10 : 3))
          query.push(`${name}=${encodeURIComponent(pick(values[name] ?? numbers))}`);
      if (random.int(20) === 0) query.push(random.pick(mistakes));
      const url = `${version}${place}${query.length > 0 ? `?${query.join("&")}` : ""}`;
      lines.push(`${url}\n  ${said(url)}`);
    }
  assertApproved("answers.txt", `${lines.join("\n")}\n`);
});

/** What was answered: the beginning, and a digest of all. */
function said(url: string): string {
  try {
    const text = JSON.stringify(ask(sampleVersions, url));
    return `${hash("sha256", text, "hex").slice(0, 8)} ${text.slice(0, 150)}`;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, type, message, param, places, absent } = error;
    return [status, type, param, message, JSON.stringify({ places, absent })].join(" ");
  }
}
