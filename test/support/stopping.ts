import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import type { TestContext } from "node:test";
import { Store } from "../../server/store/store.ts";
import { documentAt } from "./readme.ts";
import {
  call,
  createKey,
  currentOnly,
  datasetsFolder,
  pricesPath,
  ready,
  spawnServer,
  temporaryFolder,
} from "./server.ts";

const [table] = documentAt("server/README.md").split("### Signals\n")[1].split("\n## ");

/** The rows of the README's table of signals. */
export const signalRows = Array.from(table.matchAll(/^\| (SIG.*?) \| (.*) \|$/gm), ([, names, effect]) => ({
  signals: Array.from(names.matchAll(/SIG[A-Z0-9]+/g), ([name]) => signalOf(name)),
  effect,
}));

function signalOf(text: string): NodeJS.Signals {
  const found = Object.keys(constants.signals).find((name) => name === text);
  return (found as NodeJS.Signals | undefined) ?? assert.fail(`no signal ${text}`);
}

/** Finds the signals whose effect begins with these words. */
export function signalsThat(effect: string): NodeJS.Signals[] {
  return signalRows.find((row) => row.effect.startsWith(effect))?.signals ?? assert.fail(effect);
}

/** Asserts that a server which has answered one request exits with 0 on a signal, and that the request is counted. */
export async function stopsCleanly(t: TestContext, signal: NodeJS.Signals): Promise<void> {
  const stateDir = temporaryFolder();
  const key = createKey(stateDir, "acme", { burst: 1000, quota: 100 });
  const server = spawnServer({ datasetsDir: datasetsFolder(currentOnly), stateDir });
  t.after(() => server.signal("SIGKILL"));
  const { api } = await ready(server);
  assert.equal((await call({ api, key }, `GET ${pricesPath}?procedure=5073`)).status, 200);
  server.signal(signal);
  const { code, stderr } = await server.finished();
  assert.equal(code, 0, stderr);
  assert.match(stderr, new RegExp(`"signal":"${signal}","msg":"stopping"`));
  const store = Store.open(stateDir);
  assert.deepEqual([...store.usage.ofMonth(new Date().toISOString().slice(0, 7)).values()], [1]);
  store.close();
}

/** A server sets the handler of SIGHUP last, so it then handles all signals. */
export function takesSignals(pid: number): boolean {
  const [, caught] =
    /^SigCgt:\s+[0-9a-f]*([0-9a-f])$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number.parseInt(caught, 16) & 1) === 1;
}

/** Each thread of Node runs the script before any other code. */
export function preloaded(script: string, ...options: string[]): Record<string, string> {
  const preload = `--import=data:text/javascript,${encodeURIComponent(script)}`;
  return { NODE_OPTIONS: [...options, preload].join(" ") };
}
