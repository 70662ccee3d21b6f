import assert from "node:assert/strict";
import { test } from "node:test";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { ApiError } from "../../server/api/errors.ts";
import { allEndpoints } from "../../server/api/openapi.ts";
import { isApiPath, resolve } from "../../server/api/routes.ts";
import { parameterNames } from "../../server/parts/portal/browser/choice.ts";
import { apiRequestsOf, maxWarmingMs, pageRequestsOf, warm, warmPrices } from "../../server/serving/warm.ts";
import { serviceOf } from "../support/asking.ts";
import { ask, imageWith, versionsOf } from "../support/endpoint-oracle.ts";
import { places } from "../support/places.ts";
import { pricesPath } from "../support/server.ts";

/** Tests what threads answer before clients send anything. */

const image = imageWith(syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 2000, seed: 1 }), places);
const versions = versionsOf(image);

const requestsOf = (round: number) => [...apiRequestsOf(image, round), ...pageRequestsOf(image, round)];

test("requests of each kind are answered before a thread listens, and none has a wrong parameter", () => {
  const answered = new Set<string>();
  warm(
    requestsOf,
    (path, query) => {
      if (!isApiPath(path)) {
        for (const name of new URLSearchParams(query).keys()) assert.ok(parameterNames.includes(name), name);
        answered.add(path.replace(/\d+$/, ""));
        return;
      }
      try {
        ask(versions, `${path.slice("/api/v1".length)}?${query}`);
      } catch (error) {
        assert.ok(error instanceof ApiError);
        // A synthetic hospital's city has no place.
        const isExpected = error.type === "not_found" || error.param === "near";
        assert.ok(isExpected, `${path}?${query}: ${error.message}`);
        throw error;
      }
      answered.add(
        resolve(path).endpoint.name.concat(query.includes("type=procedure") ? " of procedures" : ""),
      );
    },
    () => 0,
  );
  // Prices are warmed by themselves, and files are made while they are sent.
  const endpoints = allEndpoints.filter(
    ({ kind, keyed, fileType }) =>
      (kind === "versioned" || kind === "overall") && keyed === undefined && fileType === undefined,
  );
  assert.deepEqual(
    [...answered].toSorted(),
    [...endpoints.map(({ name }) => name), "search of procedures", "/", "/facilities/"].toSorted(),
  );
});

test("a slow thread begins no request after its time for them", () => {
  let cpuMs = 5000;
  let reads = 0;
  const read = () => {
    reads++;
    cpuMs += maxWarmingMs / 3;
  };
  warm(requestsOf, read, () => cpuMs);
  assert.equal(reads, 3);
});

test("a fault of this service isn't passed over", () => {
  assert.throws(
    () =>
      warm(
        requestsOf,
        () => assert.fail("a fault"),
        () => 0,
      ),
    { message: "a fault" },
  );
});

test("price queries are answered before a thread listens, with a key that clients can't have", () => {
  const statuses = new Map<number, number>();
  const made = (own: Pick<Parameters<typeof serviceOf>[0], "versions" | "keys" | "ceilings">) => {
    const service = serviceOf({ ...own, now: Date.now, steadyNow: () => performance.now() });
    const { answer } = service;
    service.answer = (request, path, method, hasBody) => {
      assert.equal(path, pricesPath);
      const reply = answer.call(service, request, path, method, hasBody);
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
      return reply;
    };
    return service;
  };
  warmPrices(versions, made);
  assert.ok((statuses.get(200) ?? 0) >= 100, JSON.stringify([...statuses]));
  // Some procedures of a small sample have no prices.
  assert.deepEqual(
    [...statuses.keys()].filter((status) => status !== 200 && status !== 404),
    [],
  );
});
