import { mkdirSync } from "node:fs";
import path from "node:path";
import { publishSnapshot } from "../../datasets/revisions.ts";
import { defaultSampleRows, defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeSnapshot } from "../../engine/index.ts";
import { launch, narrow, openPage, wide } from "../support/browser.ts";
import { ample, call, createKey, pricesPath, startServer, temporaryFolder } from "../support/server.ts";

/*
 * Makes pictures of the pages in two sizes and both colour schemes, with the whole sample, by `npm run screenshots`. A
 * person has to look at the pictures. README.md shows two of them.
 */

const folder = path.resolve(import.meta.dirname, "../../server/parts/portal/screenshots");
const years = [2021, 2022, 2023, 2024];
const pages = {
  explore: "/?procedure=5072",
  state: "/?procedure=5072&state=CA",
  facility: "/facilities/990901",
  data: "/data",
  reference: "/reference",
  signup: "/signup",
  account: "/account",
};

const datasetsDir = temporaryFolder();
for (const dataYear of years)
  publishSnapshot(datasetsDir, dataYear, [], (revision) =>
    encodeSnapshot(
      syntheticSnapshot({ dataYear, revision, rows: defaultSampleRows, seed: defaultSampleSeed + dataYear }),
    ),
  );
const stateDir = temporaryFolder();
createKey(stateDir, "explore", ample);
const key = createKey(stateDir, "reader", { burst: 1000, quota: 400 });
const env = { PORTAL: "on", PORTAL_ACCOUNT: "explore", SIGNUP: "open" };
const server = await startServer({ datasetsDir, stateDir, env });
const browser = await launch();
mkdirSync(folder, { recursive: true });

for (const [size, viewport] of Object.entries({ wide, narrow }))
  for (const colorScheme of ["light", "dark"] as const) {
    const shoot = async (name: string, origin: string, target: string) => {
      const { page, close } = await openPage(browser, origin, { viewport, colorScheme });
      if (name === "account") await page.addInitScript((key) => localStorage.setItem("hcqs-key", key), key);
      await page.goto(target);
      await page.getByRole("heading", { level: 1 }).waitFor({ state: "attached" });
      if (name === "console") await page.getByText("serving thread").waitFor();
      else await page.waitForLoadState("networkidle");
      // Waiting for an idle network isn't enough, because a busy machine may answer slowly.
      if (["explore", "state", "facility"].includes(name))
        await page.locator(".facilities tbody tr").first().waitFor();
      await page.screenshot({
        path: path.join(folder, `${name}-${size}-${colorScheme}.png`),
        fullPage: true,
      });
      await close();
    };
    for (let i = 0; i < 100; i++) {
      await call(server, `GET ${pricesPath}?procedure=5072&limit=${1 + (i % 50)}`);
      await call(server, "GET /api/v1/usage", { Authorization: `Bearer ${key}` });
    }
    for (const [name, target] of Object.entries(pages)) await shoot(name, server.api, target);
    await shoot("console", server.ops, "/");
  }
await browser.close();
await server.stop();
