import assert from "node:assert/strict";
import { STATUS_CODES } from "node:http";
import { describe, test } from "node:test";
import * as v from "valibot";
import { type Snapshot, stateCodes } from "../../engine/index.ts";
import { ApiError, constantError, type ErrorType, errors } from "../../server/api/errors.ts";
import {
  datasetsResponse,
  facilitiesResponse,
  facilityResponse,
  versionsResponse,
} from "../../server/api/responses.ts";
import { isApiPath, parametersAt, routeOf, routes } from "../../server/api/routes.ts";
import { openapiDocument, operationsOf } from "../support/answers.ts";
import { ask, assertRefused, imageOf, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { type ShortRow, snapshotAs, snapshotOf } from "../support/fixtures.ts";

/** Tests the endpoints for facilities, for the catalog and for data versions. */

const serving = (...snapshots: Snapshot[]) => versionsOf(...snapshots.map(imageOf));

describe("facilities", () => {
  const hospital = (ccn: string, state: string, charge: number): ShortRow => [ccn, state, "5072", charge, 1];
  const standingsOf = (rows: ShortRow[], ccn: string) => {
    const body = ask(serving(snapshotOf(rows)), `/healthcare/facilities/${ccn}`);
    return v.parse(facilityResponse, body).data[0];
  };

  test("a facility shares its rank with equal charges, and its percentile counts only lower ones", () => {
    const rows = [
      hospital("000001", "CA", 10),
      hospital("000002", "CA", 20),
      hospital("000003", "NV", 20),
      hospital("000004", "CA", 30),
    ];
    const figures = (ccn: string) => {
      const { national, within_state: state } = standingsOf(rows, ccn);
      return [national.rank, national.percentile, state.rank, state.facilities, state.percentile];
    };
    assert.deepEqual(figures("000001"), [1, 0, 1, 3, 0]);
    assert.deepEqual(figures("000002"), [2, 25, 2, 3, 33.3]);
    assert.deepEqual(figures("000003"), [2, 25, 1, 1, 0]);
    assert.deepEqual(figures("000004"), [4, 75, 3, 3, 66.7]);
  });

  test("percentiles have one decimal, and half a tenth is rounded up", () => {
    const many = Array.from({ length: 16 }, (_, i) => hospital(String(i).padStart(6, "0"), "CA", 10 + i));
    // 1/16 is 6.25 %, and 3/16 is 18.75 %.
    assert.equal(standingsOf(many, "000001").national.percentile, 6.3);
    assert.equal(standingsOf(many, "000003").national.percentile, 18.8);
    assert.equal(standingsOf(many, "000015").national.percentile, 93.8);
  });

  test("each facility of the list has an answer of its own, with an empty list if nothing is priced", () => {
    const versions = serving(
      snapshotOf([
        hospital("000001", "CA", 10),
        ["000001", "CA", "5073", null, null],
        ["000002", "CA", "5072", null, null],
        ["000003", "CA", "5072", 10, null],
        ["000004", "NV", "5073", null, 1],
      ]),
    );
    const { data: listed } = v.parse(facilitiesResponse, ask(versions, "/healthcare/facilities"));
    assert.deepEqual(
      listed.map(({ procedures }) => procedures),
      [1, 0, 0, 0],
    );
    for (const { ccn, facility: name, procedures } of listed) {
      const answer = v.parse(facilityResponse, ask(versions, `/healthcare/facilities/${ccn}`));
      assert.equal(answer.facility.facility, name);
      assert.deepEqual([answer.data.length, answer.summary.procedures], [procedures, procedures]);
    }
  });

  test("an unknown CCN gives 404", () => {
    const versions = serving(
      snapshotOf([hospital("00000A", "CA", 10), ["000002", "CA", "5072", null, null]]),
    );
    for (const ccn of "000003 00000 0000000 A national __proto__ %20 é 0000ß".split(" "))
      assertRefused(versions, `/healthcare/facilities/${ccn}`, "not_found");
    assert.ok(ask(versions, "/healthcare/facilities/00000A"));
    assertRefused(versions, "/healthcare/facilities/%", "invalid_parameter");
    assertRefused(versions, "/healthcare/facilities/", "unknown_endpoint");
    assertRefused(versions, "/healthcare/facilities//trends", "unknown_endpoint");
    assertRefused(versions, "/healthcare/facilities/00000A/", "unknown_endpoint");
    assertRefused(versions, "/healthcare/facilities/00000A?limit=1", "invalid_parameter");
  });
});

test("a CCN in a path may be in lower case", () => {
  const versions = serving(snapshotOf([["05000A", "CA", "5072", 10, 1, "Clinic"]]));
  for (const ccn of ["05000A", "05000a", "05000%61"]) {
    const { facility } = v.parse(facilityResponse, ask(versions, `/healthcare/facilities/${ccn}`));
    assert.equal(facility.ccn, "05000A");
  }
  for (const ccn of ["05000B", "0500%C5%BF1", "1234%C3%9F"])
    assertRefused(versions, `/healthcare/facilities/${ccn}`, "not_found");
});

describe("the catalog", () => {
  const catalogOf = (...snapshots: Snapshot[]) =>
    v.parse(datasetsResponse, ask(serving(...snapshots), "/datasets")).data;

  test("the catalog lists each version as current, available or superseded", () => {
    const expected = [
      ...["2024.10 current", "2024.9 superseded", "2024.1 superseded"],
      ...["2023.2 available", "2023.1 superseded", "2019.1 available"],
    ];
    const catalog = catalogOf(
      ...expected.map((line) => snapshotAs(line.split(" ")[0], [["000001", "CA", "5072", 1, 1]])),
    );
    assert.deepEqual(
      catalog.map(({ data_version, status }) => `${data_version} ${status}`),
      expected,
    );
    assert.equal(new Set(catalog.map(({ id }) => id)).size, 6);
  });

  test("the catalog gives OPPS reasons only for Maryland and four territories among the missing states", () => {
    const [{ coverage }] = catalogOf(
      snapshotOf([
        ["000001", "CA", "5072", 1, 1],
        ["000002", "WY", "5072", null, null],
      ]),
    );
    const reasons = new Map(coverage.missing_states.map(({ state, reason }) => [state, reason]));
    assert.equal(reasons.size, stateCodes.length - 1);
    assert.match(reasons.get("MD") ?? "", /all-payer.*OPPS/i);
    for (const territory of ["AS", "GU", "MP", "VI"])
      assert.equal(reasons.get(territory), "hospitals there are outside the OPPS", territory);
    // By 42 CFR 419.20, Puerto Rico's hospitals are paid by the OPPS, like those of a state.
    for (const state of ["PR", "AL", "DC"]) assert.equal(reasons.get(state), "no rows in the release", state);
    for (const state of ["PR", "AL", "WY", "DC"])
      assert.doesNotMatch(reasons.get(state) ?? "", /OPPS|all-payer/i, state);
    assert.notEqual(reasons.get("WY"), reasons.get("AL"), "suppressed rows are not the same as none");
  });
});

describe("data versions", () => {
  const versions = serving(
    ...["2024.10", "2024.9", "2023.2", "2023.1"].map((version, i) =>
      snapshotAs(version, [["000001", "CA", "5072", 5 - i, 1]]),
    ),
  );
  const answered = v.object({ source: v.object({ data_version: v.string() }) });
  const versioned = [
    "/healthcare/prices?procedure=5072",
    "/healthcare/procedures",
    "/healthcare/procedures/5072",
    "/healthcare/facilities/000001",
    "/search?q=hosp",
  ];
  const versionOf = (target: string) => v.parse(answered, ask(versions, target)).source.data_version;

  test("a version path serves that version, a year its newest revision, and no version the newest of all", () => {
    const expected = {
      "": "2024.10",
      "/versions/2024": "2024.10",
      "/versions/2023": "2023.2",
      "/versions/%32023%2E1": "2023.1",
    };
    for (const target of versioned) {
      for (const [base, version] of Object.entries(expected)) assert.equal(versionOf(base + target), version);
      for (const version of versions.byName.keys())
        assert.equal(versionOf(`/versions/${version}${target}`), version);
    }
  });

  test("a version that isn't loaded gives 404 with a list of the loaded ones", () => {
    for (const name of "2022 2024.2 2024.1 2024.010 02024 2024. .9 latest 2024.9.1 %32022".split(" "))
      for (const target of versioned) {
        const { type, message } = refusal(versions, `/versions/${name}${target}`);
        assert.equal(type, "not_found", name);
        for (const loaded of versions.byName.keys()) assert.ok(message.includes(loaded), message);
      }
  });

  test("the overview lists every version and endpoint with its path", () => {
    const listed = v.object({ data_version: v.string(), status: v.string(), path: v.string() });
    const overview = v.object({
      description: v.string(),
      endpoints: v.array(
        v.object({
          path: v.string(),
          version_path: v.nullable(v.string()),
          parameters: v.array(
            v.object({ name: v.string(), in: v.string(), required: v.boolean(), default: v.unknown() }),
          ),
        }),
      ),
      versions: v.array(listed),
    });
    const { endpoints, ...said } = v.parse(overview, ask(versions, ""));
    const expected = [
      ["2024.10", "current"],
      ["2024.9", "superseded"],
      ["2023.2", "available"],
      ["2023.1", "superseded"],
    ].map(([data_version, status]) => ({
      data_version,
      status,
      path: `/api/v1/versions/${data_version}/healthcare/facilities`,
    }));
    assert.deepEqual(said, { description: "/api/v1/openapi.json", versions: expected });
    assert.deepEqual(v.parse(v.object({ data: v.array(listed) }), ask(versions, "/versions")).data, expected);
    const documented = [...operationsOf(openapiDocument).keys()];
    const paths = endpoints.flatMap(({ path, version_path }) => [path, version_path ?? []].flat());
    assert.deepEqual(paths.toSorted(), documented.toSorted());
    const procedure = endpoints.find(({ path }) => path === "/api/v1/healthcare/procedures/{code}");
    assert.deepEqual(procedure?.parameters, [
      { name: "code", in: "path", required: true, default: null },
      { name: "state", in: "query", required: false, default: null },
      { name: "near", in: "query", required: false, default: null },
      { name: "within", in: "query", required: false, default: null },
      { name: "bins", in: "query", required: false, default: 30 },
    ]);
    for (const { data_version, path } of expected) {
      const answer = v.parse(facilitiesResponse, ask(versions, path.slice("/api/v1".length)));
      assert.equal(answer.source.data_version, data_version, path);
    }
    for (const target of ["/?x=1", "?x=1", "/versions?x=1"])
      assertRefused(versions, target, "invalid_parameter");
  });

  test("the overview's path may end in a slash, and no other path", () => {
    assert.deepEqual(ask(versions, "/"), ask(versions, ""));
    for (const target of ["//", "/versions/", "/datasets/", "/healthcare/", "/versions/2024/"])
      assertRefused(versions, target, "unknown_endpoint");
  });

  test("each path, with a version or without, has its route for the metrics", () => {
    const filled = (template: string) => template.replace("{version}", "2024.1").replace(/\{\w+\}/, "a%2Fb");
    assert.equal(new Set(routes).size, routes.length);
    for (const route of routes.slice(1)) assert.equal(routes[routeOf(filled(route))], route);
    assert.equal(routes[routeOf("/api/v1/")], "/api/v1");
    for (const path of ["/api", "/api/", "/api/v1//", "/api/v1/nothing", "/api/v1/versions/2024/usage"])
      assert.deepEqual([routes[routeOf(path)], isApiPath(path)], ["unknown", true], path);
    for (const path of ["/", "", "/apis", "/data", "/portal/signup"])
      assert.deepEqual([routes[routeOf(path)], isApiPath(path)], ["/*", false], path);
    assert.deepEqual([...parametersAt("/api/v1/search")], ["q", "type", "state", "limit"]);
    assert.deepEqual([...parametersAt("/api/v1/nothing")], []);
  });

  test("the list of versions names a path that answers even if nothing is priced", () => {
    const bare = serving(snapshotOf([["000001", "CA", "5072", null, null]]));
    const { data } = v.parse(versionsResponse, ask(bare, "/versions"));
    for (const { path } of data) assert.ok(ask(bare, path.slice("/api/v1".length)), path);
  });

  test("endpoints without data versions are unknown below a version path", () => {
    for (const target of [
      "/datasets",
      "/usage",
      "/openapi.json",
      "/pages/x",
      "",
      "/",
      "/versions/2024/search?q=a",
    ])
      assertRefused(versions, `/versions/2024${target}`, "unknown_endpoint");
    assertRefused(versions, "/versions//search?q=hosp", "unknown_endpoint");
    for (const target of [
      "/versions/2024",
      "/versions/2024.1/",
      "/versions/2024/usage",
      "/versions/1999/x",
    ]) {
      assertRefused(versions, target, "unknown_endpoint");
      assert.match(
        refusal(versions, target).message,
        /"; below \/api\/v1\/versions\/\{version\} there are \/healthcare\/prices, .*\/export.parquet$/,
      );
    }
  });
});

test("each type of error has the status that HTTP names so, and constant errors say what to do", () => {
  const byStatus = Map.groupBy(Object.keys(errors) as ErrorType[], (type) =>
    Number(errors[type].status.slice(0, 3)),
  );
  assert.deepEqual(Object.fromEntries(byStatus), {
    400: ["missing_parameter", "invalid_parameter"],
    401: ["missing_api_key", "invalid_api_key"],
    403: ["forbidden", "signup_closed"],
    404: ["not_found", "unknown_endpoint"],
    405: ["method_not_allowed"],
    409: ["conflict"],
    412: ["precondition_failed"],
    413: ["body_too_large"],
    415: ["unsupported_media_type"],
    416: ["range_not_satisfiable"],
    429: ["rate_limit_exceeded"],
    500: ["internal_error"],
    503: ["service_unavailable"],
  });
  for (const [status, types] of byStatus)
    for (const type of types) {
      // Node has the name of RFC 7231.
      const name = status === 413 ? "Content Too Large" : STATUS_CODES[status];
      assert.equal(new ApiError(type, "x").status, `${status} ${name}`);
    }
  const told = (type: Parameters<typeof constantError>[0]) => constantError(type).body.error.message;
  assert.equal(
    told("missing_api_key"),
    'an API key is required: send the header "Authorization: Bearer <API key>"',
  );
  assert.equal(told("invalid_api_key"), "the API key isn't valid");
  assert.equal(told("internal_error"), "the request failed; try again");
  const headersOf = (type: ErrorType, header?: number) =>
    new ApiError(type, "x", { ...(header && { header }) }).headers;
  assert.deepEqual(headersOf("missing_api_key", 7), [{ name: "WWW-Authenticate", value: "Bearer" }]);
  assert.deepEqual(headersOf("rate_limit_exceeded", 7), [{ name: "Retry-After", value: 7 }]);
  assert.deepEqual(headersOf("rate_limit_exceeded"), []);
  assert.deepEqual(headersOf("conflict", 7), []);
});
