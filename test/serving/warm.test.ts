import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { Limits } from "../../server/accounts/limits.ts";
import { ApiError } from "../../server/api/errors.ts";
import { allEndpoints } from "../../server/api/openapi.ts";
import { isApiPath, resolve, routes } from "../../server/api/routes.ts";
import { parameterNames } from "../../server/parts/portal/browser/choice.ts";
import { serveHttp } from "../../server/serving/listener.ts";
import { RequestIds } from "../../server/serving/request-ids.ts";
import { type Respond, Responder } from "../../server/serving/responder.ts";
import { WaitingAnswers } from "../../server/serving/waiting.ts";
import {
  apiRequestsOf,
  loopback,
  ownAccount,
  pageRequestsOf,
  warm,
  warmingMs,
  warmPrices,
} from "../../server/serving/warm.ts";
import { Connections, maxWaitingBytes } from "../../server/shared/connections.ts";
import { ThreadTraffic, Traffic } from "../../server/shared/traffic.ts";
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
    warmingMs.others,
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
    cpuMs += warmingMs.others / 4;
  };
  warm(requestsOf, read, () => cpuMs, warmingMs.others);
  assert.equal(reads, 4);
});

test("a fault of this service isn't passed over", () => {
  assert.throws(
    () =>
      warm(
        requestsOf,
        () => assert.fail("a fault"),
        () => 0,
        warmingMs.others,
      ),
    { message: "a fault" },
  );
});

test("price queries are answered over a connection, with a key that no client has", async (t) => {
  const { key, ...own } = ownAccount();
  const service = serviceOf({ ...own, versions, now: Date.now, steadyNow: () => performance.now() });
  const replies = new Map<number, number>();
  const [block] = new Traffic(routes, 1).buffers;
  const answer: Respond = (request, path, method, hasBody) => {
    assert.equal(path, pricesPath);
    const reply = service.answer(request, path, method, hasBody);
    replies.set(reply.status, (replies.get(reply.status) ?? 0) + 1);
    return reply;
  };
  const connections = new Connections(10);
  const waiting = new WaitingAnswers(connections, maxWaitingBytes, () => {});
  const responder = new Responder(new ThreadTraffic(block), () => false, answer, new RequestIds(), waiting);
  const server = serveHttp(connections, [], responder, (error) => assert.fail(String(error)));
  t.after(() => server.close());
  const port = server.listen(loopback, 0);
  let cpuMs = 5000;
  const inSteps = () => (cpuMs += 10);
  await warmPrices(image, port, key, inSteps, 100);
  const count = (replies.get(200) ?? 0) + (replies.get(404) ?? 0);
  assert.equal(
    count,
    9 * 32,
    `32 queries each time that there is time left: ${JSON.stringify([...replies])}`,
  );
  // Some procedures of a small sample have no prices.
  assert.ok((replies.get(200) ?? 0) > count / 2);

  replies.clear();
  service.useAccounts({ keys: new KeyTable(), ceilings: new Limits() });
  await warmPrices(image, port, key, inSteps, 25);
  assert.deepEqual([...replies], [[401, 64]], "the key is gone with its account");
});

test("a thread begins without price queries if nobody answers them", async (t) => {
  const silent = createServer((socket) => socket.resume()).listen(0, loopback);
  t.after(() => silent.close());
  await once(silent, "listening");
  const address = silent.address();
  assert.ok(address !== null && typeof address === "object");
  await warmPrices(image, address.port, "key", () => 0, 100, 1);
  silent.close();
  await once(silent, "close");
  await warmPrices(image, address.port, "key", () => 0, 100);
});
