import assert from "node:assert/strict";
import { test } from "node:test";
import { Store } from "../../server/store/store.ts";
import {
  call,
  createKey,
  currentOnly,
  datasetsFolder,
  pricesPath,
  ready,
  spawnServer,
  temporaryFolder,
} from "../support/server.ts";
import { preloaded, trialOfStops } from "../support/stopping.ts";
import { killRounds, trialRandom } from "./trial.ts";

/** Signals at many moments. Rounds: KILL_ROUNDS. */

const datasetsDir = datasetsFolder(currentOnly);

test("SIGTERM and SIGINT at any moment of a start end a server orderly", async (t) => {
  const random = trialRandom(t);
  const moments = [0, 0, ...Array.from({ length: killRounds }, () => random.int(1500))];
  t.diagnostic(await trialOfStops(random, moments, datasetsDir));
});

test("a server whose serving thread hangs saves its counts and is killed within ten seconds", async (t) => {
  const stateDir = temporaryFolder();
  const key = createKey(stateDir, "acme", { burst: 1000, quota: 100 });
  // The last request is answered, and then nothing any more.
  const script = `
    import { workerData, parentPort } from "node:worker_threads";
    if (workerData?.limits) parentPort.on("message", ({ type }) => { while (type === "drain"); });`;
  const server = spawnServer({ datasetsDir, stateDir, env: preloaded(script) });
  t.after(() => server.signal("SIGKILL"));
  const { api } = await ready(server);
  assert.equal((await call({ api, key }, `GET ${pricesPath}?procedure=5073`)).status, 200);
  server.signal("SIGTERM");
  await assert.rejects(server.finished(), /was ended by SIGKILL/);
  assert.match(server.stderr, /a thread doesn't end: the process is killed/);
  const store = Store.open(stateDir);
  assert.deepEqual([...store.usage.ofMonth(new Date().toISOString().slice(0, 7)).values()], [1]);
  store.close();
});
