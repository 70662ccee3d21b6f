import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import {
  currentOnly,
  datasetsFolder,
  freePort,
  keepingStripped,
  spawnServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { sizeFrom } from "./trial.ts";

/** Tests that a server's threads share its port, and that no other process can listen on the port. */

const races = sizeFrom("PORT_RACES", 200);

/** Starts a process that tries to listen on a shared port, like a server's threads. @returns whether it succeeded */
async function contender(host: string, port: number): Promise<{ won: boolean; stop(): void }> {
  const script = `
    import * as uws from "uWebSockets.js";
    import { claimPort } from "${new URL("../../server/control/port.ts", import.meta.url).href}";
    try {
      await claimPort("${host}", ${port});
      await new Promise((resolve, reject) => {
        uws.App().any("/*", (res) => void res.end()).listen("${host}", ${port}, (socket) => (socket ? resolve() : reject(new Error("no socket"))));
      });
      process.stdout.write("won");
    } catch (error) {
      process.stdout.write("lost: " + error.message);
    }`;
  const child = spawn(process.execPath, [...keepingStripped, "--input-type=module", "--eval", script], {
    cwd: new URL("../..", import.meta.url),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await once(child.stdout, "data");
  const text = String(said);
  assert.match(text, new RegExp(`^(won|lost: can't listen on ${host} port ${port}: .*)$`));
  return { won: text === "won", stop: () => child.kill("SIGKILL") };
}

test("exactly one of several processes that claim a port at once gets it", async () => {
  for (let race = 0; race < races; race++) {
    const port = await freePort();
    const contenders = await Promise.all([0, 1, 2].map(() => contender("127.0.0.1", port)));
    for (const { stop } of contenders) stop();
    assert.equal(contenders.filter(({ won }) => won).length, 1, `race ${race}`);
  }
});

test("of two servers on one port, one becomes ready and the other exits with the reason", async () => {
  const datasetsDir = datasetsFolder(currentOnly);
  const port = await freePort();
  const servers = [0, 1].map(() =>
    spawnServer({ datasetsDir, stateDir: temporaryFolder(), env: { PORT: String(port) } }).mayEnd(),
  );
  await until("one to have ended", () => servers.some((server) => server.hasEnded));
  await until("the other to be ready", () => servers.some((server) => server.stdout.includes("ready ")));
  const [winner, loser] = servers[0].hasEnded ? [servers[1], servers[0]] : servers;
  const { code, stderr } = await loser.finished();
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`can't listen on 127\\.0\\.0\\.1 port ${port}: `));
  winner.signal("SIGTERM");
  assert.equal((await winner.finished()).code, 0);
});
