import assert from "node:assert/strict";
import { renameSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import * as v from "valibot";
import { encodeSnapshot } from "../../engine/index.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { Store } from "../../server/store/store.ts";
import { snapshotOf, testProvenance } from "../support/fixtures.ts";
import {
  ample,
  Connection,
  call,
  createKey,
  pricesPath,
  type Running,
  ready,
  requestText,
  spawnServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { killRounds, trialRandom } from "./trial.ts";

const connections = 16;
/** A round ends this long after its start at the latest: before it is ready, or while it serves and saves. */
const maxRoundMs = 2500;
const versionsKept = 3;

const request = `GET ${pricesPath}?procedure=5072`;
const prices = v.object({ source: v.object({ data_version: v.string() }) });

function fileOf(revision: number): Uint8Array {
  const provenance = { ...testProvenance, dataYear: 2024, revision };
  return encodeSnapshot(snapshotOf([["010001", "AL", "5072", revision, 1]], provenance));
}

function savedUsage(stateDir: string): number {
  const store = Store.open(stateDir);
  const [used = 0] = store.usage.ofMonth(monthName(monthOf(Date.now()))).values();
  store.close();
  return used;
}

/** Asks until the connection breaks; counts what was sent. */
async function askUntilCut(api: string, key: string, count: { sent: number }): Promise<void> {
  const text = requestText(request, { Authorization: `Bearer ${key}` });
  try {
    const connection = await Connection.open(api);
    for (;;) {
      count.sent++;
      await connection.send(text);
      const { status } = await connection.answer();
      if (status !== 200) throw new assert.AssertionError({ message: `answered ${status}` });
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
  }
}

test("after kill -9 at any moment the next start is clean and serves", async (t) => {
  const random = trialRandom(t);
  const [stateDir, datasetsDir] = [temporaryFolder(), temporaryFolder()];
  const key = createKey(stateDir, "trial", ample);
  let revision = 0;
  const put = () => {
    const beside = path.join(datasetsDir, ".new");
    writeFileSync(beside, fileOf(++revision));
    renameSync(beside, path.join(datasetsDir, `2024.${revision}.parquet`));
    const oldest = revision - versionsKept;
    if (oldest > 0) unlinkSync(path.join(datasetsDir, `2024.${oldest}.parquet`));
  };
  put();

  const count = { sent: 0 };
  let port = "0";
  let early = 0;
  let server: Running | undefined;
  t.after(() => server?.signal("SIGKILL"));
  for (let round = 0; round < killRounds; round++) {
    const saved = savedUsage(stateDir);
    assert.ok(saved <= count.sent, `${saved} requests are counted, ${count.sent} were sent`);
    const running = spawnServer({ datasetsDir, stateDir, env: { THREADS: "2", PORT: port } });
    server = running;
    const kill = delay(random.int(maxRoundMs)).then(() => running.signal("SIGKILL"));
    await until("the start or the kill", () => running.hasEnded || /^ready .*\n/m.test(running.stdout));
    if (running.hasEnded) {
      early++;
      assert.doesNotMatch(running.stderr, /"level":"(error|fatal)"/);
      await assert.rejects(running.finished(), /was ended by SIGKILL/);
      continue;
    }
    const { api } = await ready(running);
    port = new URL(api).port;
    const asking = Array.from({ length: connections }, () => askUntilCut(api, key, count));
    if (random.int(2) > 0) put();
    await Promise.all([kill, ...asking]);
    await assert.rejects(running.finished(), /was ended by SIGKILL/);
    assert.doesNotMatch(running.stderr, /"level":"(error|fatal)"/);
  }

  const saved = savedUsage(stateDir);
  const running = spawnServer({ datasetsDir, stateDir, env: { THREADS: "2", PORT: port } });
  server = running;
  const { api } = await ready(running);
  const answer = await call({ api, key }, request);
  assert.equal(answer.status, 200);
  assert.equal(v.parse(prices, answer.json()).source.data_version, `2024.${revision}`);
  assert.equal(answer.remaining, ample.quota - saved - 1);
  running.signal("SIGTERM");
  assert.equal((await running.finished()).code, 0);
  t.diagnostic(
    `${killRounds} kills, ${early} before the server was ready; ${count.sent} requests, ${saved} saved`,
  );
});
